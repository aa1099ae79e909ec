//! Held files whose entries have digests of other algorithms than the state: they are hashed with those (O643), also if
//! the times differ (O730).

use resourcesync::{Algorithm, Digests, Hasher};

use crate::{
    Error,
    draft::Draft,
    plan::{Desired, share_no_algorithm},
    run::{SetRun, SyncRun},
    state::{Action, ActionKind, HeldResource},
    store::CopyStore,
};

/// The number of files that are hashed before the audit looks if it should end.
const AT_A_TIME: usize = 16;

/// Hashes these files, so that the plan names those that differ, and not those that are the same.
pub(super) async fn rehash(run: &mut SyncRun<'_>, set: &SetRun) -> Result<(), Error> {
    // Checks that fail become updates, which are not hashed a second time in this order.
    for kind in [ActionKind::Update, ActionKind::Check] {
        let mut after = 0;
        while run.ending().is_none() {
            let store = run.copy.store.clone();
            let looked = set.work(move |draft| look_at_some(draft, kind, after, &store)).await?;
            let Some(last) = looked else { break };
            after = last;
        }
    }
    Ok(())
}

/// Hashes the files of the next actions of a kind, and returns the position in the plan after them.
fn look_at_some(
    draft: &mut Draft,
    kind: ActionKind,
    after: i64,
    store: &CopyStore,
) -> Result<Option<i64>, Error> {
    let page = draft.actions().of_kind_after(kind, after, AT_A_TIME)?;
    let last = page.last().map(|action| action.sequence);
    for Action { desired, .. } in page {
        let Some(held) = draft.state().held(desired.uri.as_str())? else { continue };
        if !share_no_algorithm(&held.metadata.digests, &desired.metadata.digests) {
            continue;
        }
        // A file that cannot be read is reported when it is compared with its record.
        match digests(store, &held, &desired).and_then(|found| found.agrees_with(&desired.metadata.digests)) {
            Some(true) => draft.done(desired.uri.as_str())?,
            Some(false) if kind == ActionKind::Check => draft.update_instead(desired)?,
            Some(false) | None => {}
        }
    }
    Ok(last)
}

/// Returns the strongest digest of the entry, as the held bytes have it; `None` if they cannot be read.
fn digests(store: &CopyStore, held: &HeldResource, desired: &Desired) -> Option<Digests> {
    let strongest: Vec<Algorithm> =
        desired.metadata.digests.strongest().map(|digest| digest.algorithm.clone()).into_iter().collect();
    let mut hasher = Hasher::new(&strongest);
    let mut file = store.read(&held.path, &held.place).ok()?;
    hasher.take_all(&mut *file, &mut vec![0; 64 << 10]).ok()?;
    Some(hasher.finish())
}
