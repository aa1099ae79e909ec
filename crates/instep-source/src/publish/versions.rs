//! Versions, recorded as changes come, and the URIs at which they are (§14.6).

use std::mem;

use resourcesync::{Change, DateTime, Link, MediaType, Relation, Uri};

use super::Publisher;
use crate::{
    Error,
    catalogue::{Keep, Snapshot, State, Version},
    content::Spool,
    render::DOCUMENTS,
};

/// The sets whose present resources are recorded, and the last change that is.
const RECORDED: &str = "versioned";
/// Versions that are recorded together.
const GROUP: usize = 1_024;

impl Publisher {
    /// Records the versions that changes have made since the last time; at first, what is there.
    pub(super) fn keep_versions(&self) -> Result<(), Error> {
        let (Some(options), Some(spool)) = (self.options.versions, Spool::of(&self.options)) else {
            return Ok(());
        };
        let snapshot = self.catalogue.snapshot()?;
        let head = snapshot.head();
        let age = i64::try_from(options.age.as_micros()).unwrap_or(i64::MAX);
        let since = DateTime::from_unix_micros(snapshot.at().unix_micros().saturating_sub(age));
        let keep = Keep { count: options.count, since };
        let mut recorder = Recorder { publisher: self, spool, keep, group: Vec::new() };
        let (sets, through) = recorded(&snapshot)?.unwrap_or_default();
        let after = if sets == 0 { head.sequence } else { through };
        if sets != head.baselined {
            for resource in snapshot.resources(u64::MAX) {
                let resource = resource?;
                let known = resource.state.lastmod.filter(|lastmod| *lastmod < snapshot.at());
                let since = known.or(resource.history.since).unwrap_or(snapshot.at());
                let datetime = DateTime::from_unix_micros(since.unix_micros());
                if snapshot.version_since(&resource.uri)?.is_none() {
                    recorder.record(
                        resource.uri,
                        Version::new(datetime, Some(resource.state)),
                        (sets, through),
                    )?;
                }
            }
            recorder.flush((head.baselined, after))?;
        }
        for change in snapshot.changes(u64::MAX, after) {
            let change = change?;
            let state = (change.change != Change::Deleted).then_some(change.state);
            let version = Version::new(change.datetime, state);
            recorder.record(change.uri, version, (head.baselined, change.sequence - 1))?;
        }
        match (sets, through) == (head.baselined, head.sequence) {
            true => Ok(()),
            false => recorder.flush((head.baselined, head.sequence)),
        }
    }
}

/// Sets and last change.
type Progress = (u64, u64);

fn recorded(snapshot: &Snapshot) -> Result<Option<Progress>, Error> {
    let kept = snapshot.meta(RECORDED)?;
    Ok(kept.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
}

struct Recorder<'a> {
    publisher: &'a Publisher,
    spool: Spool,
    keep: Keep,
    group: Vec<(Uri, Version)>,
}

impl Recorder<'_> {
    /// Takes a version; `done` is how far it is without it.
    fn record(&mut self, uri: Uri, version: Version, done: Progress) -> Result<(), Error> {
        if self.group.len() == GROUP {
            self.flush(done)?;
        }
        self.group.push((uri, version));
        Ok(())
    }

    fn flush(&mut self, done: Progress) -> Result<(), Error> {
        let beside = (RECORDED.to_owned(), serde_json::to_vec(&done).unwrap_or_default());
        let group = mem::take(&mut self.group);
        let failed = || Error::write(self.spool.folder());
        let dropped = self.publisher.catalogue.keep_versions(group, self.keep, beside)?;
        for digests in &dropped {
            self.spool.remove(digests).map_err(failed())?;
        }
        if !dropped.is_empty() {
            self.spool.trim().map_err(failed())?;
        }
        Ok(())
    }
}

/// The URIs of versions: below the documents, by the path of the resource below the base URL.
#[derive(Clone, Debug)]
pub(crate) struct VersionPlace {
    base: String,
}

/// Names below the documents.
pub(crate) const TIMEGATE: &str = "timegate";
pub(crate) const TIMEMAP: &str = "timemap";
pub(crate) const MEMENTO: &str = "memento";

impl VersionPlace {
    pub(crate) fn new(base: &str) -> Self {
        Self { base: base.to_owned() }
    }

    /// The resource whose path is given.
    pub(crate) fn original(&self, path: &str) -> Option<Uri> {
        Uri::parse(&format!("{}{path}", self.base)).ok()
    }

    /// The URI by which the version of a resource at any time can be asked for.
    pub(crate) fn timegate(&self, original: &Uri) -> Option<Uri> {
        self.place(TIMEGATE, original)
    }

    /// The URI of the list of versions of a resource.
    pub(crate) fn timemap(&self, original: &Uri) -> Option<Uri> {
        self.place(TIMEMAP, original)
    }

    /// The URI of one version.
    pub(crate) fn memento(&self, original: &Uri, datetime: DateTime) -> Option<Uri> {
        self.place(&format!("{MEMENTO}/{}", datetime.unix_micros()), original)
    }

    fn place(&self, kind: &str, original: &Uri) -> Option<Uri> {
        let path = original.as_str().strip_prefix(&self.base)?;
        Uri::parse(&format!("{}{DOCUMENTS}/{kind}/{path}", self.base)).ok()
    }

    /// The links of an entry whose resource is so since a time (LN-16 to LN-19).
    pub(super) fn links(&self, uri: &Uri, state: &State, since: Option<DateTime>) -> Vec<Link> {
        // Nobody has the bytes of what an application only tells of.
        if state.digests.is_empty() {
            return Vec::new();
        }
        let memento = since.and_then(|since| self.memento(uri, since)).map(|href| {
            let mut link = Link::new(Relation::Memento, href);
            link.modified = state.lastmod;
            link.hash.clone_from(&state.digests);
            (link.length, link.media_type) = (state.length, state.media_type.clone());
            link
        });
        let timegate = self.timegate(uri).map(|href| Link::new(Relation::TimeGate, href));
        let timemap = self.timemap(uri).map(|href| {
            let mut link = Link::new(Relation::TimeMap, href);
            link.media_type = Some(MediaType::new("application/link-format"));
            link
        });
        [memento, timegate, timemap].into_iter().flatten().collect()
    }
}
