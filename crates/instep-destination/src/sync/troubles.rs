//! What went wrong with single entries, until it can be told.

use crate::{Event, Monitor, Problem, ProblemKind};

/// Problems and warnings that a thread without a monitor met.
#[derive(Debug, Default)]
pub(crate) struct Troubles {
    told: Vec<Trouble>,
    untold: u64,
}

#[derive(Debug)]
struct Trouble {
    kind: ProblemKind,
    uri: String,
    what: String,
    costs: bool,
}

impl Troubles {
    /// More than so many at a time are only counted: a list may be wrong in every entry.
    const MOST_TOLD: usize = 1_000;

    /// Something that costs an entry or a document.
    pub(crate) fn problem(&mut self, kind: ProblemKind, uri: &str, what: impl Into<String>) {
        self.add(Trouble { kind, uri: uri.to_owned(), what: what.into(), costs: true });
    }

    /// Something that costs nothing.
    pub(crate) fn warning(&mut self, kind: ProblemKind, uri: &str, what: impl Into<String>) {
        self.add(Trouble { kind, uri: uri.to_owned(), what: what.into(), costs: false });
    }

    fn add(&mut self, trouble: Trouble) {
        if self.told.len() < Self::MOST_TOLD {
            self.told.push(trouble);
        } else {
            self.untold += u64::from(trouble.costs);
        }
    }

    /// Tells them; how many of them cost something.
    pub(crate) fn tell(&mut self, monitor: &dyn Monitor) -> u64 {
        let mut cost = std::mem::take(&mut self.untold);
        if cost > 0 {
            monitor.event(Event::Note(&format!(
                "{cost} more problems of the same document are not told one by one"
            )));
        }
        for Trouble { kind, uri, what, costs } in self.told.drain(..) {
            let problem = Problem::new(kind, &uri, &what);
            monitor.event(if costs { Event::Problem(problem) } else { Event::Warning(problem) });
            cost += u64::from(costs);
        }
        cost
    }
}
