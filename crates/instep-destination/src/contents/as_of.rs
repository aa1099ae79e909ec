//! A copy as it was at a time, as far as versions are kept beside it. Versions are kept by `versions.rs`, not here.

use resourcesync::{DateTime, Uri};

use super::Contents;
use crate::{Error, ResourceMetadata, map::CopyPath, plan::VersionKey, state::HeldResource};

/// Rows read at a time.
const PAGE: usize = 1_000;

/// A resource as it was at a time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ResourceAt {
    /// Its URI.
    pub uri: Uri,
    /// Its path in the copy.
    pub path: CopyPath,
    /// The version of it that is held: the resource itself, or one kept beside it.
    pub held: HeldResource,
    /// `true` if the resource is no longer held: it was deleted since, or before that time.
    pub is_gone: bool,
}

impl Contents {
    /// Visits the resources as of a time, in the order of their URIs, until `each` returns `false`: the newest
    /// version of each that is not later, among those that the copy keeps. A resource without any time is visited in
    /// its present version. Returns the number of resources that the copy has only in later versions, which are not
    /// visited.
    ///
    /// # Errors
    /// If the state cannot be read.
    pub fn as_of(&self, time: DateTime, each: &mut dyn FnMut(ResourceAt) -> bool) -> Result<u64, Error> {
        let mut later = 0;
        let mut after: Option<String> = None;
        let mut last: Option<String> = None;
        loop {
            let page = self.state.held_after(after.as_deref(), PAGE)?;
            let Some(end) = page.last() else { return Ok(later) };
            after = Some(end.uri.as_str().to_owned());
            for held in page {
                let found = match VersionKey::parse(&held.uri) {
                    None => self.resource_at(held, time)?,
                    // The versions of a resource are consecutive, so only the first of them is looked at. Those of a
                    // held resource are searched when the resource itself is visited.
                    Some(version) if last.as_deref() == Some(version.resource()) => continue,
                    Some(version) => {
                        last = Some(version.resource().to_owned());
                        if self.state.held(version.resource())?.is_some() {
                            continue;
                        }
                        self.newest_version(version.resource(), time)?.and_then(gone)
                    }
                };
                let Some(found) = found else {
                    later += 1;
                    continue;
                };
                if !each(found) {
                    return Ok(later);
                }
            }
        }
    }

    fn resource_at(&self, held: HeldResource, time: DateTime) -> Result<Option<ResourceAt>, Error> {
        let (uri, path) = (held.uri.clone(), held.path.clone());
        let held = if is_by(&held.metadata, time) {
            Some(held)
        } else {
            self.newest_version(held.uri.as_str(), time)?
        };
        Ok(held.map(|held| ResourceAt { uri, path, held, is_gone: false }))
    }

    fn newest_version(&self, resource: &str, time: DateTime) -> Result<Option<HeldResource>, Error> {
        let mut newest: Option<HeldResource> = None;
        let begin = format!("{resource}#");
        let mut after = begin.clone();
        loop {
            let page = self.state.held_after(Some(&after), PAGE)?;
            let Some(end) = page.last() else { return Ok(newest) };
            end.uri.as_str().clone_into(&mut after);
            for held in page {
                if !held.uri.as_str().starts_with(&begin) {
                    return Ok(newest);
                }
                let is_newer = newest.as_ref().is_none_or(|newest| at(&newest.metadata) < at(&held.metadata));
                if is_newer && at(&held.metadata).is_some() && is_by(&held.metadata, time) {
                    newest = Some(held);
                }
            }
        }
    }
}

fn at(metadata: &ResourceMetadata) -> Option<(i64, u32)> {
    metadata.lastmod.or(metadata.datetime).map(|time| time.instant())
}

fn is_by(metadata: &ResourceMetadata, time: DateTime) -> bool {
    at(metadata).is_none_or(|at| at < time.end())
}

/// Returns a version of a resource that is no longer held, with the former path of the resource.
fn gone(held: HeldResource) -> Option<ResourceAt> {
    let version = VersionKey::parse(&held.uri)?;
    let uri = Uri::parse(version.resource()).ok()?;
    let path = held.path.resource_of_version()?;
    Some(ResourceAt { uri, path, held, is_gone: true })
}
