//! The notes about the plan of a set, its totals in the report, and the list of its actions in a dry run.

use crate::{
    Error, Event, Item, Letter, Outcome,
    plan::Choice,
    run::{SetRun, SyncRun},
    state::ActionKind,
};

impl SyncRun<'_> {
    /// Reports the way that was chosen. The note is written once, even if several sets use the same documents for the same
    /// reason.
    pub(super) fn report_choice(&mut self, Choice { strategy, reason }: Choice) {
        let before = &self.reporter.report;
        let was_noted = (before.strategy, &before.reason) == (strategy, &reason);
        if let Some(documents) = strategy.documents().filter(|_| !was_noted) {
            self.reporter.note(&format!("Using {documents}: {reason}"));
        }
        (self.reporter.report.strategy, self.reporter.report.reason) = (strategy, reason);
    }

    /// Reports the limitations of a site that has only a Sitemap, and versions and targets of links that are left out.
    pub(super) fn note_limitations(&self, set: &SetRun) {
        let count = set.with(|draft| draft.inventory);
        if count.versions_elsewhere > 0 {
            self.reporter.note(&format!(
                "{} links to versions lead to other hosts: those versions are not kept",
                count.versions_elsewhere
            ));
        }
        if count.links_not_fetched > 0 {
            self.reporter.note(&format!(
                "{} wanted links do not lead to http or https: their targets are not copied",
                count.links_not_fetched
            ));
        }
        let (plain, elsewhere) = (count.plain, count.media_elsewhere);
        if plain > 0 {
            self.reporter.note(
                "a plain Sitemap: it states no digests and no deletions, so bytes count as right when they arrive \
                 whole, and a page that is not listed may still be there",
            );
        }
        if elsewhere > 0 {
            self.reporter.note(&format!(
                "{elsewhere} images and videos of pages lie on other hosts, and are left out"
            ));
        }
    }

    /// Announces the totals of a plan, and adds to the report those that are known before it is carried out.
    pub(super) fn report_totals(&mut self, set: &SetRun) {
        let totals = set.with(|draft| draft.totals());
        self.reporter.monitor.event(Event::Planned(totals));
        let report = &mut self.reporter.report;
        report.unchanged += totals.unchanged;
        report.planned_bytes = report.planned_bytes.saturating_add(totals.bytes);
    }

    /// Reports and counts each action of the plan, for a dry run (P5).
    pub(super) fn itemize_plan(&mut self, set: &SetRun) -> Result<(), Error> {
        let (report, monitor) = (&mut self.reporter.report, self.reporter.monitor);
        set.each_action(&mut |action| {
            let (letter, number) = match action.kind {
                ActionKind::Create => (Letter::New, &mut report.created),
                ActionKind::Delete => (Letter::Gone, &mut report.deleted),
                ActionKind::Update | ActionKind::Check => (Letter::Changed, &mut report.updated),
                ActionKind::Note | ActionKind::Keep | ActionKind::Leave | ActionKind::Owe => return,
            };
            *number += 1;
            let item = Item::new(letter, action.desired.uri.as_str(), action.desired.metadata.length);
            monitor.event(Event::Itemized(item));
        })?;
        self.reporter.report.outcome = Outcome::Planned;
        Ok(())
    }
}
