//! Resource Dumps: which are due, and how they come into place.

use std::{cell::Cell, sync::atomic::Ordering, time::Duration};

use resourcesync::DateTime;

use super::{context::SourceContext, published};
use crate::{
    DumpPolicy, Error, PublishMonitor,
    catalogue::Snapshot,
    content::StateSpool,
    dump::{
        BuiltDumps, ChangePackages, DumpJob, first_without_file, report_without_change_dump,
        report_without_dump,
    },
    records::{PublishedChangeDump, PublishedResourceDump},
    render::{Before, Now},
    scan::ScanStop,
    sink::FolderSink,
};

/// The interval at which changes are packed while a Source stays open, unless the operator sets another.
const CHANGES_EVERY: Duration = Duration::from_secs(3_600);

impl SourceContext {
    /// Returns the Resource Dumps that are due; `None` if there are none. The job can run concurrently with
    /// publications, and ends early once `stop` is requested. Reports the sets that can have none.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub(super) fn dump_job(
        &self,
        stop: &ScanStop,
        monitor: &dyn PublishMonitor,
    ) -> Result<Option<DumpJob>, Error> {
        let snapshot = self.catalogue.snapshot()?;
        let published = published::load(&snapshot)?.published;
        let mut due = Vec::new();
        for (number, set) in (0u8..).zip(&self.policy.sets) {
            let held = published.sets.get(&set.name).and_then(|set| set.resource_dump.as_ref());
            if !self.wants_dump(&snapshot, number)? || !self.is_dump_due(&snapshot, held) {
                continue;
            }
            // The job gives up a dump that is in place. Without one, it would have nothing to do after each publication.
            match first_without_file(&self.holdings, &snapshot, number)? {
                Some(first) if held.is_none() => report_without_dump(set, &first, monitor),
                _ => due.push(number),
            }
        }
        if due.is_empty() {
            return Ok(None);
        }
        Ok(Some(DumpJob {
            policy: self.policy.clone(),
            options: self.options.dumps.clone(),
            catalogue: self.catalogue.clone(),
            holdings: self.holdings.clone(),
            sink: FolderSink::new(&self.options.out, "dumps", self.options.gzip_twins),
            due,
            guard: self.options.guard,
            stop: stop.clone(),
        }))
    }

    /// Counts built packages as in place, and returns the sink in which they are staged. Drops the dumps of the sets that
    /// can have none.
    pub(super) fn take_built(&self, built: BuiltDumps, before: &mut Before) -> FolderSink {
        for (set, dump) in built.sets {
            if dump.is_none() {
                drop_dump(before, &set);
            }
            before.staged.entry(set).or_default().resources = dump;
        }
        before.published.documents.extend(built.documents);
        built.sink
    }

    /// Packs the changes that no package has yet, when they are old or many enough. A set with a resource that has no file
    /// gives up its Change Dump. Returns the number of resources that are left out because they cannot be read, and one
    /// more if the disk has no room for a package.
    pub(super) fn pack_changes(
        &self,
        snapshot: &Snapshot,
        before: &mut Before,
        now: Now,
        sink: &mut FolderSink,
        monitor: &dyn PublishMonitor,
        ends: &dyn Fn() -> bool,
    ) -> Result<u64, Error> {
        let spool = StateSpool::of(&self.options).filter(|_| self.options.dumps.changes);
        let Some(spool) = &spool else {
            before.published.sets.values_mut().for_each(|set| set.change_dump = None);
            return Ok(0);
        };
        let packages = ChangePackages {
            policy: &self.policy,
            holdings: &self.holdings,
            spool,
            out: &self.options.out,
            snapshot,
            monitor,
            now,
            unreadable: Cell::new(0),
            lacks_room: Cell::new(false),
            options: &self.options.dumps,
            ends,
        };
        let every = self.options.dumps.changes_every.unwrap_or(CHANGES_EVERY);
        let is_first = !self.has_reported_dumps.swap(true, Ordering::Relaxed);
        let (mut held_all, mut due) = (Vec::new(), false);
        for (number, set) in (0u8..).zip(&self.policy.sets) {
            let held = before.published.sets.get(&set.name).and_then(|set| set.change_dump.clone());
            if held.is_none()
                && let Some(first) = first_without_file(&self.holdings, snapshot, number)?
            {
                if is_first {
                    report_without_change_dump(set, &first, monitor);
                }
                continue;
            }
            let held = held.map_or_else(|| starting(snapshot, number, now.at), Ok)?;
            let pending = packages.pending(number, &held)?;
            due |= pending.is_some_and(|(count, first)| {
                count >= self.options.lists.rotation.entries || first.is_older_than(every, now.completed)
            });
            held_all.push((number, set, held, pending.is_some()));
        }
        for (number, set, held, pending) in held_all {
            let packs = due && pending && !packages.lacks_room.get();
            // The dump in place has all changes up to its last package: only the next one could lack some.
            if packs && let Some(first) = first_without_file(&self.holdings, snapshot, number)? {
                report_without_change_dump(set, &first, monitor);
                before.published.sets.entry(set.name.clone()).or_default().change_dump = None;
                continue;
            }
            let dump = if packs {
                packages.pack(number, set, held, sink, &mut before.published.documents)?
            } else {
                held
            };
            before.staged.entry(set.name.clone()).or_default().changes = Some(dump);
        }
        Ok(packages.unreadable.get() + u64::from(packages.lacks_room.get()))
    }

    fn wants_dump(&self, snapshot: &Snapshot, number: u8) -> Result<bool, Error> {
        Ok(match self.options.dumps.policy {
            DumpPolicy::Never => false,
            DumpPolicy::Always => true,
            DumpPolicy::Auto => snapshot.totals(number)?.bytes <= self.options.dumps.auto_bytes,
        })
    }

    fn is_dump_due(&self, snapshot: &Snapshot, held: Option<&PublishedResourceDump>) -> bool {
        held.is_none_or(|held| {
            held.revision != snapshot.head().revision
                && held.at.is_older_than(self.options.dumps.every, snapshot.at())
        })
    }

    /// Drops the Resource Dumps of the sets that should have none.
    pub(super) fn drop_unwanted_dumps(&self, snapshot: &Snapshot, before: &mut Before) -> Result<(), Error> {
        for (number, set) in (0u8..).zip(&self.policy.sets) {
            if !self.wants_dump(snapshot, number)? {
                drop_dump(before, &set.name);
            }
        }
        Ok(())
    }
}

/// Drops the Resource Dump of a set.
fn drop_dump(before: &mut Before, set: &str) {
    before.former_dumps.remove(set);
    before.published.sets.entry(set.to_owned()).or_default().resource_dump = None;
}

/// Returns an empty Change Dump from the `at` of this publication, like the first Change List: a reader that has the
/// Resource List of that time can continue with it.
fn starting(snapshot: &Snapshot, set: u8, at: DateTime) -> Result<PublishedChangeDump, Error> {
    let mut through = 0;
    for change in snapshot.changes(1 << set, 0) {
        let change = change?;
        if change.datetime > at {
            break;
        }
        through = change.sequence;
    }
    Ok(PublishedChangeDump::starting(at, through))
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use instep_store::WRITTEN_BETWEEN_LOOKS;

    use super::*;
    use crate::{
        NoMonitor, PublishOptions, Publisher, RecordingMonitor,
        records::{PLACING, PUBLISHED, PublishedSource},
        scan::{ScanOptions, scan},
        sink::{Rank, Sink},
    };

    #[test]
    fn o467_an_interrupted_publication_costs_no_package_of_changes() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.org/");
        options.dumps.changes = true;
        options.dumps.changes_every = Some(Duration::ZERO);
        let mut publisher = Publisher::open(options).unwrap();
        let publish = |publisher: &mut Publisher, text: &str| -> PublishedSource {
            fs::write(folder.path().join("a"), text).unwrap();
            publisher.publish(&NoMonitor).unwrap();
            PUBLISHED.read(publisher.catalogue()).unwrap().unwrap()
        };
        publish(&mut publisher, "first");
        let before = publish(&mut publisher, "second");
        let next = publish(&mut publisher, "third");
        // As if it had been killed before it put anything in place.
        let new: Vec<_> =
            next.documents.keys().filter(|name| !before.documents.contains_key(*name)).collect();
        assert_eq!(new.len(), 2, "a package and its manifest: {new:?}");
        new.iter().for_each(|name| fs::remove_file(folder.path().join(name)).unwrap());
        let records = vec![PUBLISHED.write(&before), PLACING.write(&next)];
        publisher.catalogue().set_meta(records).unwrap();
        let repaired = publish(&mut publisher, "third");

        let dump = |published: &PublishedSource| published.sets[""].change_dump.clone().unwrap();
        let (before, next, repaired) = (dump(&before), dump(&next), dump(&repaired));
        assert_eq!((repaired.from, repaired.through), (before.from, next.through));
        assert_eq!((repaired.packages.len(), &repaired.packages[0]), (2, &before.packages[0]));
    }

    /// Returns a publisher whose catalogue has a change that is in no package.
    fn with_a_change_to_pack() -> (tempfile::TempDir, Publisher) {
        let folder = tempfile::tempdir().unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.org/");
        options.dumps.changes = true;
        options.dumps.changes_every = Some(Duration::ZERO);
        fs::write(folder.path().join("b"), "old").unwrap();
        let mut publisher = Publisher::open(options).unwrap();
        publisher.publish(&NoMonitor).unwrap();
        fs::write(folder.path().join("a"), "new").unwrap();
        let scanned = ScanOptions::new(publisher.options());
        scan(publisher.holdings(), publisher.catalogue(), &scanned, &NoMonitor).unwrap();
        (folder, publisher)
    }

    #[test]
    fn o625_no_changes_are_packed_once_the_source_is_to_end() {
        let (_folder, mut publisher) = with_a_change_to_pack();
        publisher.stop.request();
        let stopped = publisher.publish_recorded(&NoMonitor);
        assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
        publisher.stop = ScanStop::default();
        publisher.publish_recorded(&NoMonitor).unwrap();
        let published = PUBLISHED.read(publisher.catalogue()).unwrap().unwrap();
        assert_eq!(published.sets[""].change_dump.as_ref().unwrap().packages.len(), 1);
    }

    #[test]
    fn o812_a_change_dump_waits_for_a_state_whose_file_is_gone_but_not_published_as_deleted() {
        let (folder, mut publisher) = with_a_change_to_pack();
        let states = publisher.options().state.join("states");
        // As if a disk was unmounted, and the copy had no room.
        fs::rename(folder.path().join("a"), folder.path().join(".hidden")).unwrap();
        fs::remove_dir_all(states).unwrap();
        let packages = |publisher: &mut Publisher| {
            publisher.publish_recorded(&NoMonitor).unwrap();
            let published = PUBLISHED.read(publisher.catalogue()).unwrap().unwrap();
            published.sets[""].change_dump.clone().unwrap().packages
        };
        assert!(packages(&mut publisher).is_empty());
        fs::rename(folder.path().join(".hidden"), folder.path().join("a")).unwrap();
        let packed = packages(&mut publisher);
        assert_eq!(packed.len(), 1);
        let manifest = folder.path().join("resourcesync").join(&packed[0].package.manifest);
        assert!(fs::read_to_string(manifest).unwrap().contains("http://example.org/a"));
    }

    #[test]
    fn o727_changes_are_published_although_the_disk_has_no_room_for_their_package() {
        let (folder, mut publisher) = with_a_change_to_pack();

        let (source, monitor) = (&publisher.context, RecordingMonitor::new());
        let snapshot = source.catalogue.snapshot().unwrap();
        let (mut before, head) = (source.before(&snapshot).unwrap(), snapshot.head());
        let now = Now::new(snapshot.at(), snapshot.at(), head.sequence, head.revision);
        let mut sink = FolderSink::new(folder.path(), "lists", false).with_reserve(u64::MAX);
        let filler = vec![0; WRITTEN_BETWEEN_LOOKS as usize - 1];
        let mut write = |file: &mut dyn Write| file.write_all(&filler).map_err(Error::write("filler"));
        sink.write("resourcesync/filler", Rank::Part, &mut write).unwrap();
        let documents = before.published.documents.len();
        let left_out = source.pack_changes(&snapshot, &mut before, now, &mut sink, &monitor, &|| false);
        assert_eq!(left_out.unwrap(), 1);
        let problems = monitor.seen().problems;
        let problem = &problems[0];
        assert!(problem.skipped && problem.subject.ends_with("/changedump.xml"), "{problem:?}");
        assert!(problem.what.contains("make room"), "{problem:?}");
        assert_eq!(sink.staged().collect::<Vec<_>>(), ["resourcesync/filler"]);
        let staged = fs::read_dir(folder.path().join("resourcesync/.stage/lists")).unwrap();
        assert_eq!((before.published.documents.len(), staged.count()), (documents, 1));
        assert!(before.staged[""].changes.as_ref().unwrap().packages.is_empty());

        drop((sink, snapshot));
        publisher.publish_recorded(&NoMonitor).unwrap();
        let published = PUBLISHED.read(publisher.catalogue()).unwrap().unwrap();
        assert_eq!(published.sets[""].change_dump.as_ref().unwrap().packages.len(), 1);
    }

    #[test]
    fn o700_no_further_package_is_made_once_the_source_is_to_end() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "a").unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.org/");
        options.dumps.policy = DumpPolicy::Always;
        let mut publisher = Publisher::open(options).unwrap();
        publisher.publish(&NoMonitor).unwrap();
        let job = publisher.dump_job(&NoMonitor).unwrap().unwrap();
        publisher.stop.request();
        let stopped = job.build(&NoMonitor);
        assert!(matches!(stopped, Err(Error::Stopped)), "{stopped:?}");
    }

    #[test]
    fn o543_an_interrupted_publication_leaves_the_resource_dump_from_before_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.org/");
        options.dumps.policy = DumpPolicy::Always;
        options.dumps.every = Duration::ZERO;
        let publish = |text: &str| -> PublishedSource {
            fs::write(folder.path().join("a"), text).unwrap();
            crate::publish::publish(&options, &NoMonitor).unwrap();
            let publisher = Publisher::open(options.clone()).unwrap();
            PUBLISHED.read(publisher.catalogue()).unwrap().unwrap()
        };
        let before = publish("first");
        let next = publish("second");
        let dump = |published: &PublishedSource| published.sets[""].resource_dump.clone();
        assert!(dump(&before).is_some() && dump(&before) != dump(&next));
        // As if it had been killed before it put anything in place.
        let new = dump(&next).unwrap().packages.remove(0).package;
        fs::remove_file(folder.path().join("resourcesync").join(new)).unwrap();
        let mut publisher = Publisher::open(options.clone()).unwrap();
        let records = vec![PUBLISHED.write(&before), PLACING.write(&next)];
        publisher.catalogue().set_meta(records).unwrap();
        publisher.publish(&NoMonitor).unwrap();
        let repaired = PUBLISHED.read(publisher.catalogue()).unwrap().unwrap();
        assert_eq!(dump(&repaired), dump(&before));
    }
}
