//! Objects in object storage that have the bytes of resources, and the bytes in them that no resource has any more.

use std::collections::{BTreeMap, BTreeSet};

use instep_postgres::{EngineFault, Session};
use instep_store::NameKind;

use super::{PostgresState, copy_table::CopyTable, row};
use crate::{
    map::CopyPath,
    state::{HeldAt, PackTotals, ReadHeld as _, ReadPacks, Repacked, StateError, WritePacks},
};

// Names are found by the index of their beginnings. Before the table has statistics, as in a new database, the primary key
// looks as good, which reads all rows of the copy for each name. Only the order of the beginnings makes it worse.

/// The query that returns `true` if a folder has the name of a path.
pub(super) const IN_FOLDER: &str = "SELECT (SELECT true FROM held WHERE copy = $1
     AND left(COALESCE(name, path), 600) >= left($2, 600) AND left(COALESCE(name, path), 600) <= left($3, 600)
     AND COALESCE(name, path) >= $2 AND COALESCE(name, path) < $3 AND path >= $4 AND path < $5
     ORDER BY left(COALESCE(name, path), 600) LIMIT 1) IS NOT NULL";

/// The query for the paths whose name neither a file nor a folder has. Each is looked up by itself: anti-joins are
/// planned over all rows of the copy when it has statistics, and take 430 µs a name instead of 3.
pub(super) const FREE_NAMES: &str = "SELECT n.path FROM unnest($2::text[], $3::text[]) AS n(path, key)
     LEFT JOIN LATERAL (SELECT true AS is_held FROM held h WHERE h.copy = $1
     AND left(COALESCE(h.name, h.path), 600) >= left(n.key, 600)
     AND left(COALESCE(h.name, h.path), 600) <= left(n.key, 600) AND COALESCE(h.name, h.path) = n.key
     ORDER BY left(COALESCE(h.name, h.path), 600) LIMIT 1) AS file ON true
     LEFT JOIN LATERAL (SELECT true AS is_held FROM held h WHERE h.copy = $1
     AND left(COALESCE(h.name, h.path), 600) >= left(n.key || '/', 600)
     AND left(COALESCE(h.name, h.path), 600) <= left(n.key || '0', 600)
     AND COALESCE(h.name, h.path) >= n.key || '/' AND COALESCE(h.name, h.path) < n.key || '0'
     ORDER BY left(COALESCE(h.name, h.path), 600) LIMIT 1) AS folder ON true
     WHERE file.is_held IS NULL AND folder.is_held IS NULL";

impl ReadPacks for PostgresState {
    fn begun_packs(&self) -> Result<Vec<Box<str>>, StateError> {
        self.pack_keys("bytes IS NULL")
    }

    fn dead_packs(&self) -> Result<Vec<Box<str>>, StateError> {
        self.pack_keys_unless_none("dead >= bytes")
    }

    fn sparse_packs(&self) -> Result<Vec<Box<str>>, StateError> {
        // While workers have slices of a plan, no pack counts as sparse: they may replace the records that would be
        // copied.
        self.pack_keys_unless_none(
            "dead * 2 > bytes AND dead < bytes AND NOT EXISTS (SELECT 1 FROM slice s WHERE s.copy = pack.copy)",
        )
    }

    fn unknown_packs(&self, keys: &[String]) -> Result<Vec<Box<str>>, StateError> {
        let sql = "SELECT n.key FROM unnest($2::text[]) AS n(key)
             WHERE NOT EXISTS (SELECT 1 FROM pack p WHERE p.copy = $1 AND p.key = n.key)";
        self.read(|session| {
            let rows = session.query(sql, &[&self.copy, &keys])?;
            rows.iter().map(|row| Ok(row.try_get::<_, &str>(0)?.into())).collect()
        })
    }

    fn pack_totals(&self) -> Result<PackTotals, StateError> {
        let sql =
            "SELECT COUNT(*), COALESCE(SUM(bytes), 0)::bigint, COALESCE(SUM(LEAST(dead, bytes)), 0)::bigint
                   FROM pack WHERE copy = $1 AND bytes IS NOT NULL";
        self.read(|session| {
            let row = session.one(sql, &[&self.copy])?;
            let (objects, bytes, dead) = (row::count(&row, 0)?, row::count(&row, 1)?, row::count(&row, 2)?);
            Ok(PackTotals { objects, bytes, dead })
        })
    }

    fn kind_at(&self, path: &CopyPath) -> Result<Option<NameKind>, StateError> {
        if let Some(kind) = self.held_like(path)?.iter().find_map(|held| held.kind_shown_at(path)) {
            return Ok(Some(kind));
        }
        if !self.may_have(CopyTable::Held)? {
            return Ok(None);
        }
        // The range from a slash to the byte after it has everything that begins with the path and a slash. The index
        // has the beginnings of names.
        let (from, to) = (format!("{}/", path.key()), format!("{}0", path.key()));
        let (below, behind) = (format!("{}/", path.as_str()), format!("{}0", path.as_str()));
        let is_folder = self.is(IN_FOLDER, &[&self.copy, &from, &to, &below, &behind])?;
        Ok(is_folder.then_some(NameKind::Folder))
    }

    fn foresees_names(&self) -> bool {
        true
    }

    fn free_names(&self, paths: &[&CopyPath]) -> Result<BTreeSet<String>, StateError> {
        if !self.may_have(CopyTable::Held)? {
            return Ok(paths.iter().map(|path| path.as_str().to_owned()).collect());
        }
        let keys: Vec<_> = paths.iter().map(|path| path.key()).collect();
        let paths: Vec<_> = paths.iter().map(|path| path.as_str()).collect();
        self.read(|session| {
            let rows = session.query(FREE_NAMES, &[&self.copy, &paths, &keys])?;
            rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
        })
    }
}

impl WritePacks for PostgresState {
    fn begin_packs(&mut self, keys: &[&str]) -> Result<(), StateError> {
        self.known.iter().for_each(|known| known.note_rows(CopyTable::Pack));
        let sql = "INSERT INTO pack (copy, key) SELECT $1::bigint, * FROM unnest($2::text[])";
        self.write(|session, copy| session.execute(sql, &[&copy, &keys]).map(drop))
    }

    fn forget_packs(&mut self, keys: &[Box<str>]) -> Result<(), StateError> {
        let keys: Vec<&str> = keys.iter().map(|key| &**key).collect();
        let sql = "DELETE FROM pack WHERE copy = $1 AND key = ANY($2)";
        self.write(|session, copy| session.execute(sql, &[&copy, &keys]).map(drop))
    }
}

impl PostgresState {
    /// Returns the objects for which a condition is true. If there were none, nothing is queried until an object loses
    /// a part.
    fn pack_keys_unless_none(&self, condition: &'static str) -> Result<Vec<Box<str>>, StateError> {
        if self.known.as_ref().is_some_and(|known| known.has_no_packs(condition)) {
            return Ok(Vec::new());
        }
        let keys = self.pack_keys(condition)?;
        if let (Some(known), true) = (&self.known, keys.is_empty()) {
            known.note_no_packs(condition);
        }
        Ok(keys)
    }

    fn pack_keys(&self, condition: &str) -> Result<Vec<Box<str>>, StateError> {
        if !self.may_have(CopyTable::Pack)? {
            return Ok(Vec::new());
        }
        let sql = format!("SELECT key FROM pack WHERE copy = $1 AND {condition} ORDER BY id");
        self.read(|session| {
            let rows = session.query(&sql, &[&self.copy])?;
            rows.iter().map(|row| Ok(row.try_get::<_, &str>(0)?.into())).collect()
        })
    }
}

/// Records objects that were put, each with its number of bytes, and parts that were copied from one to another.
pub(super) fn take(
    session: &Session,
    copy: i64,
    put: &[(Box<str>, u64)],
    repacked: &[Repacked],
) -> Result<(), EngineFault> {
    if !put.is_empty() {
        let sql = "UPDATE pack p SET bytes = n.bytes FROM unnest($2::text[], $3::bigint[]) AS n(key, bytes)
                   WHERE p.copy = $1 AND p.key = n.key";
        let (keys, bytes): (Vec<&str>, Vec<i64>) =
            put.iter().map(|(key, bytes)| (&**key, bytes.cast_signed())).unzip();
        session.execute(sql, &[&copy, &keys, &bytes])?;
    }
    if repacked.is_empty() {
        return Ok(());
    }
    let uris: Vec<_> = repacked.iter().map(|one| one.uri.as_str()).collect();
    leave(session, copy, &uris)?;
    settle(session, copy, repacked.iter().map(|one| (one.uri.as_str(), &one.to)))
}

/// Records that the bytes of held resources are no longer used.
pub(super) fn leave(session: &Session, copy: i64, uris: &[&str]) -> Result<(), EngineFault> {
    let sql = "UPDATE pack p SET dead = p.dead + left_over.bytes
         FROM (SELECT h.pack, SUM(h.packed)::bigint AS bytes FROM held h
         WHERE h.copy = $1 AND h.uri = ANY($2) AND h.pack IS NOT NULL GROUP BY h.pack) AS left_over
         WHERE p.copy = $1 AND p.id = left_over.pack";
    session.execute(sql, &[&copy, &uris]).map(drop)
}

/// The places of the bytes of rows, by columns. They are NULL for bytes under their paths.
pub(super) struct PlaceColumns {
    pub(super) packs: Vec<Option<i64>>,
    pub(super) offsets: Vec<Option<i64>>,
    pub(super) packed: Vec<Option<i64>>,
}

impl PlaceColumns {
    /// Returns the columns of places. Each object must be recorded as begun.
    pub(super) fn of(session: &Session, copy: i64, places: &[&HeldAt]) -> Result<Self, EngineFault> {
        let keys: BTreeSet<&str> =
            places.iter().filter_map(|place| object(place)).map(|(key, ..)| key).collect();
        let mut known = BTreeMap::new();
        if !keys.is_empty() {
            let keys: Vec<_> = keys.into_iter().collect();
            let sql = "SELECT key, id FROM pack WHERE copy = $1 AND key = ANY($2)";
            for row in session.query(sql, &[&copy, &keys])? {
                known.insert(row.try_get::<_, String>(0)?, row.try_get::<_, i64>(1)?);
            }
        }
        let mut columns = Self { packs: Vec::new(), offsets: Vec::new(), packed: Vec::new() };
        for place in places {
            let (pack, offset, packed) = match object(place) {
                Some((key, offset, length)) => {
                    let unknown = || EngineFault::Value(format!("the object {key} was not begun"));
                    let pack = known.get(key).copied().ok_or_else(unknown)?;
                    (Some(pack), Some(offset), Some(length))
                }
                None => (None, None, None),
            };
            columns.packs.push(pack);
            columns.offsets.push(offset);
            columns.packed.push(packed);
        }
        Ok(columns)
    }
}

/// Returns the key of the object that has the bytes of a resource, their offset and their number.
fn object(place: &HeldAt) -> Option<(&str, i64, i64)> {
    match place {
        HeldAt::Object { key, offset, length } => Some((key, offset.cast_signed(), length.cast_signed())),
        HeldAt::Path => None,
    }
}

/// Records the places of the bytes of rows.
fn settle<'a>(
    session: &Session,
    copy: i64,
    places: impl Iterator<Item = (&'a str, &'a HeldAt)>,
) -> Result<(), EngineFault> {
    let (mut uris, mut keys, mut offsets, mut lengths) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (uri, (key, offset, length)) in places.filter_map(|(uri, place)| Some((uri, object(place)?))) {
        uris.push(uri);
        keys.push(key);
        offsets.push(offset);
        lengths.push(length);
    }
    if uris.is_empty() {
        return Ok(());
    }
    let sql = "UPDATE held h SET pack = p.id, \"offset\" = n.first, packed = n.bytes
         FROM unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[]) AS n(uri, key, first, bytes)
         JOIN pack p ON p.copy = $1 AND p.key = n.key WHERE h.copy = $1 AND h.uri = n.uri";
    session.execute(sql, &[&copy, &uris, &keys, &offsets, &lengths]).map(drop)
}
