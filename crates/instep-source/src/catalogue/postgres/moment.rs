//! Readers of the last committed state, over a shared connection; and readers of one moment, over their own
//! connection.

use std::{cell::RefCell, sync::Arc};

use instep_postgres::{EngineFault, PooledSession, PostgresError, ServerLink, Session};

use super::row::read_head;
use crate::catalogue::{CatalogueError, Head};

/// A reader of one Source.
#[derive(Debug)]
pub(super) struct SourceReader {
    pub(super) link: Arc<ServerLink>,
    source: i64,
    moment: Option<ReadMoment>,
}

/// The moment that a reader shows.
#[derive(Debug)]
struct ReadMoment {
    head: Head,
    /// The connection whose transaction shows it; `None` after it was lost.
    session: RefCell<Option<PooledSession>>,
}

impl SourceReader {
    /// Returns a reader of the last committed state.
    pub(super) fn new(link: Arc<ServerLink>, source: i64) -> Self {
        Self { link, source, moment: None }
    }

    /// Returns a reader of the catalogue as it is now. Only this reader uses the link.
    pub(super) fn at_moment(link: ServerLink, source: i64) -> Result<(Self, Head), PostgresError> {
        let mut reader = Self::new(Arc::new(link), source);
        let (session, head) = reader.until_it_answers(|| reader.begin())?;
        reader.moment = Some(ReadMoment { head, session: RefCell::new(Some(session)) });
        Ok((reader, head))
    }

    /// Reads, and reads again if the connection is lost meanwhile.
    pub(super) fn read<T>(
        &self,
        work: impl Fn(&Session, i64) -> Result<T, EngineFault>,
    ) -> Result<T, CatalogueError> {
        Ok(match &self.moment {
            Some(moment) => self.until_it_answers(|| self.read_at(moment, &work))?,
            None => self.link.read(|session| work(session, self.source))?,
        })
    }

    /// Reads at the moment. If its connection is lost, reading continues only if nothing was recorded since: a new
    /// transaction then shows the same rows.
    fn read_at<T>(
        &self,
        moment: &ReadMoment,
        work: &impl Fn(&Session, i64) -> Result<T, EngineFault>,
    ) -> Result<T, PostgresError> {
        let mut held = moment.session.borrow_mut();
        let session = match held.take() {
            Some(session) => session,
            None => {
                let (session, head) = self.begin()?;
                if !is_same(head, moment.head) {
                    session.give_up();
                    return Err(PostgresError::Interrupted { place: self.place() });
                }
                session
            }
        };
        match work(&session, self.source) {
            Ok(value) => {
                *held = Some(session);
                Ok(value)
            }
            Err(fault) => {
                session.give_up();
                Err(self.link.error(fault))
            }
        }
    }

    fn begin(&self) -> Result<(PooledSession, Head), PostgresError> {
        let session = self.link.session()?;
        let begun = session.begin_moment();
        match begun.map_err(EngineFault::from).and_then(|()| head(&session, self.source)) {
            Ok(head) => Ok((session, head)),
            Err(fault) => {
                session.give_up();
                Err(self.link.error(fault))
            }
        }
    }

    fn until_it_answers<T>(&self, work: impl Fn() -> Result<T, PostgresError>) -> Result<T, PostgresError> {
        let mut retries = self.link.retries();
        loop {
            match work() {
                Ok(value) => return Ok(value),
                Err(failure) => retries.wait_after(failure)?,
            }
        }
    }

    fn place(&self) -> String {
        self.link.address.shown.clone()
    }
}

/// Returns `true` if two positions have the same resources and changes. Other commits between them change neither.
fn is_same(one: Head, other: Head) -> bool {
    (one.sequence, one.revision, one.baselined) == (other.sequence, other.revision, other.baselined)
}

/// Returns the position of a catalogue.
pub(super) fn head(session: &Session, source: i64) -> Result<Head, EngineFault> {
    let sql = "SELECT sequence, datetime, forgotten, revision, baselined FROM source WHERE id = $1";
    read_head(&session.one(sql, &[&source])?)
}

impl Drop for SourceReader {
    fn drop(&mut self) {
        let session = self.moment.as_ref().and_then(|moment| moment.session.borrow_mut().take());
        if let Some(session) = session
            && session.batch("ROLLBACK").is_err()
        {
            session.give_up();
        }
    }
}
