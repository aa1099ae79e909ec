//! The lease of this process: the time until which it may act, and the connections to the record for the lease and
//! the seats.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use instep_net::{RequestGate, SharedSeats};
use tokio::time::Instant;

use super::{own_record::LeaseRecord, seat_requests::SeatRequests};
use crate::{
    FleetError,
    options::FleetOptions,
    record::{FleetRecord, RecordWaits},
    share::LeaseState,
};

/// Longer than any process lives: the time until which one that shares nothing may act.
const FOR_EVER: Duration = Duration::from_secs(1 << 32);

/// Everything that the lease of this process needs.
pub(super) struct WorkerLease {
    began: Instant,
    gate: RequestGate,
    /// A separate record, which no other work delays; `None` if the fleet is not shared.
    record: Option<LeaseRecord>,
    seat_requests: Option<SeatRequests>,
    /// The waits of the record that has the work of the fleet.
    waits: RecordWaits,
    state: Mutex<Option<LeaseState>>,
    url: Mutex<Option<String>>,
}

impl WorkerLease {
    /// Returns the lease of a process beside its record.
    pub(super) fn new(options: &FleetOptions, beside: &FleetRecord) -> Result<Self, FleetError> {
        let (began, is_shared) = (Instant::now(), beside.is_shared());
        let record = || is_shared.then(|| FleetRecord::existing(&options.place()).map(LeaseRecord::new));
        let (record, seat_requests) = (record().transpose()?, record().transpose()?.map(SeatRequests::new));
        let until = if is_shared { began } else { began + FOR_EVER };
        Ok(Self {
            began,
            gate: RequestGate::open_until(until),
            record,
            seat_requests,
            waits: beside.waits(),
            state: Mutex::new(None),
            url: Mutex::new(None),
        })
    }

    /// Waits no longer for the record over any connection, because the process is to end.
    pub(super) fn end_waits(&self) {
        self.waits.end();
        self.record.iter().for_each(LeaseRecord::end_waits);
        self.seat_requests.iter().for_each(SeatRequests::end_waits);
    }

    /// Returns the gate of all requests.
    pub(super) fn gate(&self) -> &RequestGate {
        &self.gate
    }

    /// Returns the requester of seats; `None` if the fleet is not shared.
    pub(super) fn seat_requests(&self) -> Option<&SeatRequests> {
        self.seat_requests.as_ref()
    }

    /// Returns the seats of this worker; `None` if the fleet is not shared.
    pub(super) fn seats(&self) -> Option<&SharedSeats> {
        self.seat_requests().map(SeatRequests::seats)
    }

    pub(super) fn with_state<T>(&self, act: impl FnOnce(&mut Option<LeaseState>) -> T) -> T {
        act(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns `true` if this worker may begin something.
    pub(super) fn acts(&self) -> bool {
        let now = self.now();
        self.record.is_none()
            || self.with_state(|state| state.as_ref().is_some_and(|state| now < state.acts_until()))
    }

    /// Opens the gate for as long as the last heartbeat allows.
    pub(super) fn open_gate(&self) {
        if let Some(until) = self.with_state(|state| state.as_ref().map(LeaseState::acts_until)) {
            self.gate.put_off(self.began + until);
        }
    }

    /// Returns the record of the lease; `None` if the fleet is not shared.
    pub(super) fn record(&self) -> Option<&LeaseRecord> {
        self.record.as_ref()
    }

    /// Returns the time of this process.
    pub(super) fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Returns the URL of the dashboard.
    pub(super) fn url(&self) -> Option<String> {
        self.url.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn set_url(&self, url: &str) {
        *self.url.lock().unwrap_or_else(PoisonError::into_inner) = Some(url.to_owned());
    }
}
