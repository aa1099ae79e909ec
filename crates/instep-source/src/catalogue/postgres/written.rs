//! Statements that write many rows, with one array per column.

use std::os::unix::ffi::OsStrExt as _;

use instep_postgres::{EngineFault, Session};
use resourcesync::Uri;

use super::row::StateArrays;
use crate::catalogue::{FileStamp, Resource, ResourceState, columns::resource_columns};

/// An entry of the change log that is to be written.
pub(super) struct LogLine {
    pub(super) sequence: i64,
    pub(super) datetime: i64,
    pub(super) kind: i64,
    pub(super) sets: i64,
    pub(super) uri: Uri,
    pub(super) before: Option<Vec<u8>>,
    pub(super) state: ResourceState,
}

/// Inserts rows, or replaces those that exist.
pub(super) fn write_resources(
    session: &Session,
    source: i64,
    resources: &[&Resource],
) -> Result<(), EngineFault> {
    let stamp = |of: fn(&FileStamp) -> i64| -> Vec<Option<i64>> {
        resources.iter().map(|resource| resource.stamp.as_ref().map(of)).collect()
    };
    let keys: Vec<&[u8]> = resources.iter().map(|resource| resource.key.as_slice()).collect();
    let (lengths, mtimes) = (stamp(|it| it.length.cast_signed()), stamp(|it| it.mtime_ns));
    let (ctimes, inodes) = (stamp(|it| it.ctime_ns), stamp(|it| it.inode.cast_signed()));
    let rehashes: Vec<bool> = resources.iter().map(|resource| resource.rehash).collect();
    let sets: Vec<i64> = resources.iter().map(|resource| resource.sets.cast_signed()).collect();
    let uris: Vec<&str> = resources.iter().map(|resource| resource.uri.as_str()).collect();
    let states = StateArrays::of(resources.iter().map(|resource| &resource.state));
    let files: Vec<Option<&[u8]>> =
        resources.iter().map(|it| it.file.as_ref().map(|file| file.as_os_str().as_bytes())).collect();
    let since: Vec<i64> =
        resources.iter().map(|it| it.history.since.map_or(0, |since| since.unix_micros())).collect();
    let changes: Vec<i64> = resources.iter().map(|it| it.history.changes.cast_signed()).collect();
    let sql = concat!(
        "INSERT INTO resource (source, ",
        resource_columns!(),
        ") SELECT $1, * FROM unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[], $7::boolean[],
         $8::bigint[], $9::text[], $10::text[], $11::bigint[], $12::bytea[], $13::text[], $14::text[], $15::text[],
         $16::text[], $17::bytea[], $18::bigint[], $19::bigint[])
         ON CONFLICT (source, key) DO UPDATE SET
         file_length = excluded.file_length, mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns,
         inode = excluded.inode, rehash = excluded.rehash, sets = excluded.sets, uri = excluded.uri,
         lastmod = excluded.lastmod, length = excluded.length, digests = excluded.digests,
         media_type = excluded.media_type, encoding = excluded.encoding, changefreq = excluded.changefreq,
         links = excluded.links, file = excluded.file, since = excluded.since, changes = excluded.changes"
    );
    session.execute(
        sql,
        &states.between(
            &[&source, &keys, &lengths, &mtimes, &ctimes, &inodes, &rehashes, &sets, &uris],
            &[&files, &since, &changes],
        ),
    )?;
    Ok(())
}

/// Adds entries to the change log.
pub(super) fn write_lines(session: &Session, source: i64, lines: &[LogLine]) -> Result<(), EngineFault> {
    let numbers = |of: fn(&LogLine) -> i64| -> Vec<i64> { lines.iter().map(of).collect() };
    let uris: Vec<&str> = lines.iter().map(|line| line.uri.as_str()).collect();
    let states = StateArrays::of(lines.iter().map(|line| &line.state));
    let before: Vec<Option<&[u8]>> = lines.iter().map(|line| line.before.as_deref()).collect();
    let sql = "INSERT INTO change (source, sequence, datetime, kind, sets, uri, lastmod, length, digests, media_type, encoding,
               changefreq, links, before)
               SELECT $1, * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[],
               $8::bigint[], $9::bytea[], $10::text[], $11::text[], $12::text[], $13::text[], $14::bytea[])";
    session.execute(
        sql,
        &states.between(
            &[
                &source,
                &numbers(|line| line.sequence),
                &numbers(|line| line.datetime),
                &numbers(|line| line.kind),
                &numbers(|line| line.sets),
                &uris,
            ],
            &[&before],
        ),
    )?;
    Ok(())
}
