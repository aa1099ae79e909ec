//! Patches, made of the states before and after a change and put in place before a document names them (§14.4).

use std::{
    fs,
    io::{self, Read, Write},
    path::Path,
};

use instep_store::{Shortage, error_chain};
#[cfg(feature = "patch")]
use resourcesync::patch::patch_between;
use resourcesync::{Algorithm, Change, Digests, Hasher, patch::PatchFormat};

use super::{context::SourceContext, published};
use crate::{
    Error, PublishMonitor, PublishProblem,
    catalogue::{ChangeRecord, Patch, Snapshot},
    content::StateSpool,
    options::PatchOptions,
    records::PATCHED,
    render::{DOCUMENTS, PATCHES},
    sink::{FolderSink, Rank, Sink},
};

/// Patches that are put in place and recorded together.
const GROUP: usize = 256;
/// Patches in one folder, by the numbers of their changes.
const FOLDER: u64 = 100;

impl SourceContext {
    /// Makes the patches for the changes since the last time. If one cannot be made, readers fetch the whole resource; once
    /// the disk has no room for one, no further one is made. Stops between two of them once `ends` returns `true`: many large
    /// ones take hours.
    pub(super) fn make_patches(
        &self,
        monitor: &dyn PublishMonitor,
        ends: &dyn Fn() -> bool,
    ) -> Result<(), Error> {
        let (Some(options), Some(spool)) = (self.options.patches(), StateSpool::of(&self.options)) else {
            return Ok(());
        };
        let snapshot = self.catalogue.snapshot()?;
        // Changes that the log no longer has, as after a time without patches, would be waited for without an end (O432).
        let mut tried = tried(&snapshot)?.max(snapshot.head().forgotten);
        let mut maker = Maker { options, spool, is_full: false };
        while tried < snapshot.head().sequence {
            let mut sink = FolderSink::new(&self.options.out, "patches", false);
            let mut made = Vec::new();
            for change in snapshot.changes(u64::MAX, tried).take(GROUP) {
                let change = change?;
                tried = change.sequence;
                if let Some(patch) = maker.stage(&change, &mut sink, monitor)? {
                    made.push((tried, patch));
                }
                if ends() {
                    break;
                }
            }
            let outbox = self.owing(&sink.in_order(), &[], &Default::default())?;
            self.catalogue.set_meta(outbox.into_iter().collect())?;
            self.share(&sink, &[])?;
            sink.commit(&[])?;
            self.catalogue.set_patches(made, PATCHED.write(&tried))?;
            if ends() {
                return Err(Error::Stopped);
            }
        }
        Ok(())
    }

    /// Takes away the patches of changes that no published list has any more.
    pub(super) fn drop_patches(&self, first_offered: Option<u64>) -> Result<(), Error> {
        let folder = self.options.out.join(DOCUMENTS).join(PATCHES);
        let Some(first) = first_offered else { return Ok(()) };
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(Error::read(&folder))?,
        };
        for entry in entries {
            let entry = entry.map_err(Error::read(&folder))?;
            let number = entry.file_name().to_str().and_then(|name| name.parse::<u64>().ok());
            // One more folder is kept, for readers of a list that was just removed.
            if let Some(number) = number.filter(|number| (number + 2) * FOLDER <= first) {
                self.owe_removal(&entry.path(), number)?;
                fs::remove_dir_all(entry.path()).map_err(Error::write(entry.path()))?;
            }
        }
        Ok(())
    }

    /// Records that the patches of a folder, which is about to be removed, are to be removed where they were
    /// delivered, and from other servers.
    fn owe_removal(&self, folder: &Path, number: u64) -> Result<(), Error> {
        let names = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let names = names.map_err(Error::read(folder))?;
        let names = names.iter().filter_map(|entry| entry.file_name().into_string().ok());
        let names: Vec<_> = names.map(|name| format!("{DOCUMENTS}/{PATCHES}/{number:06}/{name}")).collect();
        let outbox = self.owing(&[], &names, &Default::default())?;
        self.catalogue.set_meta(outbox.into_iter().collect())?;
        self.share(&FolderSink::default(), &names)
    }
}

/// Returns the last change for which a patch was tried; at first, the last that no open list shows.
fn tried(snapshot: &Snapshot) -> Result<u64, Error> {
    if let Some(tried) = PATCHED.read(snapshot)? {
        return Ok(tried);
    }
    let published = published::load(snapshot)?.published;
    let open = published.sets.values().filter_map(|set| Some(set.change_list.as_ref()?.open.after));
    Ok(open.min().unwrap_or_default())
}

fn stage(sink: &mut FolderSink, sequence: u64, format: PatchFormat, bytes: &[u8]) -> Result<Patch, Error> {
    let mut hasher = Hasher::new(&[Algorithm::Sha256]);
    hasher.update(bytes);
    let extension = match format {
        PatchFormat::Json => "json-patch",
        PatchFormat::Xml => "xml-patch",
        _ => "vcdiff",
    };
    // The numbers begin again with a new catalogue; the digest of the bytes keeps old and new apart.
    let mark = &blake3::hash(bytes).to_hex()[..16];
    let name = format!("{DOCUMENTS}/{PATCHES}/{:06}/{sequence:09}-{mark}.{extension}", sequence / FOLDER);
    let write = &mut |file: &mut dyn Write| file.write_all(bytes).map_err(Error::write(&name));
    let length = sink.write(&name, Rank::Part, write)?;
    Ok(Patch::new(name, &format.media_type(), length, &hasher.finish()))
}

struct Maker {
    options: PatchOptions,
    spool: StateSpool,
    /// `true` once the disk had no room for a patch.
    is_full: bool,
}

impl Maker {
    /// Stages the patch of a change; returns `None` if there is none. That one cannot be made is reported.
    fn stage(
        &mut self,
        change: &ChangeRecord,
        sink: &mut FolderSink,
        monitor: &dyn PublishMonitor,
    ) -> Result<Option<Patch>, Error> {
        if self.is_full {
            return Ok(None);
        }
        let what = match self.patch(change) {
            Ok(None) => return Ok(None),
            Ok(Some((format, bytes))) => match stage(sink, change.sequence, format, &bytes) {
                Err(error) if Shortage::behind(&error) == Some(Shortage::Room) => {
                    self.is_full = true;
                    format!("has no patch for its change, as all later ones: {}", error_chain(&error))
                }
                staged => return staged.map(Some),
            },
            Err(error) => format!("has no patch for its change, as its states cannot be read: {error}"),
        };
        monitor.problem(&PublishProblem::warning(change.uri.as_str(), what));
        Ok(None)
    }

    /// Computes the patch of a change; `None` if a state was not kept, or if a state or the patch is too large.
    fn patch(&self, change: &ChangeRecord) -> io::Result<Option<(PatchFormat, Vec<u8>)>> {
        let state = &change.state;
        let length = state.length.filter(|length| *length <= self.options.most_bytes);
        let (Change::Updated, Some(length)) = (&change.change, length) else { return Ok(None) };
        let Some(before) = self.bytes(&change.before)? else { return Ok(None) };
        let Some(after) = self.bytes(&state.digests)? else { return Ok(None) };
        let longest = usize::try_from(self.options.longest(length)).unwrap_or(usize::MAX);
        Ok(patch_between(&before, &after, state.media_type.as_ref(), longest))
    }

    /// Returns a kept state, if its bytes match its name.
    fn bytes(&self, digests: &Digests) -> io::Result<Option<Vec<u8>>> {
        let (Some(file), Some(strongest)) = (self.spool.find(digests)?, digests.strongest()) else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        file.take(self.options.most_bytes + 1).read_to_end(&mut bytes)?;
        let mut hasher = Hasher::new([&strongest.algorithm]);
        hasher.update(&bytes);
        Ok((hasher.finish().agrees_with(digests) == Some(true)).then_some(bytes))
    }
}

/// Makes no patch: a build without the feature has no options that ask for one.
#[cfg(not(feature = "patch"))]
fn patch_between(
    _held: &[u8],
    _next: &[u8],
    _media_type: Option<&resourcesync::MediaType>,
    _most: usize,
) -> Option<(PatchFormat, Vec<u8>)> {
    None
}

#[cfg(all(test, feature = "patch"))]
mod tests {
    use instep_store::WRITTEN_BETWEEN_LOOKS;

    use super::*;
    use crate::{
        NoMonitor, PublishOptions, Publisher, RecordingMonitor,
        scan::{ScanOptions, scan},
    };

    #[test]
    fn o727_patches_that_the_disk_has_no_room_for_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.org/");
        options.keep_states = true;
        options.patches = Some(PatchOptions::default());
        let write = |last: &str| {
            let text = (0..500).map(|number| format!("{number} ")).collect::<String>() + last;
            ["a", "b"].iter().for_each(|name| fs::write(folder.path().join(name), &text).unwrap());
        };
        write("one");
        let mut publisher = Publisher::open(options).unwrap();
        publisher.publish(&NoMonitor).unwrap();
        write("another");
        let scanned = ScanOptions::new(publisher.options());
        scan(publisher.holdings(), publisher.catalogue(), &scanned, &NoMonitor).unwrap();
        let changes: Vec<_> =
            publisher.catalogue().snapshot().unwrap().changes(u64::MAX, 0).map(Result::unwrap).collect();
        let staged = |sink: &mut FolderSink, monitor: &RecordingMonitor| {
            let (options, spool) = (PatchOptions::default(), StateSpool::of(publisher.options()).unwrap());
            let mut maker = Maker { options, spool, is_full: false };
            changes.iter().filter(|change| maker.stage(change, sink, monitor).unwrap().is_some()).count()
        };
        let (room, monitor) = (|| FolderSink::new(folder.path(), "patches", false), RecordingMonitor::new());
        assert_eq!((staged(&mut room(), &monitor), monitor.seen().problems.len()), (2, 0));
        let mut full = room().with_reserve(u64::MAX);
        let filler = vec![0; WRITTEN_BETWEEN_LOOKS as usize - 1];
        let mut write = |file: &mut dyn Write| file.write_all(&filler).map_err(Error::write("filler"));
        full.write("resourcesync/filler", Rank::Part, &mut write).unwrap();
        assert_eq!((staged(&mut full, &monitor), monitor.seen().problems.len()), (0, 1));
        assert!(monitor.seen().problems[0].what.contains("make room"));
    }

    #[test]
    fn o547_no_further_patch_is_made_once_the_source_is_to_end() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.org/");
        options.keep_states = true;
        options.patches = Some(PatchOptions::default());
        let write = |text: &str| {
            ["a", "b", "c"].iter().for_each(|name| fs::write(folder.path().join(name), text).unwrap());
        };
        write("one");
        let mut publisher = Publisher::open(options).unwrap();
        publisher.publish(&NoMonitor).unwrap();
        write("another");
        let scanned = ScanOptions::new(publisher.options());
        scan(publisher.holdings(), publisher.catalogue(), &scanned, &NoMonitor).unwrap();
        let tried = || PATCHED.read(publisher.catalogue()).unwrap();
        let stopped = publisher.context.make_patches(&NoMonitor, &|| true);
        assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
        let last = publisher.catalogue().head().unwrap().sequence;
        assert!((Some(1)..Some(last)).contains(&tried()), "what is made is kept: {:?}", tried());
        publisher.context.make_patches(&NoMonitor, &|| false).unwrap();
        assert_eq!(tried(), Some(last));
    }
}
