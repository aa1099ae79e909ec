//! The problems of a harvest beside a Source that is served.

use std::sync::{Mutex, MutexGuard, PoisonError};

use instep_source::{PublishMonitor, PublishProblem};

/// Problems of a harvest in the background that are kept until its end.
const MOST_PROBLEMS: usize = 1_000;

/// Problems that are warnings in the log. Further ones are for readers of its details.
const MOST_WARNINGS: usize = 20;

/// The problems of a harvest in the background, for the log.
#[derive(Debug, Default)]
pub(super) struct KeptProblems(Mutex<GatheredProblems>);

#[derive(Debug, Default)]
struct GatheredProblems {
    problems: Vec<PublishProblem>,
    /// The number of problems, also of those that are not kept.
    count: usize,
}

impl KeptProblems {
    fn lock(&self) -> MutexGuard<'_, GatheredProblems> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes them to the log.
    pub(super) fn log(&self) {
        let GatheredProblems { problems, count } = std::mem::take(&mut *self.lock());
        for (number, PublishProblem { subject, what, .. }) in problems.iter().enumerate() {
            if number < MOST_WARNINGS {
                tracing::warn!("{subject}: {what}");
            } else {
                tracing::info!("{subject}: {what}");
            }
        }
        if count > MOST_WARNINGS {
            tracing::warn!("the harvest had {} more problems", count - MOST_WARNINGS);
        }
    }
}

impl PublishMonitor for KeptProblems {
    fn problem(&self, problem: &PublishProblem) {
        let mut kept = self.lock();
        kept.count += 1;
        if kept.problems.len() < MOST_PROBLEMS {
            kept.problems.push(problem.clone());
        }
    }
}
