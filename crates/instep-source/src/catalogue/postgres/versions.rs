//! The versions of resources in the database.

use std::collections::BTreeMap;

use instep_postgres::{EngineFault, Session};
use resourcesync::{DateTime, Digests, Uri};

use super::row::{StateArrays, damaged, read_state};
use crate::catalogue::{
    Keep, ResourceState, ResourceVersion,
    codec::{SharedTypes, read_digests, write_digests},
};

pub(super) fn of(session: &Session, source: i64, uri: &Uri) -> Result<Vec<ResourceVersion>, EngineFault> {
    let sql = "SELECT datetime, gone, lastmod, length, digests, media_type, encoding, changefreq, links
               FROM memento WHERE source = $1 AND md5(uri) = md5($2) AND uri = $2 ORDER BY datetime";
    let mut types = SharedTypes::default();
    let mut read = |row: &tokio_postgres::Row| {
        let gone: bool = row.try_get(1)?;
        let state = if gone { None } else { Some(read_state(row, 2, uri, &mut types)?) };
        Ok(ResourceVersion::new(DateTime::from_unix_micros(row.try_get(0)?), state))
    };
    session.query(sql, &[&source, &uri.as_str()])?.iter().map(&mut read).collect()
}

pub(super) fn since(
    session: &Session,
    source: i64,
    uris: &[&Uri],
) -> Result<Vec<Option<DateTime>>, EngineFault> {
    let sql = "SELECT (SELECT max(v.datetime) FROM memento v
                       WHERE v.source = $1 AND md5(v.uri) = md5(wanted.uri) AND v.uri = wanted.uri)
               FROM unnest($2::text[]) WITH ORDINALITY AS wanted(uri, number) ORDER BY wanted.number";
    let uris: Vec<&str> = uris.iter().map(|uri| uri.as_str()).collect();
    let rows = session.query(sql, &[&source, &uris])?;
    rows.iter().map(|row| Ok(row.try_get::<_, Option<i64>>(0)?.map(DateTime::from_unix_micros))).collect()
}

/// Adds versions, and removes versions of the same resources that are too many or too old. Returns the digests of the
/// removed ones.
pub(super) fn keep(
    session: &Session,
    source: i64,
    versions: &[(Uri, ResourceVersion)],
    keep: Keep,
) -> Result<Vec<Digests>, EngineFault> {
    let gone = ResourceState::new();
    let uris: Vec<&str> = versions.iter().map(|(uri, _)| uri.as_str()).collect();
    let datetimes: Vec<i64> = versions.iter().map(|(_, version)| version.datetime.unix_micros()).collect();
    let are_gone: Vec<bool> = versions.iter().map(|(_, version)| version.state.is_none()).collect();
    let states = StateArrays::of(versions.iter().map(|(_, version)| version.state.as_ref().unwrap_or(&gone)));
    let sql = "INSERT INTO memento (source, uri, datetime, gone, lastmod, length, digests, media_type, encoding, changefreq,
               links)
               SELECT $1, * FROM unnest($2::text[], $3::bigint[], $4::boolean[], $5::text[], $6::bigint[], $7::bytea[],
               $8::text[], $9::text[], $10::text[], $11::text[]) ON CONFLICT DO NOTHING";
    session.execute(sql, &states.between(&[&source, &uris, &datetimes, &are_gone], &[]))?;
    drop_surplus(session, source, &uris, keep)
}

fn drop_surplus(
    session: &Session,
    source: i64,
    uris: &[&str],
    keep: Keep,
) -> Result<Vec<Digests>, EngineFault> {
    let sql =
        "SELECT uri, datetime FROM memento WHERE source = $1 AND md5(uri) IN (SELECT md5(unnest($2::text[])))
               AND uri = ANY($2) ORDER BY uri, datetime";
    let mut kept: BTreeMap<String, Vec<DateTime>> = BTreeMap::new();
    for row in session.query(sql, &[&source, &uris])? {
        let datetime = DateTime::from_unix_micros(row.try_get(1)?);
        kept.entry(row.try_get(0)?).or_default().push(datetime);
    }
    let (mut names, mut lasts) = (Vec::new(), Vec::new());
    for (uri, datetimes) in &kept {
        if let Some(last) = keep.leaving(datetimes).checked_sub(1) {
            names.push(uri.as_str());
            lasts.push(datetimes[last].unix_micros());
        }
    }
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let sql = "DELETE FROM memento v USING unnest($2::text[], $3::bigint[]) AS leaving(uri, last)
               WHERE v.source = $1 AND md5(v.uri) = md5(leaving.uri) AND v.uri = leaving.uri
               AND v.datetime <= leaving.last RETURNING v.gone, v.digests, v.uri";
    let mut dropped = Vec::new();
    for row in session.query(sql, &[&source, &names, &lasts])? {
        if !row.try_get::<_, bool>(0)? {
            let digests =
                row.try_get::<_, Option<&[u8]>>(1)?.map_or_else(|| Some(Digests::new()), read_digests);
            dropped.push(digests.ok_or_else(|| damaged("digests", row.get(2)))?);
        }
    }
    Ok(dropped)
}

/// Returns the digests that no version has.
pub(super) fn unreferenced(
    session: &Session,
    source: i64,
    digests: &[Digests],
) -> Result<Vec<Digests>, EngineFault> {
    let stored: Vec<Vec<u8>> = digests.iter().map(write_digests).collect();
    let sql = "SELECT EXISTS (SELECT 1 FROM memento v
                   WHERE v.source = $1 AND md5(v.digests) = md5(asked.digests) AND v.digests = asked.digests)
               FROM unnest($2::bytea[]) WITH ORDINALITY AS asked(digests, number) ORDER BY asked.number";
    let rows = session.query(sql, &[&source, &stored])?;
    let mut unreferenced = Vec::new();
    for (row, digests) in rows.iter().zip(digests) {
        if !row.try_get::<_, bool>(0)? {
            unreferenced.push(digests.clone());
        }
    }
    Ok(unreferenced)
}
