//! A clock that tests move.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use resourcesync::DateTime;

/// A clock that only moves when a test moves it. Clones show the same time.
#[derive(Clone, Debug)]
pub struct TestClock(Arc<AtomicI64>);

impl TestClock {
    /// 2026-01-01T00:00:00Z, in microseconds since 1970.
    const START: i64 = 1_767_225_600_000_000;

    /// Returns a clock at 2026-01-01T00:00:00Z.
    pub fn new() -> Self {
        Self(Arc::new(AtomicI64::new(Self::START)))
    }

    /// Returns the time that it shows.
    pub fn now(&self) -> DateTime {
        DateTime::from_unix_micros(self.0.load(Ordering::SeqCst))
    }

    /// Moves by seconds, also backwards, and returns the new time.
    pub fn advance(&self, seconds: i64) -> DateTime {
        self.advance_micros(seconds * 1_000_000)
    }

    /// Moves by microseconds, also backwards, and returns the new time.
    pub fn advance_micros(&self, micros: i64) -> DateTime {
        DateTime::from_unix_micros(self.0.fetch_add(micros, Ordering::SeqCst) + micros)
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}
