//! The record of the published documents, kept in the catalogue.

use std::mem;

use resourcesync::DateTime;

use crate::{
    Error,
    catalogue::{Catalogue, NamedValue, Snapshot},
    records::{
        ARCHIVE, ArchiveSummary, ArchivedDocuments, PLACING, PUBLISHED, PublishedChangeLists, PublishedSet,
        PublishedSource, SHARED, Span,
    },
    render::Before,
};

/// Returns the record of the last publication. An interrupted one is repaired by the next.
pub(super) fn load(snapshot: &Snapshot) -> Result<Before, Error> {
    let mut before = Before { published: PUBLISHED.read(snapshot)?.unwrap_or_default(), ..Before::default() };
    if let Some(placing) = PLACING.read(snapshot)? {
        let dump = |(name, set): (&String, &PublishedSet)| Some((name.clone(), set.resource_dump.clone()?));
        before.former_dumps = before.published.sets.iter().filter_map(dump).collect();
        before.published = before.published.interrupted(placing);
        before.repair = true;
    }
    Ok(before)
}

/// Returns the published documents of one set.
pub(crate) fn published_set(snapshot: &Snapshot, set: &str) -> Result<PublishedSet, Error> {
    Ok(load(snapshot)?.published.sets.remove(set).unwrap_or_default())
}

/// Returns the documents in the archives of a set.
pub(super) fn archive(snapshot: &Snapshot, set: &str) -> Result<ArchivedDocuments, Error> {
    Ok(ARCHIVE.read_part(snapshot, set)?.unwrap_or_default())
}

/// Returns the names of the gzip twins of everything that is published.
pub(super) fn twins(snapshot: &Snapshot, published: &PublishedSource) -> Result<Vec<String>, Error> {
    let mut documents: Vec<_> = published.documents.keys().cloned().collect();
    for set in published.sets.keys() {
        documents.extend(archive(snapshot, set)?.documents.into_keys());
    }
    documents.retain(|name| name.ends_with(".xml"));
    Ok(documents.into_iter().map(|name| name + ".gz").collect())
}

/// Returns the names of all sets that are published.
pub(super) fn sets(snapshot: &Snapshot) -> Result<Vec<String>, Error> {
    Ok(load(snapshot)?.published.sets.into_keys().collect())
}

/// Records the documents that are about to be put in place, and those to be delivered afterwards.
pub(super) fn begin(
    catalogue: &Catalogue,
    next: &PublishedSource,
    outbox: Option<NamedValue>,
) -> Result<(), Error> {
    Ok(catalogue.set_meta([PLACING.write(next)].into_iter().chain(outbox).collect())?)
}

/// Records that it is in place, and removes the changes up to `needed`. Archives are stored separately, and written
/// only if they have changed, because they grow with the history, and a publication must not.
pub(super) fn complete(catalogue: &Catalogue, mut next: PublishedSource, needed: u64) -> Result<(), Error> {
    let archives = mem::take(&mut next.archives);
    let mut records: Vec<_> = archives.iter().map(|(set, kept)| ARCHIVE.write_part(set, kept)).collect();
    let published = PUBLISHED.write(&next);
    if catalogue.is_shared() {
        records.push(SHARED.write(&mark(published.1.as_deref())));
    }
    records.extend([published, PLACING.forget()]);
    if catalogue.set_meta_and_forget(records, needed)? {
        catalogue.forget_changes(needed)?;
    }
    Ok(())
}

/// Returns `true` if the last publication shared its documents with the other servers of the Source.
#[cfg(feature = "postgres")]
pub(super) fn are_shared(snapshot: &Snapshot) -> Result<bool, Error> {
    Ok(SHARED.read(snapshot)?.unwrap_or_default() == mark(snapshot.meta(PUBLISHED.name())?.as_deref()))
}

/// Returns a mark of the record of a publication; empty if there was none.
fn mark(published: Option<&[u8]>) -> String {
    published.map(|bytes| blake3::hash(bytes).to_hex()[..32].to_owned()).unwrap_or_default()
}

/// Drops the inventories, packages and archives of each set from the record, so that the next publication makes new
/// ones.
pub(super) fn drop_snapshots(published: &mut PublishedSource) {
    published.sets.values_mut().for_each(drop_snapshots_of);
}

fn drop_snapshots_of(set: &mut PublishedSet) {
    (set.resource_dump, set.change_dump, set.resource_list) = (None, None, None);
    set.archive = ArchiveSummary::default();
}

/// Begins the lists of a set at a time, with the changes after a sequence number. A reader of the former ones finds a gap,
/// and compares everything.
pub(super) fn begin_anew(set: &mut PublishedSet, now: DateTime, through: u64) {
    drop_snapshots_of(set);
    if let Some(lists) = &mut set.change_list {
        let open = Span::open(lists.open.number + 1, now, through);
        *lists = PublishedChangeLists { through, single: lists.single, closed: Vec::new(), open };
    }
}

/// Returns the record as it is kept, and the names of archives that are dropped with it.
pub(super) fn written_with_archives_dropped(published: &PublishedSource) -> Vec<NamedValue> {
    let archives = published.sets.keys().map(|set| ARCHIVE.forget_part(set));
    archives.chain([PUBLISHED.write(published), PLACING.forget()]).collect()
}
