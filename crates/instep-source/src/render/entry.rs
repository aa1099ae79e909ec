//! Resources and changes as entries of documents.

use resourcesync::{Change, DateTime, Entry};

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
    // An application or a manifest may know a day only, or write another zone. The catalogue keeps its form, because two
    // days show a change.
    let published = |time: DateTime| time.complete_utc();
    entry.lastmod = state.lastmod.and_then(published);
    entry.changefreq = state.changefreq;
    entry.metadata.hash = state.digests;
    entry.metadata.length = state.length;
    entry.metadata.media_type = state.media_type;
    entry.metadata.encoding = state.encoding;
    entry.links = state.links;
    for link in &mut entry.links {
        link.modified = link.modified.and_then(published);
    }
}

#[cfg(test)]
mod tests {
    use resourcesync::{Link, Relation, Uri};

    use super::*;

    #[test]
    fn o906_a_time_is_published_complete_and_in_utc_or_not_at_all() {
        let uri = Uri::parse("http://example.org/a").unwrap();
        for (written, published) in [
            ("2013-01-03", None),
            ("2013-01-03T09:00+01:00", None),
            ("2013-01-03T09:00:00+01:00", Some("2013-01-03T08:00:00Z")),
            ("2013-01-03T09:00:00.5Z", Some("2013-01-03T09:00:00.5Z")),
            ("0000-01-01T00:00:00+01:00", None),
        ] {
            let mut resource = Resource::new(b"a".to_vec(), uri.clone());
            resource.state.lastmod = Some(DateTime::parse(written).unwrap());
            let mut link = Link::new(Relation::Via, uri.clone());
            link.modified = resource.state.lastmod;
            resource.state.links.push(link);
            let entry = resource_entry(resource);
            for time in [entry.lastmod, entry.links[0].modified] {
                assert_eq!(time.map(|time| time.to_string()).as_deref(), published, "{written}");
            }
        }
    }
}
