//! The record in a database of PostgreSQL, for a fleet that several processes keep together.

mod tables;

use std::{
    cell::Cell,
    collections::VecDeque,
    time::{Duration, Instant},
};

use instep_postgres::{Address, EngineFault, PostgresError, ServerLink, Session};
use tokio_postgres::{
    Row,
    types::{ToSql, Type},
};

use super::engine::{Field, FieldRow, RecordEngine, RecordWork, Statements, WrittenByOthers};
use crate::FleetError;
pub(super) use tables::TABLES;

/// The ending of the schema, beside that of the copies.
pub(super) const SCHEMA: &str = "_fleet";

/// The longest wait for a server in one call. The process tries again by itself, and must be able to end.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// The time after a failed call in which a process that is to end makes no other one.
const LOST_FOR: Duration = Duration::from_secs(5);

/// The time for which changes are read again: a transaction may be committed later than one with a larger number.
const OVERLAP: Duration = Duration::from_secs(5);

/// The time between two counts of the Sources, each of which reads a row of every one.
const COUNTED: Duration = Duration::from_secs(5);

/// The time after which everything is read again, for transactions that took longer than that.
const ALL_AGAIN: Duration = Duration::from_secs(60);

/// The record in a database.
#[derive(Debug)]
pub(super) struct RecordServer {
    link: ServerLink,
    /// The time of the last reading of everything; `None` before the first.
    all: Option<Instant>,
    /// The time of the last count.
    counted: Instant,
    /// The largest number that was seen, at several times.
    seen: VecDeque<(Instant, i64)>,
    /// The time at which the server was lost while the process was to end; `None` if it was not.
    lost: Cell<Option<Instant>>,
}

impl RecordServer {
    /// Opens the record beside the states of the copies at a URL. If `makes` is `true`, missing tables are created.
    pub(super) fn open(url: &str, makes: bool) -> Result<Self, FleetError> {
        let address = Address::parse(url)?;
        if address.copy.is_some() || address.source.is_some() {
            // Refused and not ignored, because the operator would expect another fleet than the one that is found.
            let what = "a fleet names its copies itself: leave copy= and source= out of the URL of its state";
            return Err(FleetError::Usage { what: what.to_owned() });
        }
        let address = address.beside(SCHEMA)?;
        let link = ServerLink::waiting_at_most(address, LONGEST_WAIT);
        let session = link.session()?;
        if makes {
            TABLES.migrate(&session, &link.address)?
        } else {
            TABLES.check(&session, &link.address).map_err(|error| match error {
                PostgresError::Missing { place } => FleetError::NoFleet { place },
                error => error.into(),
            })?
        }
        drop(session);
        let (counted, lost) = (Instant::now(), Cell::new(None));
        Ok(Self { link, all: None, counted, seen: VecDeque::new(), lost })
    }

    /// Makes a call. If the process is to end and the server was just lost, none is made: each of many looks would wait for
    /// the server once more.
    fn call<T>(&self, call: impl FnOnce() -> Result<T, FleetError>) -> Result<T, FleetError> {
        let address = &self.link.address;
        if self.lost.get().is_some_and(|since| since.elapsed() < LOST_FOR) {
            let source = "it did not answer a moment ago".into();
            return Err(PostgresError::Unreachable { place: address.shown.clone(), source }.into());
        }
        let done = call();
        if address.is_to_end() && done.as_ref().is_err_and(FleetError::may_pass) {
            self.lost.set(Some(Instant::now()));
        }
        done
    }

    /// Carries out a transaction, again if the connection is lost meanwhile.
    fn repeated(&self, work: &mut RecordWork<'_>) -> Result<(), FleetError> {
        let place = &self.link.address.shown;
        let failed = |error| PostgresError::of(place, error);
        let mut retries = self.link.retries();
        loop {
            let mut attempt = || {
                let session = self.link.session()?;
                session.begin();
                let statements = SessionStatements { session: &session, place };
                match work(&statements) {
                    Ok(()) => match session.batch("COMMIT") {
                        Ok(()) => Ok(()),
                        Err(error) => {
                            session.give_up();
                            Err(failed(error).into())
                        }
                    },
                    Err(error) => {
                        // If the rollback fails, the connection is not used again; closing it ends the transaction.
                        if session.batch("ROLLBACK").is_err() {
                            session.give_up();
                        }
                        Err(error)
                    }
                }
            };
            match attempt() {
                Ok(()) => return Ok(()),
                // A commit without an answer is repeated too, because every piece of work may be carried out twice.
                Err(FleetError::Postgres(failure)) => {
                    retries.wait_after(failure)?;
                    self.link.give_up();
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Statements over one connection.
struct SessionStatements<'s> {
    session: &'s Session,
    place: &'s str,
}

fn own(sql: &str) -> String {
    // The weakest lock that is enough, so that heartbeats, claims and requests for seats of one worker do not wait for
    // each other.
    sql.replace("{next}", "nextval('news')").replace("{kept}", "FOR KEY SHARE")
}

fn value(field: &Field) -> &(dyn ToSql + Sync) {
    match field {
        Field::Number(number) => number,
        Field::Text(text) => text,
    }
}

fn values(fields: &[Field]) -> Vec<&(dyn ToSql + Sync)> {
    fields.iter().map(value).collect()
}

fn read(row: &Row) -> Result<FieldRow, EngineFault> {
    let field = |(place, column): (usize, &tokio_postgres::Column)| {
        Ok(match *column.type_() {
            Type::INT8 => Field::Number(row.try_get(place)?),
            Type::TEXT => Field::Text(row.try_get(place)?),
            ref other => return Err(EngineFault::Value(format!("{} is {other}", column.name()))),
        })
    };
    Ok(FieldRow(row.columns().iter().enumerate().map(field).collect::<Result<_, _>>()?))
}

fn query(session: &Session, sql: &str, fields: &[Field]) -> Result<Vec<FieldRow>, EngineFault> {
    session.query(&own(sql), &values(fields))?.iter().map(read).collect()
}

impl Statements for SessionStatements<'_> {
    fn query(&self, sql: &str, fields: &[Field]) -> Result<Vec<FieldRow>, FleetError> {
        Ok(query(self.session, sql, fields).map_err(|fault| fault.at(self.place))?)
    }

    fn execute(&self, sql: &str, fields: &[Field]) -> Result<u64, FleetError> {
        let done = self.session.execute(&own(sql), &values(fields));
        Ok(done.map_err(|fault| fault.at(self.place))?)
    }
}

impl Statements for RecordServer {
    fn query(&self, sql: &str, fields: &[Field]) -> Result<Vec<FieldRow>, FleetError> {
        self.call(|| Ok(self.link.read(|session| query(session, sql, fields))?))
    }

    fn execute(&self, sql: &str, fields: &[Field]) -> Result<u64, FleetError> {
        self.call(|| Ok(self.link.read(|session| session.execute(&own(sql), &values(fields)))?))
    }
}

impl RecordEngine for RecordServer {
    fn place(&self) -> String {
        self.link.address.shown.clone()
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn transaction(&self, work: &mut RecordWork<'_>) -> Result<(), FleetError> {
        self.call(|| self.repeated(work))
    }

    fn written_by_others(&mut self) -> Result<WrittenByOthers, FleetError> {
        if self.all.is_none_or(|all| all.elapsed() > ALL_AGAIN) {
            self.all = Some(Instant::now());
            return Ok(WrittenByOthers::All);
        }
        while self.seen.get(1).is_some_and(|(at, _)| at.elapsed() > OVERLAP) {
            self.seen.pop_front();
        }
        Ok(self.seen.front().map_or(WrittenByOthers::All, |(_, changed)| WrittenByOthers::After(*changed)))
    }

    fn is_to_count(&mut self) -> bool {
        let is_time = self.counted.elapsed() >= COUNTED;
        if is_time {
            self.counted = Instant::now();
        }
        is_time
    }

    fn read_up_to(&mut self, changed: i64) {
        let last = self.seen.back().map_or(0, |(_, last)| *last);
        self.seen.push_back((Instant::now(), changed.max(last)));
    }

    fn server(&self) -> Option<&Address> {
        Some(&self.link.address)
    }
}
