//! Problems with single entries, until they can be reported.

use crate::{Event, Monitor, Problem, ProblemKind};

/// Problems and warnings that a thread without a monitor met.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    kept: Vec<KeptProblem>,
    /// Further problems that cost something, which are only counted.
    counted: u64,
}

#[derive(Debug)]
struct KeptProblem {
    kind: ProblemKind,
    uri: String,
    what: String,
    costs: bool,
}

impl Problems {
    /// More than this number at a time are only counted: a list may have a fault in every entry.
    const MOST_KEPT: usize = 1_000;

    /// Adds something that costs an entry or a document.
    pub(crate) fn problem(&mut self, kind: ProblemKind, uri: &str, what: impl Into<String>) {
        self.add(KeptProblem { kind, uri: uri.to_owned(), what: what.into(), costs: true });
    }

    /// Adds something that costs nothing.
    pub(crate) fn warning(&mut self, kind: ProblemKind, uri: &str, what: impl Into<String>) {
        self.add(KeptProblem { kind, uri: uri.to_owned(), what: what.into(), costs: false });
    }

    fn add(&mut self, problem: KeptProblem) {
        if self.kept.len() < Self::MOST_KEPT {
            self.kept.push(problem);
        } else {
            self.counted += u64::from(problem.costs);
        }
    }

    /// Reports them. Returns how many of them cost something.
    pub(crate) fn report(&mut self, monitor: &dyn Monitor) -> u64 {
        let mut cost = std::mem::take(&mut self.counted);
        if cost > 0 {
            monitor
                .event(Event::Note(&format!("{cost} more problems of the same document are only counted")));
        }
        for KeptProblem { kind, uri, what, costs } in self.kept.drain(..) {
            let problem = Problem::new(kind, &uri, &what);
            monitor.event(if costs { Event::Problem(problem) } else { Event::Warning(problem) });
            cost += u64::from(costs);
        }
        cost
    }
}
