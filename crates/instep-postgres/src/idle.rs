//! Idle connections, kept for a few seconds for the next use. A run needs several connections, one after the other, and
//! opening one costs the server more than all statements of a small Source: it starts a process that reads the system
//! tables.

use std::{
    ops::Deref,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use crate::{address::Address, session::Session, waiting::driver};

/// The time for which an idle connection is kept.
const KEPT: Duration = Duration::from_secs(10);

/// The time between two searches for connections that were idle for [`KEPT`].
const SWEPT: Duration = Duration::from_secs(2);

/// The idle time after which a statement tests a connection before it is used again.
const FRESH: Duration = Duration::from_secs(1);

/// The most idle connections that are kept.
const MOST: usize = 64;

/// While fewer connections than this are in use, a further one is opened at once.
const ENOUGH: usize = 8;

/// The longest wait for one of these connections. A statement takes much less. The wait is limited, because the
/// holder of a connection may itself need another one.
const FOR_ANOTHER: Duration = Duration::from_millis(50);

/// An idle connection, and the time since which it is idle.
struct IdleSession {
    session: Session,
    since: Instant,
}

/// The idle connections of this process.
struct IdleSessions {
    sessions: Vec<IdleSession>,
    /// The number of connections in use.
    used: usize,
    /// `true` while a task closes the connections that are idle for too long.
    is_swept: bool,
}

static IDLE: Mutex<IdleSessions> =
    Mutex::new(IdleSessions { sessions: Vec::new(), used: 0, is_swept: false });

/// Notified whenever a connection is returned.
static FREED: Condvar = Condvar::new();

fn idle() -> MutexGuard<'static, IdleSessions> {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection for a statement or a transaction; the next one has it after that.
#[derive(Debug)]
pub struct PooledSession(Option<Session>);

impl PooledSession {
    pub(crate) fn new(session: Session) -> Self {
        idle().used += 1;
        Self(Some(session))
    }

    /// Closes the connection, so that it is not used again.
    pub fn give_up(mut self) {
        self.0 = None;
    }
}

impl Deref for PooledSession {
    type Target = Session;

    #[expect(clippy::expect_used, reason = "only what consumes it takes the connection away")]
    fn deref(&self) -> &Session {
        self.0.as_ref().expect("a connection")
    }
}

impl Drop for PooledSession {
    fn drop(&mut self) {
        // A panicking thread may leave an open transaction, so its connection is not used again.
        if let Some(session) = self.0.take().filter(|_| !thread::panicking()) {
            keep(session);
        }
        idle().used -= 1;
        FREED.notify_one();
    }
}

/// Returns a connection to the same schema, by the same login, that works; `None` if there is none.
pub(crate) fn take(address: &Address) -> Option<Session> {
    loop {
        let IdleSession { mut session, since } = next(address)?;
        // The address also says when waits end, which depends on the work that the connection is used for.
        session.address = address.clone();
        // The test is not a ROLLBACK: outside a transaction that would write a warning to the server's log each time.
        let is_fresh = since.elapsed() < FRESH;
        if !session.is_closed() && (is_fresh || session.batch("BEGIN; ROLLBACK").is_ok()) {
            return Some(session);
        }
    }
}

/// Takes the idle connection that was used last. If there is none and [`ENOUGH`] are in use, waits shortly for one to
/// become free. `None` if none does.
fn next(address: &Address) -> Option<IdleSession> {
    let is_so = |other: &IdleSession| other.session.address.is_same_schema(address);
    let mut idle = idle();
    if idle.used >= ENOUGH {
        let waits = |idle: &mut IdleSessions| !idle.sessions.iter().any(is_so);
        let waited = FREED.wait_timeout_while(idle, FOR_ANOTHER, waits);
        (idle, _) = waited.unwrap_or_else(PoisonError::into_inner);
    }
    let place = idle.sessions.iter().rposition(is_so)?;
    Some(idle.sessions.remove(place))
}

/// Closes the idle connections to a schema, because the server was lost over another one.
pub(crate) fn forget(address: &Address) {
    idle().sessions.retain(|other| !other.session.address.is_same_schema(address));
}

/// Keeps a connection for the next use.
fn keep(session: Session) {
    let Ok(driver) = driver() else { return };
    if session.is_closed() || !session.is_light() {
        return;
    }
    let mut idle = idle();
    if idle.sessions.len() == MOST {
        return;
    }
    idle.sessions.push(IdleSession { session, since: Instant::now() });
    if !std::mem::replace(&mut idle.is_swept, true) {
        driver.spawn(sweep());
    }
}

/// Closes connections that were idle for [`KEPT`]; ends when none is left.
async fn sweep() {
    loop {
        tokio::time::sleep(SWEPT).await;
        let mut idle = idle();
        idle.sessions.retain(|session| session.since.elapsed() < KEPT);
        if idle.sessions.is_empty() {
            idle.is_swept = false;
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use instep_testkit::PostgresServer;

    use super::*;
    use crate::ServerLink;

    fn process(session: &Session) -> i32 {
        session.one("SELECT pg_backend_pid()", &[]).unwrap().get(0)
    }

    #[test]
    fn o76_a_connection_serves_one_after_the_other_and_only_the_same_schema() {
        let Some(server) = PostgresServer::start() else { return };
        let link = |schema: &str| {
            ServerLink::new(Address::parse(&format!("{}?schema={schema}", server.url())).unwrap())
        };
        let (first, beside) = (link("a"), link("a"));
        let (one, two) = (first.session().unwrap(), beside.session().unwrap());
        let processes = [process(&one), process(&two)];
        assert_ne!(processes[0], processes[1], "both are in use");
        drop((one, two));
        assert!(!processes.contains(&process(&link("b").session().unwrap())));
        let again = link("a").session().unwrap();
        assert!(processes.contains(&process(&again)));
        let panicked = thread::spawn(move || {
            again.batch("BEGIN").unwrap();
            panic!("in the midst of a transaction");
        });
        assert!(panicked.join().is_err());
        let other = link("a").session().unwrap();
        other.batch("VACUUM").unwrap();
        assert!(processes.contains(&process(&other)), "the one that the thread did not have");
        let last = process(&other);
        drop(other);

        server.stop_at_once();
        server.begin();
        assert_ne!(process(&link("a").session().unwrap()), last, "that one is lost");
    }
}
