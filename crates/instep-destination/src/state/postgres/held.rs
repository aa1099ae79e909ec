//! The held resources, which have one row each. `held_row.rs` reads a row.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use instep_postgres::{EngineFault, Session, Values};
use resourcesync::{Link, Uri};
use tokio_postgres::Row;

use super::{
    PostgresState,
    copy_table::CopyTable,
    held_row::{COLUMNS, place, read},
    meet,
    packs::PlaceColumns,
    row,
    row::MetadataColumns,
};
use crate::{
    map::CopyPath,
    plan::Desired,
    records::operations::Operation,
    state::{
        HeldFile, HeldResource, Meet, Meeting, ReadHeld, ResourceMetadata, RowSet, SetId, StateError, codec,
    },
};

/// The rows with a name. The index has only the beginnings of names, because a complete name may be longer than an
/// index allows. The condition is a range in the order of the index, so that no other rows are read (see
/// [`super::packs::FREE_NAMES`]).
pub(super) const NAMED: &str =
    " FROM held WHERE copy = $1 AND left(COALESCE(name, path), 600) >= left($2, 600)
     AND left(COALESCE(name, path), 600) <= left($2, 600) AND COALESCE(name, path) = $2
     ORDER BY left(COALESCE(name, path), 600), uri";

fn limit(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

impl ReadHeld for PostgresState {
    fn held(&self, uri: &str) -> Result<Option<HeldResource>, StateError> {
        if !self.may_have(CopyTable::Held)? {
            return Ok(None);
        }
        let sql = format!("SELECT {COLUMNS} FROM held WHERE copy = $1 AND uri = $2");
        self.read(|session| session.optional(&sql, &[&self.copy, &uri])?.as_ref().map(read).transpose())
    }

    fn held_after(&self, after: Option<&str>, most: usize) -> Result<Vec<HeldResource>, StateError> {
        if !self.may_have(CopyTable::Held)? {
            return Ok(Vec::new());
        }
        let sql = format!("SELECT {COLUMNS} FROM held WHERE copy = $1 AND uri > $2 ORDER BY uri LIMIT $3");
        self.read(|session| {
            let rows = session.query(&sql, &[&self.copy, &after.unwrap_or_default(), &limit(most)])?;
            rows.iter().map(read).collect()
        })
    }

    fn files_after(&self, after: &str, most: usize) -> Result<VecDeque<HeldFile>, StateError> {
        // Only these columns are read, because an audit reads every row.
        let sql = concat!(
            "SELECT uri, path, length, digests, id, ",
            place!(),
            " FROM held WHERE copy = $1 AND uri > $2 ORDER BY uri LIMIT $3"
        );
        let read = |from: &Row| {
            Ok(HeldFile {
                uri: from.try_get::<_, &str>(0)?.into(),
                path: row::path(from, 1)?,
                place: row::place(from, 5)?,
                length: from.try_get::<_, Option<i64>>(2)?.map(i64::cast_unsigned),
                digests: row::digests(from, 3)?,
                id: from.try_get(4)?,
            })
        };
        self.read(|session| {
            session.query(sql, &[&self.copy, &after, &limit(most)])?.iter().map(read).collect()
        })
    }

    fn held_like(&self, path: &CopyPath) -> Result<Vec<HeldResource>, StateError> {
        if !self.may_have(CopyTable::Held)? {
            return Ok(Vec::new());
        }
        let sql = format!("SELECT {COLUMNS}{NAMED}");
        self.read(|session| session.query(&sql, &[&self.copy, &path.key()])?.iter().map(read).collect())
    }

    fn held_aside_at(&self, path: &CopyPath) -> Result<Option<HeldResource>, StateError> {
        if !self.may_have(CopyTable::Held)? {
            return Ok(None);
        }
        let sql = format!("SELECT {COLUMNS} FROM held WHERE copy = $1 AND path = $2 LIMIT 1");
        self.read(|session| {
            session.optional(&sql, &[&self.copy, &path.as_str()])?.as_ref().map(read).transpose()
        })
    }

    fn held_by_path(&self, each: &mut dyn FnMut(HeldResource) -> bool) -> Result<(), StateError> {
        // On a separate connection, because rows are requested as `each` consumes them, which would block other
        // readers.
        let session = Session::open(&self.link.address)?;
        let sql = format!("SELECT {COLUMNS} FROM held WHERE copy = $1 ORDER BY path");
        let walked = session.stream(&sql, &[&self.copy], &mut |row| Ok(each(read(row)?)));
        Ok(walked.map_err(|fault| self.link.error(fault))?)
    }

    fn held_count(&self) -> Result<u64, StateError> {
        self.count("SELECT COUNT(*) FROM held WHERE copy = $1", &[&self.copy])
    }

    fn held_in(&self, sets: &[SetId]) -> Result<u64, StateError> {
        let mask = sets.iter().fold(0, |mask, set| mask | set.mask());
        self.count("SELECT COUNT(*) FROM held WHERE copy = $1 AND sets & $2 <> 0", &[&self.copy, &mask])
    }

    fn held_bytes(&self) -> Result<u64, StateError> {
        self.count("SELECT COALESCE(SUM(length), 0)::bigint FROM held WHERE copy = $1", &[&self.copy])
    }

    fn named(&self) -> Result<RowSet, StateError> {
        let sql = "SELECT next_id FROM copy WHERE id = $1";
        let next = self.read(|session| Ok(session.one(sql, &[&self.copy])?.try_get(0)?))?;
        Ok(RowSet::of_new(next))
    }

    fn meet(
        &self,
        set: SetId,
        named: &mut RowSet,
        part: &mut [Desired],
        each: &mut Meet<'_>,
    ) -> Result<Vec<Uri>, StateError> {
        part.sort_by(|a, b| a.uri.cmp(&b.uri));
        let mut meeting = Meeting::new(set, named, each);
        meet::meet(self, &mut meeting, part)?;
        Ok(meeting.joining())
    }

    fn surplus_after(
        &self,
        set: SetId,
        named: &RowSet,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<HeldResource>, StateError> {
        if self.may_have(CopyTable::Held)? {
            meet::surplus_after(self, set, named, after.unwrap_or_default(), limit)
        } else {
            Ok(Vec::new())
        }
    }
}

/// Inserts or updates rows. No URI may occur twice. The sets of existing rows are extended.
pub(super) fn put(session: &Session, copy: i64, first: i64, run: &[&Operation]) -> Result<(), EngineFault> {
    let then = "DO UPDATE SET sets = h.sets | excluded.sets, length = excluded.length,
         digests = excluded.digests, lastmod = excluded.lastmod, datetime = excluded.datetime, etag = excluded.etag,
         media_type = excluded.media_type, links = excluded.links, path = excluded.path, name = excluded.name, racy = false,
         pack = excluded.pack, \"offset\" = excluded.\"offset\", packed = excluded.packed";
    insert(session, copy, (first, run), then).map(drop)
}

/// Inserts the rows that do not exist yet, and returns the operations about the others. No URI may occur twice.
pub(super) fn put_new<'o>(
    session: &Session,
    copy: i64,
    first: i64,
    run: &[&'o Operation],
) -> Result<Vec<&'o Operation>, EngineFault> {
    let rows = insert(session, copy, (first, run), "DO NOTHING")?;
    if rows.len() == run.len() {
        return Ok(Vec::new());
    }
    let inserted = rows.iter().map(|row| row.try_get(0)).collect::<Result<BTreeSet<&str>, _>>()?;
    let others = run.iter().filter(|operation| !inserted.contains(operation.uri().as_str()));
    Ok(others.copied().collect())
}

/// Inserts rows. `then` says what to do with those that exist. Returns the URIs of the rows that were written.
fn insert(
    session: &Session,
    copy: i64,
    (first, run): (i64, &[&Operation]),
    then: &str,
) -> Result<Vec<Row>, EngineFault> {
    let (mut uris, mut paths, mut names, mut masks) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut all, mut places) = (Vec::new(), Vec::new());
    for operation in run {
        if let Operation::Place { uri, path, key, sets, metadata, place, .. } = operation {
            uris.push(uri.as_str());
            paths.push(path.as_str());
            names.push(key.as_deref());
            masks.push(*sets);
            all.push(metadata);
            places.push(place);
        }
    }
    let PlaceColumns { packs, offsets, packed } = PlaceColumns::of(session, copy, &places)?;
    let columns = MetadataColumns::of(all);
    let lengths: Vec<i64> = columns.length.iter().map(|length| length.unwrap_or_default()).collect();
    let ids: Vec<i64> = (first..).take(uris.len()).collect();
    let sql = format!(
        "INSERT INTO held AS h (copy, uri, id, sets, length, digests, lastmod, datetime, etag, media_type, links, path, name,
         pack, \"offset\", packed)
         SELECT $1::bigint, * FROM unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::text[],
         $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::bigint[], $15::bigint[],
         $16::bigint[])
         ON CONFLICT (copy, uri) {then} RETURNING uri"
    );
    let MetadataColumns { digests, lastmod, datetime, etag, media_type, links, .. } = columns;
    let values: &Values<'_> = &[
        &copy,
        &uris,
        &ids,
        &masks,
        &lengths,
        &digests,
        &lastmod,
        &datetime,
        &etag,
        &media_type,
        &links,
        &paths,
        &names,
        &packs,
        &offsets,
        &packed,
    ];
    session.query(&sql, values)
}

/// Updates the metadata of bytes that are held already: times, validator, media type and links. Length and digests
/// stay.
pub(super) fn refresh(
    session: &Session,
    copy: i64,
    refreshed: &[(Uri, ResourceMetadata)],
) -> Result<(), EngineFault> {
    let sql = "UPDATE held h SET lastmod = COALESCE(n.lastmod, h.lastmod), datetime = COALESCE(n.datetime, h.datetime),
         etag = COALESCE(n.etag, h.etag), media_type = COALESCE(n.media_type, h.media_type),
         links = COALESCE(n.links, h.links)
         FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
         AS n(uri, lastmod, datetime, etag, media_type, links)
         WHERE h.copy = $1 AND h.uri = n.uri";
    let uris: Vec<_> = refreshed.iter().map(|(uri, _)| uri.as_str()).collect();
    let columns = MetadataColumns::of(refreshed.iter().map(|(_, metadata)| metadata));
    let MetadataColumns { lastmod, datetime, etag, media_type, links, .. } = columns;
    session.execute(sql, &[&copy, &uris, &lastmod, &datetime, &etag, &media_type, &links])?;
    Ok(())
}

/// Records if later bytes may have the same last modification as held ones.
pub(super) fn set_racy(
    session: &Session,
    copy: i64,
    racy: &BTreeMap<String, bool>,
) -> Result<(), EngineFault> {
    let sql = "UPDATE held h SET racy = n.racy FROM unnest($2::text[], $3::boolean[]) AS n(uri, racy)
               WHERE h.copy = $1 AND h.uri = n.uri";
    let (uris, flags): (Vec<&str>, Vec<bool>) = racy.iter().map(|(uri, flag)| (uri.as_str(), *flag)).unzip();
    session.execute(sql, &[&copy, &uris, &flags])?;
    Ok(())
}

/// Replaces all links of held resources.
pub(super) fn link(session: &Session, copy: i64, linked: &[(Uri, Vec<Link>)]) -> Result<(), EngineFault> {
    let sql = "UPDATE held h SET links = n.links FROM unnest($2::text[], $3::text[]) AS n(uri, links)
               WHERE h.copy = $1 AND h.uri = n.uri";
    let uris: Vec<_> = linked.iter().map(|(uri, _)| uri.as_str()).collect();
    let links: Vec<_> = linked.iter().map(|(_, links)| codec::links_text(links)).collect();
    session.execute(sql, &[&copy, &uris, &links])?;
    Ok(())
}
