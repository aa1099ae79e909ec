//! Repair: held files are hashed, and damaged ones become pending, so that they are fetched again (D44). The transfers
//! themselves are those of every run.

use std::sync::Arc;

use resourcesync::Uri;

use crate::{
    Error, Phase, Problem, ProblemKind,
    audit::hash::{Hashing, Verdict},
    plan::{Desired, VersionKey},
    run::{LocalCopy, SyncRun},
    state::{HeldResource, Ledger, Owed, ReadState, RowSet, SetId},
};

/// The most damaged files that become pending in one transaction.
const GROUP: usize = 1_000;

impl SyncRun<'_> {
    /// Finds held files that are missing or differ from the state, so that they are fetched again even if they seem
    /// current. Each is recorded as pending at once, because the run may end before it is fetched, its set may not be
    /// selected in this run, and no document may list it any more (O62).
    pub(crate) async fn find_damaged(&mut self) -> Result<(), Error> {
        self.reporter.enter(Phase::Hashing);
        let hashing = Hashing {
            selections: Vec::new(),
            store: self.copy.store.clone(),
            verify: self.options.verify,
            sample: 1.0,
            stop: self.stop.token().clone(),
        };
        let hashed = hashing.begin(self.state().reader()?);
        let mut damaged = Damaged::default();
        let (reporter, copy, keeps) = (&mut self.reporter, &mut self.copy, !self.options.dry_run);
        hashed
            .each(&mut |looked| {
                match looked.verdict {
                    Verdict::Same => {}
                    Verdict::Missing | Verdict::Differs(_) if is_version(&looked.uri) => {
                        let what = "its file is missing or damaged, and a kept version is not fetched again";
                        reporter.problem(ProblemKind::Mismatch, &looked.uri, &what);
                    }
                    Verdict::Missing | Verdict::Differs(_) => {
                        damaged.rows.insert(looked.id);
                        damaged.count += 1;
                        if keeps {
                            damaged.owe(copy, &looked.uri, matches!(looked.verdict, Verdict::Missing))?;
                        }
                    }
                    // A file that cannot be read may still be intact: it stays, and is reported as unchecked (B13).
                    Verdict::Failed(what) => {
                        reporter.failed(Problem::new(ProblemKind::Storage, &looked.uri, &what));
                    }
                }
                Ok(())
            })
            .await?;
        damaged.record(copy)?;
        if damaged.count > 0 {
            let count = damaged.count;
            reporter.note(&format!("held files that are missing or damaged, and are fetched again: {count}"));
        }
        self.may_be_beyond_repair = keeps && damaged.count > 0;
        self.damaged = Arc::new(damaged.rows);
        Ok(())
    }

    /// Reports the damaged files that are still held of resources that the Source no longer has: nothing can be fetched for
    /// them (O65). It comes at the end of the run, which may have found more of these deletions (O766).
    pub(crate) fn report_beyond_repair(&mut self) -> Result<(), Error> {
        if !std::mem::take(&mut self.may_be_beyond_repair) {
            return Ok(());
        }
        for set in (0..SetId::MOST).map(SetId) {
            let mut after = None::<String>;
            loop {
                let page = self.copy.state().held_though_gone_after(set, after.as_deref(), GROUP)?;
                let Some(last) = page.last() else { break };
                after = Some(last.uri.as_str().to_owned());
                for deletion in page {
                    self.report_if_damaged(set, deletion.uri.as_str())?;
                }
            }
        }
        Ok(())
    }

    /// Reports a resource if its file was found to be damaged and no set has it any more. Of the sets that hold it, the first
    /// one reports it.
    fn report_if_damaged(&mut self, set: SetId, uri: &str) -> Result<(), Error> {
        let state = self.copy.state();
        let Some(held) = state.held(uri)? else { return Ok(()) };
        let is_first = (0..SetId::MOST).map(SetId).find(|set| held.is_in(*set)) == Some(set);
        if is_first && self.damaged.contains(held.id) && is_kept(state, &held)? {
            let what = "its file is damaged, and the Source no longer has the resource";
            self.reporter.problem(ProblemKind::Mismatch, uri, &what);
        }
        Ok(())
    }
}

/// The files that were found to be damaged.
#[derive(Default)]
struct Damaged {
    rows: RowSet,
    /// The damaged files that are not recorded as pending yet.
    pending: Ledger,
    count: u64,
}

impl Damaged {
    /// Makes a resource pending for each set that holds it, with the bytes that were verified, unless it is kept although
    /// it was deleted. If its file is missing, it is not held any more.
    fn owe(&mut self, copy: &mut LocalCopy, uri: &str, is_missing: bool) -> Result<(), Error> {
        let Some(held) = copy.state().held(uri)? else { return Ok(()) };
        for set in (0..SetId::MOST).map(SetId).filter(|set| held.is_in(*set)) {
            let is_gone = held.was_deleted_at(copy.state().gone(set, uri)?);
            // An entry that is pending already is at least as new.
            if !is_gone && copy.state().owed(set, uri)?.is_none() {
                self.pending.owe(set, Owed::new(as_held(&held), "its file is missing or damaged".to_owned()));
            }
        }
        if is_missing {
            self.pending.lost.push(uri.to_owned());
        }
        if self.pending.debts.len() + self.pending.lost.len() >= GROUP { self.record(copy) } else { Ok(()) }
    }

    fn record(&mut self, copy: &mut LocalCopy) -> Result<(), Error> {
        let pending = std::mem::take(&mut self.pending);
        if pending.is_empty() { Ok(()) } else { Ok(copy.state_mut()?.commit_group(None, &[], &pending)?) }
    }
}

fn is_version(uri: &str) -> bool {
    Uri::parse(uri).is_ok_and(|uri| VersionKey::parse(&uri).is_some())
}

/// Returns `true` if no set has a resource any more: in each set that holds it, its deletion is recorded.
fn is_kept(state: &dyn ReadState, held: &HeldResource) -> Result<bool, Error> {
    for set in (0..SetId::MOST).map(SetId).filter(|set| held.is_in(*set)) {
        if !held.was_deleted_at(state.gone(set, held.uri.as_str())?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the held state as a wanted one, without the validator: a conditional request would be answered with 304 and
/// fetch nothing.
fn as_held(held: &HeldResource) -> Desired {
    let mut desired = Desired::new(held.uri.clone());
    desired.metadata = held.metadata.clone();
    desired.metadata.etag = None;
    desired
}
