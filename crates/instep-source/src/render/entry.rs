//! Resources and changes as entries of documents.

use resourcesync::{Change, Entry};

use crate::catalogue::{ChangeRecord, Resource, ResourceState};

/// Returns a resource as Resource Lists and manifests show it (RL-7).
pub(crate) fn resource_entry(resource: Resource) -> Entry {
    let mut entry = Entry::new(resource.uri);
    describe(&mut entry, resource.state);
    entry
}

/// Returns a change as Change Lists show it (CL-7, CL-8, CL-10); of a deleted resource only the event (CL-14).
pub(crate) fn change_entry(record: ChangeRecord) -> Entry {
    let mut entry = Entry::new(record.uri);
    if record.change != Change::Deleted {
        describe(&mut entry, record.state);
    }
    entry.metadata.change = Some(record.change);
    entry.metadata.datetime = Some(record.datetime);
    entry
}

fn describe(entry: &mut Entry, state: ResourceState) {
    entry.lastmod = state.lastmod;
    entry.changefreq = state.changefreq;
    entry.metadata.hash = state.digests;
    entry.metadata.length = state.length;
    entry.metadata.media_type = state.media_type;
    entry.metadata.encoding = state.encoding;
    entry.links = state.links;
}
