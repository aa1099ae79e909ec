//! Packs that are dead for the most part: what is alive in them is copied to a new one.

use std::sync::Arc;

use instep_warc::WarcReader;
use resourcesync::Uri;

use super::{CommitError, Committer, objects::NewPack};
use crate::{
    state::{HeldAt, Ledger, Repacked, Waits},
    store::{PackStore, StoreError, is_pack},
};

/// Bytes after which a new pack is full.
const FULL: u64 = 64 << 20;

/// The records of one new pack.
#[derive(Default)]
struct Repacking {
    pack: NewPack,
    moved: Vec<Repacked>,
}

impl Committer {
    /// Copies what is alive in packs of which more than half is dead. Records are copied as they are, and an object goes
    /// once none is left in it.
    pub(super) fn repack(&mut self, packs: &Arc<PackStore>) -> Result<(), CommitError> {
        let mut repacking = Repacking::default();
        for key in self.state.sparse_packs()?.iter().filter(|key| is_pack(key)) {
            let bytes = packs.read_pack(key)?;
            for (uri, offset, length) in records(&bytes).map_err(|what| damaged(key, what))? {
                let at = HeldAt::Object { key: key.clone(), offset, length };
                let is_alive = self.state.held(&uri)?.is_some_and(|held| held.place == at);
                let member = usize::try_from(offset).ok().zip(usize::try_from(offset + length).ok());
                if let Some((start, end)) = member.filter(|_| is_alive)
                    && let (Some(member), Ok(uri)) = (bytes.get(start..end), Uri::parse(&uri))
                {
                    let to = repacking.pack.copy(packs, member)?;
                    repacking.moved.push(Repacked { uri, to });
                }
            }
            if repacking.pack.len() >= FULL {
                self.put_repacked(packs, std::mem::take(&mut repacking))?;
            }
        }
        self.put_repacked(packs, repacking)
    }

    fn put_repacked(&mut self, packs: &Arc<PackStore>, repacking: Repacking) -> Result<(), CommitError> {
        let Some((object, bytes)) = repacking.pack.finish()? else { return Ok(()) };
        let staged = object.staged;
        let ledger = Ledger {
            packs: vec![(object.key.clone(), bytes)],
            repacked: repacking.moved,
            ..Ledger::default()
        };
        self.put_begun(packs, &[object])?;
        self.state.set_waits(self.waits(Waits::Order))?;
        self.state.commit_group(None, &[], &ledger)?;
        packs.staging().discard(&[staged]);
        Ok(())
    }
}

/// Returns the URI, the offset and the length of each record.
fn records(pack: &[u8]) -> Result<Vec<(String, u64, u64)>, String> {
    let mut found = Vec::new();
    let mut reader = WarcReader::new(pack);
    loop {
        let offset = reader.offset();
        let mut uri = None;
        let next = reader.next(&mut |record| {
            uri = record.head.target().map(str::to_owned);
            Ok(())
        });
        if !next.map_err(|error| error.to_string())? {
            return Ok(found);
        }
        found.extend(uri.map(|uri| (uri, offset, reader.offset() - offset)));
    }
}

fn damaged(key: &str, what: String) -> StoreError {
    StoreError::io("read", key, std::io::Error::new(std::io::ErrorKind::InvalidData, what))
}
