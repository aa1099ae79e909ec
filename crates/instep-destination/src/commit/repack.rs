//! Packs whose parts are mostly unused: the used parts are copied to a new pack.

use std::{io, sync::Arc};

use instep_warc::WarcReader;
use resourcesync::Uri;

use super::{CommitError, Committer, objects::NewPack};
use crate::{
    state::{HeldAt, Ledger, Repacked, Waits},
    store::{PackStore, StoreError, is_pack},
};

/// The number of bytes at which a new pack is full.
const FULL: u64 = 64 << 20;

/// The records of one new pack.
#[derive(Default)]
struct Repacking {
    pack: NewPack,
    moved: Vec<Repacked>,
}

impl Committer {
    /// Copies the used parts of packs of which more than half is unused. Records are copied unchanged, and an object
    /// is removed once none of its records is used. Neither damage nor a pack that cannot be read ends a run: unreadable
    /// parts stay where they are, for an audit to report.
    pub(super) fn repack(&mut self, packs: &Arc<PackStore>) -> Result<(), CommitError> {
        let mut repacking = Repacking::default();
        for key in self.state.sparse_packs()?.iter().filter(|key| is_pack(key)) {
            let bytes = match packs.read_pack(key) {
                Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                    tracing::warn!(%key, "a pack is gone: an audit names what was in it");
                    continue;
                }
                // No committed group depends on this, and the next run tries it again.
                Err(error) => {
                    let is_away = matches!(&error, StoreError::Bucket { source, .. } if source.may_pass());
                    let error = instep_store::error_chain(&error);
                    tracing::warn!(%key, error, "a pack cannot be read, and is not packed anew");
                    if is_away {
                        // The run would wait for each further pack.
                        return Ok(());
                    }
                    continue;
                }
                Ok(bytes) => bytes,
            };
            for PackedRecord { uri, offset, length } in records(key, &bytes) {
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

/// A record of a pack, and the part of the pack that it is.
struct PackedRecord {
    uri: String,
    offset: u64,
    length: u64,
}

/// Returns the records up to the first that is damaged.
fn records(key: &str, pack: &[u8]) -> Vec<PackedRecord> {
    let mut found = Vec::new();
    let mut reader = WarcReader::new(pack);
    loop {
        let offset = reader.offset();
        let mut uri = None;
        let next = reader.next(&mut |record| {
            uri = record.head.target().map(str::to_owned);
            Ok(())
        });
        match next {
            Ok(true) => {
                let length = reader.offset() - offset;
                found.extend(uri.map(|uri| PackedRecord { uri, offset, length }));
            }
            Ok(false) => return found,
            Err(error) => {
                tracing::warn!(%key, %error, "a pack is damaged: an audit names what was in it");
                return found;
            }
        }
    }
}
