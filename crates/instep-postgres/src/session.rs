//! A connection to the server of a state, used from threads that block.

use std::{
    collections::BTreeMap,
    future::poll_fn,
    pin::{Pin, pin},
    sync::{Mutex, PoisonError},
    task::{Context, Poll, Waker},
    time::{Duration, Instant},
};

use futures_util::StreamExt as _;
use tokio::{task::unconstrained, time::sleep};
use tokio_postgres::{Client, Row, RowStream, Statement, types::ToSql};

use crate::{
    address::{Address, LAST_WAIT},
    error::{EngineFault, PostgresError},
    form::TablesForm,
    hosts::connect,
    tls,
    waiting::{driver, wait, wait_while},
};

/// The driver of a connection: sends requests and receives answers while it is polled, and ends with the connection.
type MessageCarrier = Pin<Box<dyn Future<Output = Result<(), tokio_postgres::Error>> + Send>>;

/// The values of the parameters `$1`, `$2` ... of a statement.
pub type Values<'a> = [&'a (dyn ToSql + Sync)];

/// The most prepared statements with which a connection is kept for another use: the server keeps memory for each.
const MOST_STATEMENTS: usize = 256;

/// The time for which the form of the tables counts as known. Many runs a second over small Sources would read it again
/// and again.
const KNOWN: Duration = Duration::from_secs(1);

/// The time after which the server ends a connection that does nothing within a transaction, in its words. The server hears
/// nothing of a machine that has failed or hangs: the locks of that transaction would hold all others up for two hours. It is
/// shorter than the time after which a process counts as dead, so that whoever removes it need not wait for its locks.
const MOST_IDLE: &str = "10s";

/// A connection, with the statements that it has prepared.
pub struct Session {
    /// The server and the schema.
    pub(crate) address: Address,
    client: Client,
    /// The driver of the connection; `None` after the connection was lost. The caller that waits for an answer polls it: a
    /// separate task for it would wake two more threads for each statement.
    carrier: Mutex<Option<MessageCarrier>>,
    statements: Mutex<BTreeMap<String, Statement>>,
    /// The form of the tables in the schema, and when it was read.
    form: Mutex<Option<(TablesForm, Instant)>>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("is_closed", &self.is_closed()).finish_non_exhaustive()
    }
}

impl Session {
    /// Connects.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub fn open(address: &Address) -> Result<Self, PostgresError> {
        let place = || address.shown.clone();
        let unreachable =
            |source: std::io::Error| PostgresError::Unreachable { place: place(), source: source.into() };
        let tls = tls::connector(&address.trust).map_err(|what| PostgresError::Url { what })?;
        let driver = driver().map_err(unreachable)?;
        let (config, ending, within) = (address.config.clone(), address.ending.clone(), address.opens_within);
        let connecting = async move {
            // Work that is to end may still need a connection for its last commit, which a server that is there opens soon.
            let last = async {
                ending.cancelled().await;
                sleep(LAST_WAIT).await;
            };
            tokio::select! {
                connected = connect(&config, tls, within) => connected,
                () = last => None,
            }
        };
        // One whose processes hang, or something else that listens there.
        let silent = "it takes connections and does not answer";
        let (client, connection) = wait(driver.spawn(connecting))
            .map_err(|error| unreachable(std::io::Error::other(error)))?
            .ok_or_else(|| unreachable(std::io::Error::new(std::io::ErrorKind::TimedOut, silent)))?
            .map_err(|error| PostgresError::of(&address.shown, error))?;
        let carrier = Mutex::new(Some(Box::pin(connection) as MessageCarrier));
        let (statements, form) = (Mutex::default(), Mutex::default());
        let session = Self { address: address.clone(), client, carrier, statements, form };
        // Commits must be durable when they return (`synchronous_commit`), because later groups rely on earlier ones. Every
        // statement names one owner and has one good plan, so the server makes that plan at once and compiles none
        // (`plan_cache_mode`, `jit`). An engine that lacks one of these settings is left as it is.
        let settings = format!(
            "SET search_path TO {}; SET client_min_messages TO warning;
             SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
             SELECT set_config(name, value, false) FROM (VALUES ('plan_cache_mode', 'force_generic_plan'), ('jit', 'off'))
             AS wanted (name, value) WHERE current_setting(name, true) <> value;
             SELECT set_config(name, '{MOST_IDLE}', false) FROM (VALUES ('idle_in_transaction_session_timeout'))
             AS wanted (name) WHERE current_setting(name, true) = '0'",
            quoted(&address.schema)
        );
        session.batch(&settings).map_err(|error| PostgresError::of(&address.shown, error))?;
        Ok(session)
    }

    /// Waits for an answer; if the work is to end, only as long as for a connection.
    fn wait<F: Future>(&self, answer: F) -> F::Output {
        let mut answer = pin!(answer);
        // Held until the answer is there, so that each arrival wakes one thread only.
        let mut carrier = self.carrier.lock().unwrap_or_else(PoisonError::into_inner);
        // tokio limits how often a task may read before it must yield. A caller that blocks cannot yield, so the limit is
        // lifted.
        let answered = unconstrained(poll_fn(|context| {
            // First the request is queued, then the driver sends it. An answer that the driver receives wakes this thread,
            // which polls again.
            let answered = answer.as_mut().poll(context);
            if answered.is_pending() {
                carry(&mut carrier, context);
            }
            answered
        }));
        let (ending, within, mut ends_since) = (&self.address.ending, self.address.opens_within, None);
        let may_wait =
            || !ending.is_cancelled() || ends_since.get_or_insert_with(Instant::now).elapsed() < within;
        if let Some(answer) = wait_while(answered, may_wait) {
            return answer;
        }
        // The processes of the server hang. Without the driver the answer is that the connection is closed.
        *carrier = None;
        wait(answer)
    }

    /// Begins a transaction. The request is sent together with the next statement, which fails if this one fails.
    pub fn begin(&self) {
        let mut begun = pin!(self.client.batch_execute("BEGIN ISOLATION LEVEL READ COMMITTED"));
        // Polled once, which queues the request. Its answer is not awaited.
        let _ = begun.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }

    /// Begins a transaction that shows one moment, and in which its reader may pause.
    ///
    /// # Errors
    /// If the server fails.
    pub fn begin_moment(&self) -> Result<(), tokio_postgres::Error> {
        self.batch("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY")?;
        self.allow_pauses()
    }

    /// Lets the present transaction pause for as long as the work in it does, which may wait for a pipe. It must not have locks
    /// that others need.
    ///
    /// # Errors
    /// If the server fails.
    pub fn allow_pauses(&self) -> Result<(), tokio_postgres::Error> {
        self.batch(&format!(
            "SELECT set_config(name, '0', true) FROM (VALUES ('idle_in_transaction_session_timeout'))
             AS wanted (name) WHERE current_setting(name, true) = '{MOST_IDLE}'"
        ))
    }

    /// Runs statements without results.
    ///
    /// # Errors
    /// If one fails; those before it stay, unless they are part of a transaction.
    pub fn batch(&self, sql: &str) -> Result<(), tokio_postgres::Error> {
        self.wait(self.client.batch_execute(sql))
    }

    /// Returns the rows of a statement, which is prepared once.
    ///
    /// # Errors
    /// If the statement fails, or the connection is lost.
    pub fn query(&self, sql: &str, values: &Values<'_>) -> Result<Vec<Row>, EngineFault> {
        let statement = self.prepared(sql)?;
        Ok(self.wait(self.client.query(&statement, values))?)
    }

    /// Returns the one row of a statement.
    ///
    /// # Errors
    /// If the statement fails, or the connection is lost.
    pub fn one(&self, sql: &str, values: &Values<'_>) -> Result<Row, EngineFault> {
        let statement = self.prepared(sql)?;
        Ok(self.wait(self.client.query_one(&statement, values))?)
    }

    /// Returns the row of a statement that may have none.
    ///
    /// # Errors
    /// If the statement fails, or the connection is lost.
    pub fn optional(&self, sql: &str, values: &Values<'_>) -> Result<Option<Row>, EngineFault> {
        let statement = self.prepared(sql)?;
        Ok(self.wait(self.client.query_opt(&statement, values))?)
    }

    /// Runs a statement; returns how many rows it touched.
    ///
    /// # Errors
    /// If the statement fails, or the connection is lost.
    pub fn execute(&self, sql: &str, values: &Values<'_>) -> Result<u64, EngineFault> {
        let statement = self.prepared(sql)?;
        Ok(self.wait(self.client.execute(&statement, values))?)
    }

    /// Passes the rows of a statement to `each` as they come, until it returns `false`.
    ///
    /// # Errors
    /// If the statement or `each` fails, or the connection is lost.
    pub fn stream(
        &self,
        sql: &str,
        values: &Values<'_>,
        each: &mut dyn FnMut(&Row) -> Result<bool, EngineFault>,
    ) -> Result<(), EngineFault> {
        let statement = self.prepared(sql)?;
        let rows: RowStream = self.wait(self.client.query_raw(&statement, values.iter().copied()))?;
        let mut rows = pin!(rows);
        while let Some(row) = self.wait(rows.next()) {
            if !each(&row?)? {
                break;
            }
        }
        Ok(())
    }

    /// Returns the form of the tables, if it was read just now.
    pub(crate) fn form(&self) -> Option<TablesForm> {
        let known = *self.form.lock().unwrap_or_else(PoisonError::into_inner);
        known.filter(|(_, since)| since.elapsed() < KNOWN).map(|(form, _)| form)
    }

    /// Remembers the form of the tables that was just read; `None` forgets it, because it may have changed.
    pub(crate) fn note_form(&self, form: Option<TablesForm>) {
        *self.form.lock().unwrap_or_else(PoisonError::into_inner) = form.map(|form| (form, Instant::now()));
    }

    /// Returns `true` if the connection has few prepared statements, so that it may be kept for another use.
    pub(crate) fn is_light(&self) -> bool {
        self.statements.lock().unwrap_or_else(PoisonError::into_inner).len() < MOST_STATEMENTS
    }

    /// Returns `true` if the connection is lost.
    pub fn is_closed(&self) -> bool {
        // The end of the connection may have arrived since the last statement.
        if let Ok(mut carrier) = self.carrier.try_lock() {
            carry(&mut carrier, &mut Context::from_waker(Waker::noop()));
        }
        self.client.is_closed()
    }

    fn prepared(&self, sql: &str) -> Result<Statement, EngineFault> {
        let known = |statements: &BTreeMap<String, Statement>| statements.get(sql).cloned();
        if let Some(statement) = known(&self.statements.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(statement);
        }
        let statement = self.wait(self.client.prepare(sql))?;
        let mut statements = self.statements.lock().unwrap_or_else(PoisonError::into_inner);
        statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let carrier = self.carrier.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The driver closes the connection when its client is gone, which is dropped after this.
        if let (Some(carrier), Ok(driver)) = (carrier.take(), driver()) {
            driver.spawn(carrier);
        }
    }
}

/// Sends and receives as much as is possible now.
fn carry(carrier: &mut Option<MessageCarrier>, context: &mut Context<'_>) {
    if let Some(connection) = carrier
        && let Poll::Ready(ended) = connection.as_mut().poll(context)
    {
        if let Err(error) = ended {
            tracing::debug!(%error, "a connection to the database ended");
        }
        // This also drops the receiver of requests, so the client reports that it is closed.
        *carrier = None;
    }
}

/// Returns a name as an identifier of SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use instep_testkit::PostgresServer;
    use tokio::runtime::Builder;

    use super::*;

    #[test]
    fn a_task_may_ask_as_often_as_it_likes() {
        let Some(server) = PostgresServer::start() else { return };
        let session = Session::open(&Address::parse(&server.url()).unwrap()).unwrap();
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        // A task has 128 reads before it must pause, and it cannot pause while it waits for the server.
        let sum: i64 = runtime.block_on(async {
            (0..1_000_i64)
                .map(|number| session.one("SELECT $1::bigint", &[&number]).unwrap().get::<_, i64>(0))
                .sum()
        });
        assert_eq!(sum, 499_500);
        let mut rows = 0;
        let all = session.stream("SELECT generate_series(1, 1000)", &[], &mut |_| {
            rows += 1;
            Ok(rows < 10)
        });
        all.unwrap();
        assert_eq!((rows, session.one("SELECT 7", &[]).unwrap().get::<_, i32>(0)), (10, 7));
    }

    #[test]
    fn o741_a_machine_that_stands_still_within_a_transaction_keeps_its_locks_for_seconds_only() {
        let Some(server) = PostgresServer::start() else { return };
        let open = || Session::open(&Address::parse(&server.url()).unwrap()).unwrap();
        let (still, other) = (open(), open());
        still.begin();
        still.batch("SELECT pg_advisory_xact_lock(741)").unwrap();
        // The server refuses the lock after a minute, so that this test ends.
        other.batch("SET lock_timeout TO '60s'; SELECT pg_advisory_lock(741)").unwrap();
        assert!(still.batch("COMMIT").is_err() && still.is_closed(), "its transaction was ended");
    }

    #[test]
    fn o741_a_transaction_whose_reader_may_pause_is_not_ended() {
        let Some(server) = PostgresServer::start() else { return };
        let session = Session::open(&Address::parse(&server.url()).unwrap()).unwrap();
        let limit = || {
            let sql = "SELECT current_setting('idle_in_transaction_session_timeout')";
            session.one(sql, &[]).unwrap().get::<_, String>(0)
        };
        session.begin();
        assert_eq!(limit(), MOST_IDLE);
        session.allow_pauses().unwrap();
        assert_eq!(limit(), "0");
        session.batch("COMMIT").unwrap();
        assert_eq!(limit(), MOST_IDLE, "the next transaction has the limit again");
        session.begin_moment().unwrap();
        assert_eq!(limit(), "0");
        session.batch("ROLLBACK").unwrap();
        // The limit of an operator stays.
        session.batch("SET idle_in_transaction_session_timeout TO '5s'").unwrap();
        session.begin_moment().unwrap();
        assert_eq!(limit(), "5s");
    }

    #[test]
    fn o465_a_server_that_takes_a_connection_and_says_nothing_counts_as_lost() {
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("postgres://me@{}/copies", silent.local_addr().unwrap());
        let mut address = Address::parse(&url).unwrap();
        address.opens_within = Duration::from_millis(100);
        let failure = Session::open(&address).unwrap_err();
        assert!(failure.may_pass(), "{failure}");
    }

    #[test]
    fn o533_a_host_that_takes_a_connection_and_says_nothing_does_not_hide_the_next_one() {
        let bind = || std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let silent = bind();
        // Nothing listens at a port that was just given back.
        let closed = bind().local_addr().unwrap();
        let mut address =
            Address::parse(&format!("postgres://me@{},{closed}/d", silent.local_addr().unwrap())).unwrap();
        address.opens_within = Duration::from_millis(100);
        let failure = Session::open(&address).unwrap_err();
        assert!(failure.may_pass(), "{failure}");
        let reason = failure.into_reason().to_string();
        assert!(!reason.contains("does not answer"), "the second host refuses: {reason}");
    }

    #[test]
    fn o743_a_host_that_does_not_answer_is_not_waited_for_by_each_connection() {
        let Some(server) = PostgresServer::start() else { return };
        let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let hosts = format!("{},127.0.0.1:{}", silent.local_addr().unwrap(), server.port());
        let mut address = Address::parse(&format!("postgres://instep@{hosts}/copies")).unwrap();
        address.opens_within = Duration::from_secs(3);
        for _ in 0..3 {
            Session::open(&address).unwrap();
        }
        silent.set_nonblocking(true).unwrap();
        assert_eq!(std::iter::from_fn(|| silent.accept().ok()).count(), 1);
    }

    #[test]
    fn o544_work_that_is_to_end_does_not_wait_for_an_answer_for_ever() {
        use std::io::{Read as _, Write as _};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("postgres://me@{}/d?sslmode=disable", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4_096];
            // It answers the login and the settings, and then it hangs.
            for answer in [&b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I"[..], b"Z\0\0\0\x05I"] {
                assert!(stream.read(&mut request).unwrap() > 0);
                stream.write_all(answer).unwrap();
            }
            while stream.read(&mut request).is_ok_and(|read| read > 0) {}
        });
        let ending = tokio_util::sync::CancellationToken::new();
        let mut address = Address::parse(&url).unwrap().until(ending.clone());
        address.opens_within = Duration::from_millis(500);
        let session = Session::open(&address).unwrap();
        ending.cancel();
        let error = session.batch("SELECT 1").unwrap_err();
        assert!(error.is_closed(), "{error:?}");
        drop(session);
        server.join().unwrap();
    }
}
