//! Repair: held files are hashed, and damaged ones are fetched again (D44).

use std::sync::Arc;

use crate::{
    Error, Phase, ProblemKind,
    audit::hash::{Hashing, Verdict},
    run::SyncRun,
    state::Marks,
};

impl SyncRun<'_> {
    /// Finds held files that are missing or differ from the state: they are fetched again, even if they seem current.
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
        let (mut damaged, reporter) = (Marks::none(), &mut self.reporter);
        hashed
            .each(&mut |looked| {
                match looked.verdict {
                    Verdict::Same => {}
                    Verdict::Missing | Verdict::Differs(_) => damaged.set(looked.id),
                    // A file that cannot be read may well be right: it stays, but is reported as unchecked (B13).
                    Verdict::Failed(what) => reporter.failed(ProblemKind::Storage, &looked.uri, &what),
                }
                Ok(())
            })
            .await?;
        self.damaged = Arc::new(damaged);
        Ok(())
    }
}
