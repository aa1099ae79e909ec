//! Messages from channels: applied if they continue the copy's state, otherwise answered by reading the Source.

use resourcesync::{DocumentReader, Entry, ReadOptions, Uri};

use crate::{
    Error, Event, Phase, Strategy, Via,
    clock::latest_time,
    discover::{CapabilitySet, Discovered},
    documents::Document,
    listen::{ChannelMessage, Consequence, Kind, Listener, Received, leads},
    plan::{Choice, Standing, standing},
    read::{PackageList, is_gone},
    run::SyncRun,
    state::Checkpoint,
};

/// The result of a round of following.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attended {
    /// The messages did not suffice, and the documents of the Source were read.
    Looked,
    /// All changes in the messages were applied, and no document was read.
    Applied {
        /// `true` if they named documents to be read after a delay.
        look_later: bool,
    },
    /// The Source has withdrawn every set that was followed.
    Withdrawn,
}

impl SyncRun<'_> {
    /// Applies the received messages. The checkpoint moves by a notification that directly follows it, or by a Change
    /// List.
    pub(super) async fn attend(
        &mut self,
        received: &Received,
        listener: &mut Listener,
    ) -> Result<Attended, Error> {
        let (framework, changes): (Vec<_>, Vec<_>) =
            received.messages.iter().partition(|message| message.kind == Kind::Framework);
        let Some(source) = listener.source().cloned().filter(|_| !received.look) else {
            return self.look(listener, &changes).await;
        };
        let (mut looks, mut look_later) = (false, false);
        let leads: Vec<_> = framework.iter().flat_map(|message| leads_of(message, listener)).collect();
        for lead in leads {
            match lead {
                Consequence::LookLater => look_later = true,
                Consequence::Look => looks = true,
                Consequence::Gone(document) if self.has_gone(&source, &document).await? => {
                    self.reporter
                        .note(&format!("{document} is withdrawn: what it led to is not followed any more"));
                    if listener.forget(&document) {
                        return Ok(Attended::Withdrawn);
                    }
                }
                Consequence::Gone(_) => looks = true,
            }
        }
        if looks || !self.apply(&source, &changes, false).await? {
            return self.look(listener, &changes).await;
        }
        Ok(Attended::Applied { look_later })
    }

    /// Reads the Source, and applies the received changes that it does not list yet. Its lists may be written long
    /// after its messages (O264).
    async fn look(
        &mut self,
        listener: &mut Listener,
        changes: &[&ChannelMessage],
    ) -> Result<Attended, Error> {
        self.bring_all_in_step(Some(listener)).await?;
        if let Some(source) = listener.source().cloned()
            && self.ending().is_none()
        {
            self.apply(&source, changes, true).await?;
        }
        Ok(Attended::Looked)
    }

    /// Applies the notifications of each set. Returns `false` if the Source must be read first, because one of them
    /// does not directly follow the state held.
    async fn apply(
        &mut self,
        source: &Discovered,
        messages: &[&ChannelMessage],
        was_read: bool,
    ) -> Result<bool, Error> {
        for found in &source.sets {
            let of_set: Vec<_> = messages
                .iter()
                .filter(|message| found.capability_list.as_ref() == Some(&message.set))
                .collect();
            let may_delete = was_read || source.sets.len() == 1;
            if !of_set.is_empty() && !self.apply_to(found, &of_set, was_read, may_delete).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Applies the notifications of a set. Returns `false` if the Source must be read first, because one of them does not
    /// directly follow the state held, or deletes and the run `may_delete` nothing yet.
    async fn apply_to(
        &mut self,
        found: &CapabilitySet,
        messages: &[&&ChannelMessage],
        was_read: bool,
        may_delete: bool,
    ) -> Result<bool, Error> {
        let id = self.copy.set(found)?;
        let Some(mut checkpoint) = self.checkpoint(id)? else { return Ok(false) };
        let by_changes = matches!(self.options.via, Via::Cheapest | Via::Changes);
        if !by_changes || self.options.dry_run || self.must_look_anew(id)? {
            return Ok(false);
        }
        let since = checkpoint.clone();
        let Some(new) = self.unapplied(messages, &mut checkpoint, was_read) else { return Ok(false) };
        if new.is_empty() {
            return Ok(true);
        }
        self.reporter.enter(Phase::Reading);
        // If the Source was just read, pending resources were tried then and are not tried again.
        let mut set = if was_read { self.new_plan_without_pending(id)? } else { self.new_plan(id)? };
        for document in &new {
            set.read_changes(document, None, since.datetime, None, 0).await?;
        }
        self.reporter.problems_of(&set);
        if found.has_inventory() && set.with(|draft| draft.met.record) {
            // A metadata record changed: what it describes is chosen again when the Source is read (O657).
            return Ok(was_read);
        }
        if !may_delete && set.with(|draft| draft.totals().deletions) > 0 {
            // Another set may list what this one gives up, which only its documents show (O948).
            return Ok(false);
        }
        self.choose_by_metadata(&set).await?;
        self.account_for(&mut set, None)?;
        self.add_unusable(&mut set)?;
        self.guard(&mut set, None)?;
        if was_read && checkpoint == since && set.with(|draft| draft.count_actions()) == 0 {
            return Ok(true);
        }
        let totals = set.with(|draft| draft.totals());
        self.reporter.monitor.event(Event::Planned(totals));
        self.reporter.report.unchanged += totals.unchanged;
        let choice = Choice { strategy: Strategy::Changes, reason: "a notification".to_owned() };
        let packages = PackageList::new(self.network.documents.folder());
        let way = self.carrier_of_changes(found, &set, choice, &since, packages).await?;
        let report = &mut self.reporter.report;
        (report.strategy, report.reason) = (way.choice.strategy, way.choice.reason);
        self.carry_out(found, set, Some(checkpoint), way.carrier).await?;
        self.reporter.report.checkpoint = self.state().checkpoint(id)?.and_then(|held| held.datetime);
        Ok(true)
    }

    /// Returns the messages of a set that were not applied yet, and moves the checkpoint to the end of those that directly
    /// follow it. `None` if the Source must be read first.
    fn unapplied(
        &self,
        messages: &[&&ChannelMessage],
        checkpoint: &mut Checkpoint,
        was_read: bool,
    ) -> Option<Vec<Document>> {
        let mut new = Vec::new();
        for ChannelMessage { set, body, .. } in messages {
            let document = self.network.documents.keep(set, &body[..]).ok();
            let readable = document.and_then(|document| Some((document, entries(body, set)?)));
            let reached = checkpoint.datetime.as_ref();
            let standing = readable.as_ref().map_or(Standing::Unclear, |(document, entries)| {
                standing(&document.header, entries, set, reached, &latest_time(document.date))
            });
            match standing {
                Standing::Known => continue,
                Standing::Continues { until } => checkpoint.datetime = Some(until),
                Standing::Apart if was_read => {}
                Standing::Unclear if was_read => continue,
                Standing::Apart | Standing::Unclear => return None,
            }
            new.extend(readable.map(|(document, _)| document));
        }
        Some(new)
    }

    /// Returns `true` if a document that was reported deleted is gone, judged by the document above it: the Source
    /// Description of a Capability List, the host of a Source Description. Nothing is deleted for it either way.
    async fn has_gone(&mut self, source: &Discovered, document: &Uri) -> Result<bool, Error> {
        let description = source.source_description.as_ref();
        let known = description == Some(document)
            || source.sets.iter().any(|set| set.capability_list.as_ref() == Some(document));
        if !known {
            return Ok(false);
        }
        let above = description.unwrap_or(document).clone();
        match self.network.open(&above, Some(document), None).await {
            Ok(Some(found)) if above != *document => {
                let mut listed = false;
                let unusable = found.for_each_usable(|entry| listed |= entry.loc == *document)?;
                // An entry that cannot be used may be that of the document (O709).
                Ok(!listed && unusable == 0)
            }
            Ok(_) => Ok(false),
            Err(error) if is_gone(&error) => Ok(true),
            Err(error) => Err(error),
        }
    }
}

fn leads_of(message: &ChannelMessage, listener: &Listener) -> Vec<Consequence> {
    match entries(&message.body, &message.set) {
        Some(entries) => leads(&entries, listener.receives_all_changes_of(&message.set)),
        None => vec![Consequence::Look],
    }
}

/// Returns all entries of a message; `None` if one of them cannot be read.
fn entries(body: &[u8], base: &Uri) -> Option<Vec<Entry>> {
    let mut reader = DocumentReader::new(body, ReadOptions::for_base(base.clone())).ok()?;
    let entries = reader.entries().collect::<Result<Vec<_>, _>>().ok()?;
    (reader.entries_read() == entries.len() as u64).then_some(entries)
}
