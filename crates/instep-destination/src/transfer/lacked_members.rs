//! The members that a package lacks, which are reported together.

use resourcesync::{Entry, Uri};

use crate::{ProblemKind, error::error_chain, run::SyncRun, transfer::fetch::FetchError};

/// The resources that a manifest lists and its package lacks.
#[derive(Debug, Default)]
pub(super) struct LackedMembers {
    pub(super) count: u64,
    /// The first of them, and the reason.
    first: Option<String>,
}

impl LackedMembers {
    /// Counts a resource if it was not staged through a fault of its package. Bytes that differ count only if the
    /// manifest states the digest that is wanted, because a dump may be older than the list.
    pub(super) fn count(&mut self, entry: &Entry, is_promised: bool, error: &FetchError) {
        let cause: &dyn std::error::Error = match error {
            FetchError::Member(cause) => cause,
            FetchError::Mismatch(cause) if is_promised => cause,
            _ => return,
        };
        self.count += 1;
        self.first.get_or_insert_with(|| format!("{}: {}", entry.loc, error_chain(cause)));
    }

    /// Adds those of other members.
    pub(super) fn add(&mut self, other: Self) {
        self.count += other.count;
        self.first = self.first.take().or(other.first);
    }

    /// Warns of resources that are requested instead.
    pub(super) fn report(self, run: &SyncRun<'_>, package: &Uri) {
        if let Self { count, first: Some(first) } = self {
            let what = format!("the package lacks {count} of its resources, which are requested: {first}");
            run.reporter.warn(ProblemKind::Document, package.as_str(), &what);
        }
    }

    /// Reports states that nothing else has.
    pub(super) fn report_unkept(self, run: &mut SyncRun<'_>, package: &Uri) {
        if let Self { count, first: Some(first) } = self {
            let what = format!("the package lacks {count} states that would be kept as versions: {first}");
            run.reporter.problem(ProblemKind::Document, package.as_str(), &what);
        }
    }
}
