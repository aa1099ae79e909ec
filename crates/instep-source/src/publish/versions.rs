//! Records the prior versions of resources as changes come (§14.6).

use std::mem;

use resourcesync::{Change, DateTime, Uri};

use super::{context::SourceContext, released::UnpackedStates};
use crate::{
    Error,
    catalogue::{Keep, Resource, ResourceVersion, Snapshot},
    content::StateSpool,
    records::VERSIONED,
};

/// Versions that are recorded together.
const GROUP: usize = 1_024;

impl SourceContext {
    /// Records the versions of the changes since the last time; at first, the present versions.
    pub(super) fn keep_versions(&self) -> Result<(), Error> {
        let (Some(options), Some(spool)) = (self.options.versions, StateSpool::of(&self.options)) else {
            return Ok(());
        };
        let snapshot = self.catalogue.snapshot()?;
        let head = snapshot.head();
        let age = i64::try_from(options.age.as_micros()).unwrap_or(i64::MAX);
        let since = DateTime::from_unix_micros(snapshot.at().unix_micros().saturating_sub(age));
        let keep = Keep { count: options.count, since };
        let unpacked = UnpackedStates::new(self, &snapshot);
        let mut recorder = VersionRecorder { source: self, spool, keep, unpacked, group: Vec::new() };
        let (sets, through) = VERSIONED.read(&snapshot)?.unwrap_or_default();
        // Changes that the log no longer has, as after a time without versions, show only in the present states.
        let has_gap = sets != 0 && through < head.forgotten;
        let mut after = if sets == 0 { head.sequence } else { through };
        if has_gap {
            // First the changes that the log still has: Change Lists link to their versions, and the last one of a resource is
            // its present version.
            recorder.record_changes(&snapshot, after, |_| (sets, through))?;
            recorder.flush((sets, through))?;
            after = head.sequence;
        }
        if sets != head.baselined || has_gap {
            let known = self.catalogue.snapshot()?;
            for resource in snapshot.resources(u64::MAX) {
                let resource = resource?;
                if let Some(datetime) = present_since(snapshot.at(), &known, &resource, has_gap)? {
                    recorder.record(
                        resource.uri,
                        ResourceVersion::new(datetime, Some(resource.state)),
                        (sets, through),
                    )?;
                }
            }
            recorder.flush((head.baselined, after))?;
        }
        recorder.record_changes(&snapshot, after, |sequence| (head.baselined, sequence))?;
        if (sets, through) == (head.baselined, head.sequence) {
            Ok(())
        } else {
            recorder.flush((head.baselined, head.sequence))
        }
    }
}

/// Returns the time from which a resource has had the state that it has at a time, as far as it is known; `None` if its last
/// known version is that state. Without a gap in the log, any version is followed by those of the later changes.
fn present_since(
    at: DateTime,
    known: &Snapshot,
    resource: &Resource,
    has_gap: bool,
) -> Result<Option<DateTime>, Error> {
    let mut begun = resource.state.lastmod.filter(|lastmod| *lastmod < at);
    if let Some(since) = known.version_since(&resource.uri)? {
        let last = if has_gap { known.versions(&resource.uri)?.pop() } else { None };
        let is_present =
            |last: ResourceVersion| last.state.is_some_and(|state| state.same_bytes(&resource.state));
        if last.is_none_or(is_present) {
            return Ok(None);
        }
        begun = begun.filter(|begun| *begun > since).or(Some(at));
    }
    let since = begun.or(resource.history.since).unwrap_or(at);
    Ok(Some(DateTime::from_unix_micros(since.unix_micros())))
}

/// The sets whose present resources have versions, as a mask, and the last change that has one.
type VersionProgress = (u64, u64);

struct VersionRecorder<'a> {
    source: &'a SourceContext,
    spool: StateSpool,
    keep: Keep,
    unpacked: UnpackedStates<'a>,
    group: Vec<(Uri, ResourceVersion)>,
}

impl VersionRecorder<'_> {
    /// Takes a version; `done` is how far it is without it.
    fn record(&mut self, uri: Uri, version: ResourceVersion, done: VersionProgress) -> Result<(), Error> {
        if self.group.len() == GROUP {
            self.flush(done)?;
        }
        self.group.push((uri, version));
        Ok(())
    }

    /// Takes the versions of the changes after one; `done` is how far it is after a change.
    fn record_changes(
        &mut self,
        snapshot: &Snapshot,
        after: u64,
        done: impl Fn(u64) -> VersionProgress,
    ) -> Result<(), Error> {
        for change in snapshot.changes(u64::MAX, after) {
            let change = change?;
            let state = (change.change != Change::Deleted).then_some(change.state);
            let version = ResourceVersion::new(change.datetime, state);
            self.record(change.uri, version, done(change.sequence - 1))?;
        }
        Ok(())
    }

    fn flush(&mut self, done: VersionProgress) -> Result<(), Error> {
        let beside = VERSIONED.write(&done);
        let group = mem::take(&mut self.group);
        let failed = || Error::write(self.spool.folder());
        let dropped = self.source.catalogue.keep_versions(group, self.keep, beside)?;
        for digests in &dropped {
            // A state that a package still needs is removed with that package.
            if !self.unpacked.contains(digests)? {
                self.spool.remove(digests).map_err(failed())?;
            }
        }
        if !dropped.is_empty() {
            self.spool.trim().map_err(failed())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;
    use crate::{Content, NoMonitor, PublishOptions, Publisher, VersionOptions};

    #[test]
    fn o909_no_entry_links_to_versions_of_a_resource_without_a_file() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "a").unwrap();
        let path = folder.path().join("list.jsonl");
        let lines = concat!(
            r#"{"uri":"http://example.org/kept","path":"a"}"#,
            "\n",
            r#"{"uri":"http://example.org/told","hash":"md5:1584abdf8ebdc9802ac0c6a7402c03b6"}"#,
        );
        fs::write(&path, lines).unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.org/");
        options.sets[0].content = vec![Content::Manifest { path, root: folder.path().to_owned() }];
        options.versions = Some(VersionOptions::default());
        crate::publish::publish(&options, &NoMonitor).unwrap();
        let list = fs::read_to_string(folder.path().join("resourcesync/resourcelist.xml")).unwrap();
        let links = |loc: &str| {
            let entry = list.split("<url>").find(|entry| entry.contains(loc)).unwrap();
            entry.contains("rel=\"timegate\"")
        };
        assert!(links("/kept</loc>") && !links("/told</loc>"), "{list}");
    }

    /// Publishes a folder with one file that has this text.
    fn published(folder: &Path, text: &str, versions: Option<VersionOptions>) -> Publisher {
        fs::write(folder.join("a"), text).unwrap();
        let mut options = PublishOptions::new(folder, "http://example.org/");
        options.versions = versions;
        let mut publisher = Publisher::open(options).unwrap();
        publisher.publish(&NoMonitor).unwrap();
        publisher
    }

    #[test]
    fn o909_versions_that_are_kept_again_have_the_states_of_changes_that_the_log_has_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let published = |text, versions| published(folder.path(), text, versions);
        drop(published("one", Some(VersionOptions::default())));
        let publisher = published("second", None);
        let last = publisher.catalogue().head().unwrap().sequence;
        publisher.catalogue().forget_changes(last).unwrap();
        let mut options = publisher.options().clone();
        drop(publisher);
        options.versions = Some(VersionOptions::default());
        let publisher = Publisher::open(options).unwrap();
        // The second time nothing is left to be recorded.
        for _ in 0..2 {
            publisher.context.keep_versions().unwrap();
            let snapshot = publisher.catalogue().snapshot().unwrap();
            let versions = snapshot.versions(&Uri::parse("http://example.org/a").unwrap()).unwrap();
            let length = |version: ResourceVersion| version.state.and_then(|state| state.length);
            assert_eq!(versions.into_iter().map(length).collect::<Vec<_>>(), [Some(3), Some(6)]);
        }
    }

    #[test]
    fn o769_versions_that_are_kept_again_have_the_times_of_the_changes_that_the_log_still_has() {
        let folder = tempfile::tempdir().unwrap();
        let published = |text, versions| published(folder.path(), text, versions);
        drop(published("one", Some(VersionOptions::default())));
        let publisher = published("second", None);
        let forgotten = publisher.catalogue().head().unwrap().sequence;
        drop(publisher);
        let publisher = published("the third", None);
        publisher.catalogue().forget_changes(forgotten).unwrap();
        let mut options = publisher.options().clone();
        drop(publisher);
        options.versions = Some(VersionOptions::default());
        let publisher = Publisher::open(options).unwrap();
        publisher.context.keep_versions().unwrap();
        let snapshot = publisher.catalogue().snapshot().unwrap();
        let changes = snapshot.changes(u64::MAX, 0).map(|change| change.unwrap().datetime.unix_micros());
        let changes: Vec<_> = changes.collect();
        let versions = snapshot.versions(&Uri::parse("http://example.org/a").unwrap()).unwrap();
        let times: Vec<_> = versions.iter().map(|version| version.datetime.unix_micros()).collect();
        assert_eq!((times.len(), &times[1..]), (2, &changes[..]));
    }
}
