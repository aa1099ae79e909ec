//! The harvests beside a Source that is served: one at a time, and a pause between two.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    thread,
    time::{Duration, Instant},
};

/// The longest sleep of the thread that begins harvests, which ends within this time too.
const TICK: Duration = Duration::from_secs(1);

/// The harvests beside a Source that is served.
#[derive(Debug, Default)]
pub(super) struct Background(Mutex<BackgroundState>);

#[derive(Debug, Default)]
struct BackgroundState {
    is_running: bool,
    /// The time of the next one; `None` for at once.
    due: Option<Instant>,
}

impl Background {
    /// Begins a harvest; `None` if one is under way, or if it is too early for the next one.
    pub(super) fn begin(self: &Arc<Self>, every: Duration) -> Option<BackgroundHarvest> {
        let mut state = self.lock();
        if state.is_running || state.due.is_some_and(|due| Instant::now() < due) {
            return None;
        }
        state.is_running = true;
        Some(BackgroundHarvest { background: Arc::clone(self), every })
    }

    /// Sets the time of the next harvest, after one that was made before the publication.
    pub(super) fn wait(&self, every: Duration) {
        self.lock().due = Instant::now().checked_add(every);
    }

    /// Returns the time until the next harvest; `None` if one is under way, or if none was made yet.
    pub(super) fn pause(&self) -> Option<Duration> {
        let state = self.lock();
        let due = state.due.filter(|_| !state.is_running)?;
        Some(due.saturating_duration_since(Instant::now()))
    }

    fn lock(&self) -> MutexGuard<'_, BackgroundState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls `begin` on a thread of its own each time a harvest is due, until the Source is dropped. Scans begin harvests
/// too, but there may be far fewer of them.
pub(super) fn begin_when_due(background: Weak<Background>, begin: impl Fn() + Send + 'static) {
    thread::spawn(move || {
        while let Some(pause) = background.upgrade().map(|background| background.pause()) {
            match pause {
                Some(Duration::ZERO) => begin(),
                pause => thread::sleep(pause.unwrap_or(TICK).min(TICK)),
            }
        }
    });
}

/// A harvest in the background that is under way until this is dropped, also by a panic: otherwise there would never be
/// another one.
#[derive(Debug)]
pub(super) struct BackgroundHarvest {
    background: Arc<Background>,
    every: Duration,
}

impl Drop for BackgroundHarvest {
    fn drop(&mut self) {
        let mut state = self.background.lock();
        state.is_running = false;
        state.due = Instant::now().checked_add(self.every);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn o486_a_harvest_in_the_background_that_panics_is_followed_by_the_next_one() {
        let background = Arc::new(Background::default());
        let begun = background.begin(Duration::ZERO).unwrap();
        assert!(background.begin(Duration::ZERO).is_none(), "one is under way");
        let panicked = thread::spawn(move || {
            let _begun = begun;
            std::panic::resume_unwind(Box::new("a fault"));
        });
        assert!(panicked.join().is_err());
        drop(background.begin(Duration::from_secs(3_600)).unwrap());
        assert!(background.begin(Duration::ZERO).is_none(), "it is too early");
    }

    #[test]
    fn o573_a_harvest_begins_when_it_is_due_also_if_nothing_is_scanned() {
        let (hour, long) = (Duration::from_secs(3_600), Duration::from_secs(3_000));
        let background = Arc::new(Background::default());
        assert_eq!(background.pause(), None, "none was made yet");
        background.wait(hour);
        assert!(background.pause().is_some_and(|pause| pause > long));
        let (sender, begun) = mpsc::channel();
        let harvested = Arc::downgrade(&background);
        begin_when_due(Arc::downgrade(&background), move || {
            let harvest = harvested.upgrade().and_then(|background| background.begin(hour));
            sender.send(harvest.is_some()).unwrap();
        });
        background.wait(Duration::ZERO);
        assert_eq!(begun.recv_timeout(Duration::from_secs(60)), Ok(true));
        // The thread ends with the Source.
        drop(background);
        assert!(begun.recv_timeout(Duration::from_secs(60)).is_err());
    }
}
