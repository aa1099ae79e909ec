//! The harvests beside a Source that is served: one at a time, and a pause between two.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

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

    fn lock(&self) -> MutexGuard<'_, BackgroundState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
    use std::thread;

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
}
