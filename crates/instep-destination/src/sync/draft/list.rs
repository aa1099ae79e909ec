use resourcesync::{Entry, Link, Severity};

use super::{Draft, Word};
use crate::{
    Error, ProblemKind,
    documents::Document,
    http::Origin,
    state::Wanted,
    sync::wanted::{wanted, wanted_link},
};

/// Entries that meet what is held together.
#[derive(Default)]
struct Part {
    selected: Vec<Wanted>,
    /// Targets of their links.
    linked: Vec<Wanted>,
    /// What is there and not selected.
    others: Vec<Wanted>,
}

impl Draft {
    /// Plans what a Resource List promises (§10.1). Nothing of it stays in the plan unless all of it could be read
    /// (D16).
    pub(crate) fn read_list(&mut self, document: &Document) -> Result<(), Error> {
        let before = self.actions.last()?;
        match self.read_parts(document) {
            Err(error @ Error::InvalidDocument { .. }) => {
                self.actions.forget_after(before)?;
                Err(error)
            }
            other => other,
        }
    }

    fn read_parts(&mut self, document: &Document) -> Result<(), Error> {
        let speaker = document.origin();
        let mut entries = document.read()?;
        let mut entry = Entry::default();
        let mut part = Part::default();
        let mut usable = 0;
        while entries.read_entry(&mut entry).map_err(|error| document.unreadable(error))? {
            usable += 1;
            if !self.in_scope(speaker.as_ref(), &entry.loc) {
                continue;
            }
            let wanted = wanted(&entry, false);
            if self.policy.selection.wants(&entry) && self.policy.limit.is_none_or(|most| self.listed < most)
            {
                self.listed += 1;
                self.note_links(speaker.as_ref(), &entry)?;
                part.linked.extend(self.linked(speaker.as_ref(), &entry));
                match self.preferred(speaker.as_ref(), &entry) {
                    Some(alternate) => {
                        part.linked.push(alternate);
                        part.others.push(wanted);
                    }
                    None => part.selected.push(wanted),
                }
            } else {
                part.others.push(wanted);
            }
            if part.selected.len() + part.linked.len() + part.others.len() >= Self::PART {
                self.plan_part(std::mem::take(&mut part))?;
            }
        }
        self.plan_part(part)?;
        self.entries += usable;
        let unusable = entries.entries_read() - usable;
        self.tell_unusable(document, entries.take_findings(), unusable);
        Ok(())
    }

    /// What the entry links to and is wanted with it: a description, a preview (§14.5, §14.6).
    fn linked(&self, speaker: Option<&Origin>, entry: &Entry) -> Vec<Wanted> {
        let relations = &self.policy.with_links;
        let in_scope = |link: &&Link| {
            relations.contains(&link.rel)
                && speaker.is_none_or(|speaker| self.policy.scope.check(speaker, link.href.as_str()).is_ok())
        };
        entry.links.iter().filter(in_scope).map(wanted_link).collect()
    }

    fn plan_part(&mut self, Part { mut selected, mut linked, mut others }: Part) -> Result<(), Error> {
        self.drop_repeated(&mut selected);
        // What is listed itself is told better there than by a link.
        linked.sort_by(|a, b| a.uri.cmp(&b.uri));
        linked.dedup_by(|a, b| a.uri == b.uri);
        linked.retain(|link| selected.binary_search_by(|listed| listed.uri.cmp(&link.uri)).is_err());
        self.meet(&mut selected, false, |_| (Word::Fetch, None))?;
        self.meet(&mut linked, false, |_| (Word::Fetch, None))?;
        self.meet(&mut others, false, |_| (Word::Ignore, None))
    }

    /// One entry for each resource: equal ones are one (D17); of unlike ones the last is tried, and that is told.
    fn drop_repeated(&mut self, part: &mut Vec<Wanted>) {
        part.sort_by(|a, b| a.uri.cmp(&b.uri));
        let troubles = &mut self.troubles;
        let listed = &mut self.listed;
        part.dedup_by(|later, earlier| {
            if later.uri != earlier.uri {
                return false;
            }
            *listed -= 1;
            let uri = earlier.uri.as_str();
            if later.facts == earlier.facts {
                troubles.warning(ProblemKind::Entry, uri, "it is listed twice");
            } else {
                troubles.problem(ProblemKind::Entry, uri, "it is listed twice, with unlike metadata");
                std::mem::swap(later, earlier);
            }
            true
        });
    }

    /// Entries without a usable `loc` cost themselves only (invariant 10).
    pub(super) fn tell_unusable(
        &mut self,
        document: &Document,
        findings: Vec<resourcesync::Finding>,
        unusable: u64,
    ) {
        let uri = document.uri.as_str();
        let mut left = unusable;
        for finding in findings {
            let costs = left > 0 && finding.rule == "GEN-14" && finding.severity == Severity::Error;
            if costs {
                left -= 1;
                self.troubles.problem(ProblemKind::Entry, uri, finding.to_string());
            } else {
                self.troubles.warning(ProblemKind::Entry, uri, finding.to_string());
            }
        }
        for _ in 0..left {
            self.troubles.problem(ProblemKind::Entry, uri, "an entry without a usable loc");
        }
    }
}
