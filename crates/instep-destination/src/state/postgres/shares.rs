//! Shares of a plan: the right of workers to claim its slices and to commit their results.
//!
//! Every change of a plan first locks the row of its copy: claims, groups, and ends of shares are therefore
//! serialized, and cannot deadlock. A share that has ended, or whose plan is gone, can do nothing more, since each of
//! its transactions begins with its row.

use std::{thread, time::Duration};

use instep_postgres::{EngineFault, PostgresError, ServerLink, Session};

use crate::state::SharerId;

/// The pause between two looks of a run that takes a copy over at the shares of the last run's helpers.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The most looks, which take five seconds: longer than a helper needs to end its transfers and to commit what has
/// arrived. They count only if the database answers, because helpers cannot commit while it does not.
const MOST_LOOKS: u32 = 50;

/// The share of a worker in the plan of a copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShareKey {
    pub(super) copy: i64,
    pub(super) plan: i64,
    pub(super) sharer: SharerId,
}

/// Locks a copy: other changes of its plan wait for the end of the transaction.
pub(super) fn lock(session: &Session, copy: i64) -> Result<(), EngineFault> {
    session.execute("SELECT 1 FROM copy WHERE id = $1 FOR UPDATE", &[&copy]).map(drop)
}

/// Locks a copy whose plan belongs to the run that has it. Returns `false` if there is none: a run that took the copy
/// over, of any version, has another token.
pub(super) fn lock_plan(session: &Session, key: ShareKey) -> Result<bool, EngineFault> {
    let sql = "SELECT 1 FROM copy c JOIN plan p ON p.copy = c.id AND p.token = c.token
               WHERE c.id = $1 AND p.number = $2 FOR UPDATE OF c";
    Ok(session.optional(sql, &[&key.copy, &key.plan])?.is_some())
}

/// Carries out work that may be repeated in one transaction.
pub(super) fn transaction<T>(
    link: &ServerLink,
    work: impl Fn(&Session) -> Result<T, EngineFault>,
) -> Result<T, PostgresError> {
    link.read(|session| {
        session.begin();
        let done = work(session).and_then(|value| Ok(session.batch("COMMIT").map(|()| value)?));
        if done.is_err() {
            // A connection that cannot roll back is lost, and the next attempt uses another one.
            let _ = session.batch("ROLLBACK");
        }
        done
    })
}

/// Removes the plan of a copy, with all shares. The transaction must have locked the copy.
pub(super) fn clear(session: &Session, copy: i64) -> Result<(), EngineFault> {
    for table in ["slice", "share", "failure", "plan"] {
        session.execute(&format!("DELETE FROM {table} WHERE copy = $1"), &[&copy])?;
    }
    Ok(())
}

/// Waits until the workers that help with the plan of an ended run have committed their results, or for 5 s in which the
/// database answers. Results that are not committed when the plan is removed are fetched again.
pub(super) fn wait_for_helpers(link: &ServerLink, copy: i64) -> Result<(), PostgresError> {
    // The ended run had a share too, by the name of its process.
    let helpers = "FROM share s JOIN plan p ON p.copy = s.copy AND p.number = s.plan JOIN copy c ON c.id = s.copy
                   AND c.token = p.token WHERE s.copy = $1 AND NOT s.ended AND s.name IS DISTINCT FROM c.holder";
    let (count, unseal) = (
        format!("SELECT COUNT(*) {helpers}"),
        format!("UPDATE plan SET sealed = false WHERE copy = $1 AND sealed AND EXISTS (SELECT 1 {helpers})"),
    );
    if link.read(|session| session.execute(&unseal, &[&copy]))? == 0 {
        return Ok(());
    }
    for _ in 0..MOST_LOOKS {
        thread::sleep(BETWEEN_LOOKS);
        if link.read(|session| Ok(session.one(&count, &[&copy])?.try_get::<_, i64>(0)?))? == 0 {
            break;
        }
    }
    Ok(())
}

/// Removes the plan that an ended run has left, sealed or not.
pub(super) fn sweep(link: &ServerLink, copy: i64) -> Result<(), PostgresError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM plan WHERE copy = $1)";
    if link.read(|session| Ok(session.one(sql, &[&copy])?.try_get(0)?))? {
        transaction(link, |session| lock(session, copy).and_then(|()| clear(session, copy)))?;
    }
    Ok(())
}

/// Begins a transaction of a share with a number. Returns `false` if the share has this number already, or has ended.
pub(super) fn begin(session: &Session, key: ShareKey, number: i64) -> Result<bool, EngineFault> {
    if !lock_plan(session, key)? {
        return Ok(false);
    }
    let sql = "UPDATE share SET grp = $4::bigint
               WHERE copy = $1 AND plan = $2 AND sharer = $3 AND NOT ended AND grp = $4::bigint - 1";
    Ok(session.execute(sql, &[&key.copy, &key.plan, &key.sharer, &number])? == 1)
}

/// Returns the number of the last transaction of a share; `None` if it has ended.
pub(super) fn last_of(session: &Session, key: ShareKey) -> Result<Option<i64>, EngineFault> {
    let sql = "SELECT s.grp FROM share s JOIN plan p ON p.copy = s.copy AND p.number = s.plan
               JOIN copy c ON c.id = s.copy AND c.token = p.token
               WHERE s.copy = $1 AND s.plan = $2 AND s.sharer = $3 AND NOT s.ended";
    let found = session.optional(sql, &[&key.copy, &key.plan, &key.sharer])?;
    Ok(found.map(|row| row.try_get(0)).transpose()?)
}

/// Ends a share and frees its slices, unless it sent a heartbeat since. Returns `true` if it has ended the share.
pub(super) fn end(link: &ServerLink, key: ShareKey, beat: Option<i64>) -> Result<bool, PostgresError> {
    transaction(link, |session| {
        lock(session, key.copy)?;
        let sql = "UPDATE share SET ended = true WHERE copy = $1 AND plan = $2 AND sharer = $3 AND NOT ended
                   AND beat = COALESCE($4, beat)";
        let has_ended = session.execute(sql, &[&key.copy, &key.plan, &key.sharer, &beat])? == 1;
        if has_ended {
            let sql = "UPDATE slice SET sharer = NULL, claim = NULL WHERE copy = $1 AND sharer = $2";
            session.execute(sql, &[&key.copy, &key.sharer])?;
        }
        Ok(has_ended)
    })
}

/// Returns the error of a share that has ended.
pub(super) fn has_ended(place: &str) -> PostgresError {
    let holder = "a later run, or this worker was removed".to_owned();
    PostgresError::Taken { place: place.to_owned(), holder }
}
