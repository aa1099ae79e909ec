//! Problems with single entries, until they can be reported.

use instep_net::{Permission, Refusal};

use crate::{Event, Monitor, Problem, ProblemKind};

/// Problems and warnings that a thread without a monitor met.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    kept: Vec<KeptProblem>,
    /// Further problems that cost something, which are only counted.
    counted: u64,
    /// The URI of the first entry that could not be used, and the reason.
    first_unusable: Option<(String, String)>,
}

#[derive(Debug)]
struct KeptProblem {
    kind: ProblemKind,
    uri: String,
    what: String,
    costs: bool,
    lacks: Option<Permission>,
}

impl KeptProblem {
    /// Returns a problem that costs an entry or a document.
    fn new(kind: ProblemKind, uri: &str, what: impl Into<String>) -> Self {
        Self { kind, uri: uri.to_owned(), what: what.into(), costs: true, lacks: None }
    }
}

impl Problems {
    /// More than this number at a time are only counted: a list may have a fault in every entry.
    const MOST_KEPT: usize = 1_000;

    /// Adds something that costs an entry or a document.
    pub(crate) fn problem(&mut self, kind: ProblemKind, uri: &str, what: impl Into<String>) {
        self.add(KeptProblem::new(kind, uri, what));
    }

    /// Adds an entry that cannot be used.
    pub(crate) fn unusable(&mut self, kind: ProblemKind, uri: &str, what: impl Into<String>) {
        self.add_unusable(KeptProblem::new(kind, uri, what));
    }

    /// Adds an entry whose URI may not be requested.
    pub(crate) fn refused(&mut self, uri: &str, refusal: &Refusal) {
        let problem = KeptProblem::new(ProblemKind::OutOfScope, uri, refusal.to_string());
        self.add_unusable(KeptProblem { lacks: refusal.lacks(), ..problem });
    }

    fn add_unusable(&mut self, problem: KeptProblem) {
        self.first_unusable.get_or_insert_with(|| (problem.uri.clone(), problem.what.clone()));
        self.add(problem);
    }

    /// Takes the URI of the first entry that could not be used, and the reason.
    pub(crate) fn take_first_unusable(&mut self) -> Option<(String, String)> {
        self.first_unusable.take()
    }

    /// Adds something that costs nothing.
    pub(crate) fn warning(&mut self, kind: ProblemKind, uri: &str, what: impl Into<String>) {
        self.add(KeptProblem { costs: false, ..KeptProblem::new(kind, uri, what) });
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
        for KeptProblem { kind, uri, what, costs, lacks } in self.kept.drain(..) {
            let problem = Problem::new(kind, &uri, &what).lacking(lacks);
            monitor.event(if costs { Event::Problem(problem) } else { Event::Warning(problem) });
            cost += u64::from(costs);
        }
        cost
    }
}
