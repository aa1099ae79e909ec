//! Changes of all rows of a Source: another base URL, and other numbers of its sets.

use instep_postgres::{EngineFault, Session};

use crate::catalogue::moves::{CatalogueMove, ON_THE_WAY, renumbered};

/// Makes a change within a transaction of the writing process.
pub(super) fn apply(session: &Session, source: i64, moved: &CatalogueMove) -> Result<(), EngineFault> {
    match moved {
        CatalogueMove::BaseUrl { from, to } => rebase(session, source, from, to),
        CatalogueMove::Sets(moves) => renumber_sets(session, source, moves),
    }
}

fn rebase(session: &Session, source: i64, from: &str, to: &str) -> Result<(), EngineFault> {
    // In two steps, because a resource may get the key or URI that another moving resource still has. The key
    // of a resource that an application or a manifest named contains its URI.
    let keys = "UPDATE resource SET key = '\\xff'::bytea || substring(key for 1) || convert_to($3 || substr(uri, length($2) + 1), 'UTF8')
                WHERE source = $1 AND starts_with(uri, $2) AND substring(key from 2) = convert_to(uri, 'UTF8')";
    session.execute(keys, &[&source, &from, &to])?;
    let arrive =
        "UPDATE resource SET key = substring(key from 2) WHERE source = $1 AND key >= '\\xff'::bytea";
    session.execute(arrive, &[&source])?;
    for (table, on_its_way) in [("resource", ""), ("change", ""), ("memento", " ")] {
        let sql = format!(
            "UPDATE {table} SET uri = '{on_its_way}' || $3 || substr(uri, length($2) + 1)
             WHERE source = $1 AND starts_with(uri, $2)"
        );
        session.execute(&sql, &[&source, &from, &to])?;
    }
    let arrive = "UPDATE memento SET uri = substr(uri, 2) WHERE source = $1 AND starts_with(uri, ' ')";
    session.execute(arrive, &[&source])?;
    // A Source without a name of its own is named after its base URL, which changes now.
    session.execute("UPDATE source SET name = $3 WHERE id = $1 AND name = $2", &[&source, &from, &to])?;
    Ok(())
}

fn renumber_sets(session: &Session, source: i64, moves: &[(u8, u8)]) -> Result<(), EngineFault> {
    let sets = renumbered(moves);
    for table in ["resource", "change"] {
        let sql = format!("UPDATE {table} SET sets = {sets} WHERE source = $1 AND sets <> ({sets})");
        session.execute(&sql, &[&source])?;
    }
    session.execute("DELETE FROM resource WHERE source = $1 AND sets = 0", &[&source])?;
    let leave = "UPDATE tally SET number = number + $2 WHERE source = $1";
    session.execute(leave, &[&source, &ON_THE_WAY])?;
    for (from, to) in moves {
        let arrive = "UPDATE tally SET number = $3 WHERE source = $1 AND number = $2";
        session.execute(arrive, &[&source, &(ON_THE_WAY + i64::from(*from)), &i64::from(*to)])?;
    }
    session.execute("DELETE FROM tally WHERE source = $1 AND number >= $2", &[&source, &ON_THE_WAY])?;
    Ok(())
}
