//! The records of an import: passed to an engine in batches, and compared with those that are read back.

use std::ops::ControlFlow;

use super::{
    figures::StateFigures,
    lines::{LineFault, LineHasher, LineReader},
};
use crate::{
    records::state_line::to_line,
    state::{ImportFeed, StateRecord},
};

/// The number of records that an engine gets at a time.
const TOGETHER: usize = 2_048;

/// The records of a file while an engine imports them.
pub(super) struct Taking<'r> {
    lines: LineReader<'r>,
    /// The longest URI that the engine can store; `None` if there is no limit.
    longest: Option<usize>,
    place: String,
    /// The first record of the next batch, which is of another kind than those before it.
    next: Option<StateRecord>,
    given: Option<LineHasher>,
    read_back: LineHasher,
    fault: Option<LineFault>,
}

impl<'r> Taking<'r> {
    pub(super) fn of(lines: LineReader<'r>, longest: Option<usize>, place: String) -> Self {
        let (given, read_back) = (Some(LineHasher::new()), LineHasher::new());
        Self { lines, longest, place, next: None, given, read_back, fault: None }
    }

    /// Returns the figures of the imported records.
    pub(super) fn finish(self) -> Result<StateFigures, LineFault> {
        self.fault.map_or(Ok(self.lines.figures), Err)
    }

    /// Reads the remaining lines, and returns their fault if they are not those of an export.
    pub(super) fn fault_of_lines(mut self) -> Option<LineFault> {
        loop {
            match self.lines.next() {
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(fault) => return Some(fault),
            }
        }
    }

    fn batch(&mut self) -> Result<Vec<StateRecord>, LineFault> {
        let mut batch: Vec<StateRecord> = Vec::new();
        while batch.len() < TOGETHER {
            let next = match self.next.take() {
                Some(next) => Some(next),
                None => self.lines.next()?,
            };
            let Some(record) = next else { break };
            if !self.is_kept(&record)? {
                continue;
            }
            if batch.first().is_some_and(|first| !first.is_like(&record)) {
                self.next = Some(record);
                break;
            }
            if let Some(given) = &mut self.given {
                given.line(&to_line(&record).map_err(|what| LineFault::Invalid { what })?);
            }
            batch.push(record);
        }
        Ok(batch)
    }

    /// Returns `true` if the engine can store a record, and `false` if it can do without.
    fn is_kept(&self, record: &StateRecord) -> Result<bool, LineFault> {
        let Some(longest) = self.longest else { return Ok(true) };
        let uri = match record {
            // A document without a record is only read again.
            StateRecord::Document(document) => return Ok(document.uri.as_str().len() <= longest),
            StateRecord::Held { held, .. } => &held.uri,
            StateRecord::Owed { owed, .. } => &owed.desired.uri,
            StateRecord::Gone { uri, .. } => uri,
            _ => return Ok(true),
        };
        if uri.as_str().len() <= longest {
            return Ok(true);
        }
        let what =
            format!("{} keeps URIs of up to {longest} bytes, and this one is longer: {uri}", self.place);
        Err(LineFault::Invalid { what })
    }

    fn or_stop<T>(&mut self, result: Result<T, LineFault>) -> ControlFlow<(), T> {
        match result {
            Ok(value) => ControlFlow::Continue(value),
            Err(fault) => {
                self.fault = Some(fault);
                ControlFlow::Break(())
            }
        }
    }
}

impl ImportFeed for Taking<'_> {
    fn last_change(&self) -> i64 {
        self.lines.last_change
    }

    fn next(&mut self) -> ControlFlow<(), Vec<StateRecord>> {
        let batch = self.batch();
        self.or_stop(batch)
    }

    fn read_back(&mut self, record: StateRecord) -> ControlFlow<()> {
        let line = to_line(&record).map_err(|what| LineFault::Invalid { what });
        let line = self.or_stop(line)?;
        self.read_back.line(&line);
        ControlFlow::Continue(())
    }

    fn is_right(&mut self) -> ControlFlow<()> {
        let given = self.given.take().map(LineHasher::finish);
        let read_back = std::mem::replace(&mut self.read_back, LineHasher::new()).finish();
        if given == Some(read_back) {
            return ControlFlow::Continue(());
        }
        let what = format!("{} does not match the file", self.place);
        self.or_stop(Err(LineFault::Invalid { what }))
    }
}
