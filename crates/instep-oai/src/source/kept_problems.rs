//! The problems of a harvest beside a Source that is served.

use std::sync::{Mutex, MutexGuard, PoisonError};

use instep_source::{PublishMonitor, PublishProblem};

/// Problems of a harvest in the background that are kept until the next scan.
const MOST_PROBLEMS: usize = 1_000;

/// The problems of a harvest in the background, for the log.
#[derive(Debug, Default)]
pub(super) struct KeptProblems(Mutex<Vec<PublishProblem>>);

impl KeptProblems {
    fn lock(&self) -> MutexGuard<'_, Vec<PublishProblem>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes them to the log.
    pub(super) fn log(&self) {
        for problem in self.lock().drain(..) {
            tracing::warn!("{}: {}", problem.subject, problem.what);
        }
    }
}

impl PublishMonitor for KeptProblems {
    fn problem(&self, problem: &PublishProblem) {
        let mut kept = self.lock();
        if kept.len() < MOST_PROBLEMS {
            kept.push(problem.clone());
        }
    }
}
