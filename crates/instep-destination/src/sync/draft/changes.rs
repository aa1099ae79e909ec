use std::collections::BTreeMap;

use resourcesync::{Capability, DateTime, Entry, Relation};

use super::{Draft, Word};
use crate::{
    Error,
    documents::Document,
    http::Origin,
    plan::{self, Mark, Place, Shape, Survey, supersedes},
    state::Wanted,
    sync::wanted::{following, wanted},
};

/// The newest word about each resource of a stretch of changes.
type Window = BTreeMap<String, (Place, Word, Wanted)>;

impl Draft {
    /// Folds the changes of a list over the plan (§12.1): those that were not read before, and of these the ones at
    /// `since` or later. The list is read to its end before the first of them counts (D16).
    pub(crate) fn read_changes(
        &mut self,
        document: &Document,
        mark: Option<&Mark>,
        since: Option<&DateTime>,
    ) -> Result<Shape, Error> {
        let mut survey = Survey::new(document.header.metadata.as_ref(), mark);
        document.for_each(|entry| survey.observe(entry))?;
        let shape = survey.finish();
        if shape.went_back || shape.known == shape.entries {
            return Ok(shape);
        }
        self.spoken = true;
        self.fold(document, &shape, since)?;
        Ok(shape)
    }

    fn fold(&mut self, document: &Document, shape: &Shape, since: Option<&DateTime>) -> Result<(), Error> {
        let speaker = document.origin();
        // A manifest speaks of what is in its package.
        let tells_links = document.header.capability() == Some(&Capability::ChangeList);
        let mut entries = document.read()?;
        let mut entry = Entry::default();
        let mut window = Window::new();
        let (mut ordinal, mut inherited) = (0, None);
        while entries.read_entry(&mut entry).map_err(|error| document.unreadable(error))? {
            ordinal += 1;
            let place = shape.place(&entry, &mut inherited, ordinal);
            let before = since.zip(place.time).is_some_and(|(since, time)| time.end() <= since.instant());
            let after =
                self.policy.as_of.zip(place.time).is_some_and(|(as_of, time)| time.instant() >= as_of.end());
            if ordinal <= shape.known || before || !self.in_scope(speaker.as_ref(), &entry.loc) {
                continue;
            }
            self.note_undoing(&entry, place.time, after)?;
            if after {
                continue;
            }
            if self.versions.is_some()
                && plan::wanted(entry.metadata.change.as_ref()) != plan::Wanted::Delete
                && self.policy.selection.wants(&entry)
            {
                self.note_links(speaker.as_ref(), &entry)?;
            }
            self.met_a_record |= self.may_be_record(&entry);
            self.put(&mut window, speaker.as_ref(), &entry, place);
            if window.len() == Self::PART {
                self.plan_window(std::mem::take(&mut window), tells_links)?;
            }
        }
        let unusable = entries.entries_read() - ordinal;
        self.tell_unusable(document, entries.take_findings(), unusable);
        self.plan_window(window, tells_links)
    }

    /// Whether resources may be chosen by what it says. A resource that no record describes is never chosen, so that what has none
    /// is a record, or of no interest.
    fn may_be_record(&self, entry: &Entry) -> bool {
        self.policy.condition.is_some() && entry.link_for(&Relation::DescribedBy).is_none()
    }

    fn put(&self, window: &mut Window, speaker: Option<&Origin>, entry: &Entry, place: Place) {
        let word = match plan::wanted(entry.metadata.change.as_ref()) {
            plan::Wanted::Delete => Word::Delete,
            _ if !self.policy.selection.wants(entry) => Word::Ignore,
            plan::Wanted::Fetch => Word::Fetch,
            plan::Wanted::Ask => Word::Ask,
        };
        let alternate = self.preferred(speaker, entry).filter(|_| word == Word::Fetch);
        let mut wanted = alternate.unwrap_or_else(|| wanted(entry, word == Word::Ask));
        wanted.facts.datetime = place.time;
        match window.get(wanted.uri.as_str()) {
            Some((earlier, ..)) if !supersedes(place, *earlier) => return,
            Some((_, Word::Fetch, earlier)) if word == Word::Fetch => wanted = following(wanted, earlier),
            _ => {}
        }
        window.insert(wanted.uri.as_str().to_owned(), (place, word, wanted));
    }

    fn plan_window(&mut self, window: Window, tells_links: bool) -> Result<(), Error> {
        let mut words = BTreeMap::new();
        let mut part = Vec::with_capacity(window.len());
        for (uri, (place, word, wanted)) in window {
            words.insert(uri, (word, place.ordinal));
            part.push(wanted);
        }
        self.meet(&mut part, tells_links, |wanted| match words.get(wanted.uri.as_str()) {
            Some((word, ordinal)) => (*word, Some(*ordinal)),
            None => (Word::Ignore, None),
        })
    }
}
