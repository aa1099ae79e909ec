//! A group whose resources are parts of objects: record keys, put objects, commit rows.
//!
//! A resource is held when a row leads to its bytes. Keys are recorded before any object is put. The rows of a group
//! are committed in the same transaction that clears its keys, so after a crash each object either has rows, or is
//! known to have none and is removed by the next start. An unused object is removed only when the commit that
//! released it is durable.

use std::{
    io::{self, Read as _, Write},
    sync::Arc,
};

use instep_warc::{PayloadDigest, RecordPacking, WarcHead, WarcKind, WarcWriter};
use resourcesync::Uri;

use super::{CommitError, Committer, Recovered, Step, work::Work};
use crate::{
    clock::now,
    state::{HeldAt, Operation, Waits},
    store::{MOST_PACKED, PackStore, PlannedObject, StagedName, StagingFile, StoreError},
    web_archive::record_id,
};

/// The media type if the Source states none.
const UNKNOWN_TYPE: &str = "application/octet-stream";

impl Committer {
    /// Puts the bytes of a group into objects, and gives each operation the place of its bytes.
    pub(super) fn put_objects(&mut self, work: &mut Work, packs: &Arc<PackStore>) -> Result<(), CommitError> {
        self.step(Step::SyncStaged)?;
        let mut planned = Vec::new();
        let mut pack = NewPack::default();
        for operation in &mut work.operations {
            let Operation::Place { uri, staged, metadata, place, .. } = operation else { continue };
            let (staged, length) = (StagedName::from(*staged), metadata.length.unwrap_or_default());
            let media_type = metadata.media_type.as_ref().map(|kind| kind.as_str());
            *place = if length <= MOST_PACKED {
                pack.add(packs, staged, uri, media_type, length)?
            } else {
                let key = packs.key_of_resource();
                let media_type = media_type.map(str::to_owned);
                planned.push(PlannedObject { key: key.clone(), staged, media_type });
                work.ledger.packs.push((key.clone(), length));
                HeldAt::Object { key, offset: 0, length }
            };
            work.leftovers.push(staged);
        }
        if let Some((object, bytes)) = pack.finish()? {
            work.leftovers.push(object.staged);
            work.ledger.packs.push((object.key.clone(), bytes));
            planned.push(object);
        }
        self.put_begun(packs, &planned)
    }

    /// Records the keys of objects, then puts the objects.
    pub(super) fn put_begun(
        &mut self,
        packs: &Arc<PackStore>,
        planned: &[PlannedObject],
    ) -> Result<(), CommitError> {
        if planned.is_empty() {
            return Ok(());
        }
        self.step(Step::WriteIntent)?;
        let keys: Vec<&str> = planned.iter().map(|object| &*object.key).collect();
        // The only point of a group at which the state waits for the disk. It makes all earlier groups durable, so the
        // objects that they released stay unused after a power loss.
        self.state.set_waits(self.waits(Waits::Disk))?;
        let dead = self.state.dead_packs()?;
        self.state.begin_packs(&keys)?;
        self.remove_packs(packs, &dead)?;
        for index in 0..planned.len() {
            self.step(Step::Operation(index))?;
        }
        packs.put(planned)?;
        self.step(Step::SyncNames)?;
        Ok(())
    }

    /// Removes the objects that earlier runs began or left dead. Nothing leads to any of them.
    pub(super) fn sweep_packs(&mut self, packs: &Arc<PackStore>) -> Result<Recovered, CommitError> {
        let (begun, dead) = (self.state.begun_packs()?, self.state.dead_packs()?);
        if !begun.is_empty() || !dead.is_empty() {
            // The commits that left these objects unused must be durable before an object is removed.
            self.state.make_durable()?;
            self.remove_packs(packs, &begun)?;
            self.remove_packs(packs, &dead)?;
        }
        self.put_off_orphans()?;
        Ok(Recovered { undone: begun.len(), ..Recovered::default() })
    }

    /// Removes the objects that no resource uses any more. All commits are durable at this point.
    pub(super) fn remove_dead_packs(&mut self, packs: &Arc<PackStore>) -> Result<(), CommitError> {
        let dead = self.state.dead_packs()?;
        self.remove_packs(packs, &dead)
    }

    fn remove_packs(&mut self, packs: &Arc<PackStore>, keys: &[Box<str>]) -> Result<(), CommitError> {
        if !keys.is_empty() {
            // The keys are forgotten last: after a kill in between the objects are removed again, which is not an
            // error.
            packs.remove(keys)?;
            self.state.forget_packs(keys)?;
        }
        Ok(())
    }
}

/// A pack while it is written to staging.
#[derive(Default)]
pub(super) struct NewPack {
    open: Option<OpenPack>,
}

struct OpenPack {
    key: Box<str>,
    writer: WarcWriter<PackFile>,
    date: String,
}

/// The staged file of a pack while it is written.
struct PackFile(StagingFile);

impl Write for PackFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl NewPack {
    /// Adds a staged file as a record.
    fn add(
        &mut self,
        packs: &PackStore,
        staged: StagedName,
        uri: &Uri,
        media_type: Option<&str>,
        length: u64,
    ) -> Result<HeldAt, StoreError> {
        let pack = self.open(packs)?;
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        let mut file = packs.staging().open_staged(staged)?;
        file.read_to_end(&mut bytes).map_err(|error| StoreError::io("read", staged.to_string(), error))?;
        let (id, digest) = (record_id(), PayloadDigest::of(&bytes).to_string());
        let head = WarcHead::new(WarcKind::Resource, &id, &pack.date)
            .with("WARC-Target-URI", uri.as_str())
            .with("Content-Type", media_type.unwrap_or(UNKNOWN_TYPE))
            .with("WARC-Payload-Digest", &digest);
        let (length, block) = (bytes.len() as u64, &mut &bytes[..]);
        let written = pack.writer.write(&head, length, block, RecordPacking::Compressed);
        let written = written.map_err(|error| StoreError::io("write", &*pack.key, error))?;
        Ok(HeldAt::Object { key: pack.key.clone(), offset: written.offset, length: written.length })
    }

    /// Adds the record of another pack as it is.
    pub(super) fn copy(&mut self, packs: &PackStore, member: &[u8]) -> Result<HeldAt, StoreError> {
        let pack = self.open(packs)?;
        let offset = pack.writer.offset();
        pack.writer.append(member).map_err(|error| StoreError::io("write", &*pack.key, error))?;
        Ok(HeldAt::Object { key: pack.key.clone(), offset, length: member.len() as u64 })
    }

    fn open(&mut self, packs: &PackStore) -> Result<&mut OpenPack, StoreError> {
        if self.open.is_none() {
            let file = PackFile(packs.staging().stage(&[])?);
            let (key, writer) = (packs.key_of_pack(), WarcWriter::new(file, 0));
            self.open = Some(OpenPack { key, writer, date: seconds(&now().to_string()) });
        }
        self.open.as_mut().ok_or_else(|| StoreError::io("open", "a pack", io::ErrorKind::NotFound))
    }

    /// Returns the number of bytes so far.
    pub(super) fn len(&self) -> u64 {
        self.open.as_ref().map_or(0, |pack| pack.writer.offset())
    }

    /// Ends the pack. Returns it with its bytes; `None` if it has no record.
    pub(super) fn finish(self) -> Result<Option<(PlannedObject, u64)>, StoreError> {
        let Some(OpenPack { key, writer, .. }) = self.open else { return Ok(None) };
        let bytes = writer.offset();
        let file = writer.into_inner().map_err(|error| StoreError::io("write", &*key, error))?;
        let staged = file.0.finish(None)?.name;
        Ok(Some((PlannedObject { key, staged, media_type: Some("application/warc".to_owned()) }, bytes)))
    }
}

/// Returns a time in UTC without its fraction, as readers of web archives expect it.
fn seconds(time: &str) -> String {
    time.split_once('.').map_or_else(|| time.to_owned(), |(whole, _)| format!("{whole}Z"))
}
