//! Seats at hosts whose limit holds over all workers, as rows. `share` decides which of them a worker gets.
//!
//! Only a record that several workers share has them: with a file the client of the single process counts by itself.
//!
//! Rows never show less than may be in use, so no lost, late or stopped message leads beyond the limit. The rows of a
//! worker are removed with the worker, whichever process removes it. A pause is a length under a random number, never
//! a time: each worker pauses for that length from when it reads it, and the first worker whose pause is over removes
//! it.

use std::{collections::BTreeMap, time::Duration};

use super::{
    FleetRecord,
    engine::{Field, FieldFault, FieldRow, Statements},
};
use crate::{
    FleetError,
    share::{LaneAnswer, LanePause, LaneRequest, LaneSeat, WorkerId, answer},
};

/// Locks a lane until the end of the transaction; creates it if there is none.
pub(super) const LOCK_LANE: &str =
    "INSERT INTO lane (origin) VALUES ($1) ON CONFLICT (origin) DO UPDATE SET claims = lane.claims + 1
     RETURNING rest, rest_number";

/// The lanes of a worker as they are now.
#[derive(Debug, Default)]
pub(crate) struct SeenLanes {
    /// The rows of all workers in each lane.
    pub(crate) seats: BTreeMap<String, Vec<LaneSeat>>,
    /// The lanes whose host has requested a pause.
    pub(crate) pauses: Vec<(String, LanePause)>,
}

/// The answer to a request, and the pause of the lane's host.
pub(crate) type AnsweredLane = (LaneAnswer, Option<LanePause>);

impl FleetRecord {
    /// Requests seats in lanes, in the order of their names, so that workers cannot deadlock. Returns the answers;
    /// `None` if the worker was removed.
    pub(crate) fn ask_lanes(
        &self,
        worker: WorkerId,
        limit: u64,
        requests: &BTreeMap<String, LaneRequest>,
    ) -> Result<Option<Vec<AnsweredLane>>, FleetError> {
        let mut answers = None;
        self.engine.transaction(&mut |statements| {
            answers = None;
            if !Self::keep_worker(statements, worker)? {
                return Ok(());
            }
            let mut given = Vec::new();
            for (lane, request) in requests {
                given.push(self.ask_lane(statements, worker, limit, lane, request)?);
            }
            answers = Some(given);
            Ok(())
        })?;
        Ok(answers)
    }

    fn ask_lane(
        &self,
        statements: &dyn Statements,
        worker: WorkerId,
        limit: u64,
        lane: &str,
        request: &LaneRequest,
    ) -> Result<AnsweredLane, FleetError> {
        let damaged = |fault| self.engine.damaged(fault);
        let locked = statements.query(LOCK_LANE, &[lane.into()])?;
        let pause = locked.first().map(|row| pause(row, 0)).transpose().map_err(damaged)?.flatten();
        let sql = "SELECT worker, held, wanted, turn FROM seat WHERE origin = $1";
        let rows = statements.query(sql, &[lane.into()])?;
        let rows: Vec<_> = rows.iter().map(|row| seat(row, 0)).collect::<Result<_, _>>().map_err(damaged)?;
        let answer = answer(worker, limit, *request, &rows);
        let LaneSeat { held, wanted, turn, .. } = answer.seat;
        if !rows.contains(&answer.seat) {
            let sql = "INSERT INTO seat (origin, worker, held, wanted, turn) VALUES ($1, $2, $3, $4, $5)
                 ON CONFLICT (origin, worker) DO UPDATE SET held = excluded.held, wanted = excluded.wanted, turn = excluded.turn";
            let fields: [Field; 5] = [lane.into(), worker.into(), held.into(), wanted.into(), turn.into()];
            statements.execute(sql, &fields)?;
        }
        Ok((answer, pause))
    }

    /// Takes a worker out of lanes.
    pub(crate) fn leave_lanes(&self, worker: WorkerId, lanes: &[String]) -> Result<(), FleetError> {
        self.engine.transaction(&mut |statements| {
            for lane in lanes {
                let sql = "DELETE FROM seat WHERE origin = $1 AND worker = $2";
                statements.execute(sql, &[lane.as_str().into(), worker.into()])?;
            }
            Ok(())
        })
    }

    /// Returns the lanes of a worker, with the rows of all workers.
    pub(crate) fn lanes_of(&self, worker: WorkerId) -> Result<SeenLanes, FleetError> {
        let mut seen = SeenLanes::default();
        let sql = "SELECT origin, worker, held, wanted, turn FROM seat
             WHERE origin IN (SELECT origin FROM seat WHERE worker = $1)";
        for (lane, seat) in self.all(sql, &[worker.into()], |row| Ok((row.string(0)?, seat(row, 1)?)))? {
            seen.seats.entry(lane).or_default().push(seat);
        }
        let sql = "SELECT origin, rest, rest_number FROM lane
             WHERE rest > 0 AND origin IN (SELECT origin FROM seat WHERE worker = $1)";
        let pauses = self.all(sql, &[worker.into()], |row| Ok((row.string(0)?, pause(row, 1)?)))?;
        seen.pauses = pauses.into_iter().filter_map(|(lane, pause)| Some((lane, pause?))).collect();
        Ok(seen)
    }

    /// Records that a host requested a pause.
    pub(crate) fn begin_pause(&self, lane: &str, pause: LanePause) -> Result<(), FleetError> {
        let sql = "INSERT INTO lane (origin, rest, rest_number) VALUES ($1, $2, $3)
             ON CONFLICT (origin) DO UPDATE SET rest = excluded.rest, rest_number = excluded.rest_number";
        let length = i64::try_from(pause.length.as_millis()).unwrap_or(i64::MAX);
        self.engine.execute(sql, &[lane.into(), length.into(), pause.number.into()]).map(drop)
    }

    /// Removes a pause that has ended.
    pub(crate) fn end_pause(&self, lane: &str, number: i64) -> Result<(), FleetError> {
        let sql = "UPDATE lane SET rest = 0 WHERE origin = $1 AND rest_number = $2";
        self.engine.execute(sql, &[lane.into(), number.into()]).map(drop)
    }

    /// Removes empty lanes. A worker that keeps a pause has a row: without one, nobody knows how much of it is left, and the
    /// next worker would keep it in full.
    pub(crate) fn forget_lanes(&self) -> Result<(), FleetError> {
        // A row that is created while this waits for its lane stays: the next request creates the lane again, and
        // finds the row.
        let sql = "DELETE FROM lane WHERE NOT EXISTS (SELECT 1 FROM seat WHERE seat.origin = lane.origin)";
        self.engine.execute(sql, &[]).map(drop)
    }

    /// Keeps the row of a worker until the end of the transaction: whoever takes it for dead waits, and then frees what it
    /// got too. Returns `false` if it was removed.
    pub(super) fn keep_worker(statements: &dyn Statements, worker: WorkerId) -> Result<bool, FleetError> {
        Ok(!statements.query("SELECT id FROM worker WHERE id = $1 {kept}", &[worker.into()])?.is_empty())
    }
}

fn seat(row: &FieldRow, first: usize) -> Result<LaneSeat, FieldFault> {
    Ok(LaneSeat {
        worker: row.number(first)?,
        held: row.count(first + 1)?,
        wanted: row.count(first + 2)?,
        turn: row.number(first + 3)?,
    })
}

/// Returns the pause of a lane; `None` if its host has requested none.
fn pause(row: &FieldRow, first: usize) -> Result<Option<LanePause>, FieldFault> {
    let (length, number) = (row.count(first)?, row.number(first + 1)?);
    Ok((length > 0).then_some(LanePause { number, length: Duration::from_millis(length) }))
}
