//! Connections that are free for a moment. A run over a Source opens several, one after the other, and each costs the
//! server more than all statements of a small Source: a process, and its knowledge of the tables.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{address::Address, session::Session, waiting::driver};

/// The time for which a connection waits to be used again.
const KEPT: Duration = Duration::from_secs(10);

/// The most connections that wait.
const MOST: usize = 64;

/// A connection that was used well until a moment.
struct IdleSession {
    address: Address,
    session: Session,
    since: Instant,
}

static IDLE: Mutex<Vec<IdleSession>> = Mutex::new(Vec::new());

fn idle() -> MutexGuard<'static, Vec<IdleSession>> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a working connection to the same schema with the same login; `None` if there is none.
pub(crate) fn take(address: &Address) -> Option<Session> {
    loop {
        let session = {
            let mut idle = idle();
            let place = idle.iter().rposition(|other| other.address.is_same_schema(address))?;
            idle.remove(place).session
        };
        // Checks that the server still answers, and ends a transaction that a panicked thread may have left. A lone
        // ROLLBACK would write a warning to the server's log each time.
        if !session.is_closed() && session.batch("BEGIN; ROLLBACK").is_ok() {
            return Some(session);
        }
    }
}

/// Keeps a connection for a while.
pub(crate) fn keep(address: &Address, session: Session) {
    let Ok(driver) = driver() else { return };
    if session.is_closed() || !session.is_light() {
        return;
    }
    let mut idle = idle();
    if idle.len() == MOST {
        return;
    }
    idle.push(IdleSession { address: address.clone(), session, since: Instant::now() });
    drop(idle);
    driver.spawn(async {
        tokio::time::sleep(KEPT).await;
        self::idle().retain(|session| session.since.elapsed() < KEPT);
    });
}

#[cfg(test)]
mod tests {
    use instep_testkit::PostgresServer;

    use super::*;
    use crate::ServerLink;

    fn process(link: &ServerLink) -> i32 {
        link.read(|session| Ok(session.one("SELECT pg_backend_pid()", &[])?.try_get(0)?)).unwrap()
    }

    #[test]
    fn a_connection_serves_one_after_the_other_and_only_the_same_schema() {
        let Some(server) = PostgresServer::start() else { return };
        let link = |schema: &str| {
            ServerLink::new(Address::parse(&format!("{}?schema={schema}", server.url())).unwrap())
        };
        let (first, beside) = (link("a"), link("a"));
        let (one, two) = (process(&first), process(&beside));
        assert_ne!(one, two, "both are in use");
        // Left by a thread that panicked.
        first.session().unwrap().batch("BEGIN").unwrap();
        drop(first);
        assert_ne!(process(&link("b")), one);
        let again = link("a");
        assert_eq!(process(&again), one);
        again.session().unwrap().batch("VACUUM").unwrap();
        drop((again, beside));

        server.stop_at_once();
        server.begin();
        assert!(![one, two].contains(&process(&link("a"))), "those are lost");
    }
}
