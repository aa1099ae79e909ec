//! Channels and the hub: who is told, after the documents are in place.

mod channel;
mod framework;
mod payload;
mod socket;

use std::{fs, sync::Arc};

use axum::{
    Router,
    routing::{any, get},
};
use resourcesync::{Capability, DateTime};
use tokio::sync::{broadcast, watch};

use crate::{
    Error, PublishOptions, PublishReport, Publisher,
    catalogue::Snapshot,
    live::Announce,
    render::{Place, SetPlace, change_entry},
    serve::RecentChange,
};
use channel::Channel;
use framework::Told;

/// Which form of notifications is offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// 1.0: the topic's URI, which answers a WebSocket upgrade too (CN-3).
    #[default]
    V1_0,
    /// 0.8: the WebSocket's URI alone (N8-2).
    V0_8,
}

/// How changes are told to those who listen.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ChannelOptions {
    /// Whether there are channels.
    pub offered: bool,
    /// How they are advertised.
    pub dialect: Dialect,
}

impl Default for ChannelOptions {
    fn default() -> Self {
        Self { offered: true, dialect: Dialect::default() }
    }
}

/// The kinds of notification, each with a channel per set (CN-2).
const KINDS: [Capability; 2] = [Capability::ChangeNotification, Capability::FrameworkNotification];

/// Where pages hear of changes, below the base URL.
const EVENTS: &str = "resourcesync/events";

/// Puts the channels into the Capability Lists (CN-3).
pub(crate) fn advertise(publish: &mut PublishOptions, options: &ChannelOptions) -> Result<(), Error> {
    if options.offered {
        let place = Place::new(&publish.base_url)?;
        for set in &mut publish.sets {
            let place = place.set(&set.name);
            set.channels.extend(KINDS.iter().map(|kind| channel::entry(&place, kind, options, None)));
        }
    }
    Ok(())
}

/// Tells of each publication: a Change Notification and a Framework Notification per set.
#[derive(Debug)]
pub(crate) struct Announcer {
    sets: Vec<SetChannels>,
    /// The last change that was told, and the time up to which all is told.
    sequence: u64,
    until: DateTime,
    recent: broadcast::Sender<Arc<str>>,
}

#[derive(Debug)]
struct SetChannels {
    place: SetPlace,
    changes: Arc<Channel>,
    framework: Arc<Channel>,
    told: Told,
}

impl Announcer {
    /// Channels for each set. What is recorded from now on is told.
    pub(crate) fn new(publisher: &Publisher) -> Result<Self, Error> {
        let snapshot = publisher.catalogue().snapshot()?;
        let sets = publisher.options().sets.iter().map(|set| {
            let place = publisher.place().set(&set.name);
            let [changes, framework] = KINDS.map(|kind| Channel::new(&place, &kind, None));
            let documents = fs::read_dir(publisher.options().out.join(place.name("")));
            let names = documents.into_iter().flatten().flatten().map(|entry| entry.file_name());
            let told = Told::new(names.filter_map(|name| name.into_string().ok()));
            SetChannels { place, changes, framework, told }
        });
        let (recent, _) = broadcast::channel(64);
        Ok(Self { sets: sets.collect(), sequence: snapshot.head().sequence, until: snapshot.at(), recent })
    }

    /// The routes of the topics, below the base URL.
    pub(crate) fn routes(
        &self,
        options: &ChannelOptions,
        origin: Option<Arc<str>>,
        ending: &watch::Receiver<bool>,
    ) -> Router {
        let mut routes = Router::new();
        for set in self.sets.iter().filter(|_| options.offered) {
            for channel in [&set.changes, &set.framework] {
                let path =
                    channel.topic().as_str().strip_prefix(set.place.source().base()).unwrap_or_default();
                let topic = socket::Topic {
                    channel: Arc::clone(channel),
                    ending: ending.clone(),
                    origin: origin.clone(),
                };
                routes = routes.route(&format!("/{path}"), any(socket::topic).with_state(topic));
            }
        }
        let (recent, ending) = (self.recent.clone(), ending.clone());
        let events = move || async move { socket::events(recent.subscribe(), "changes", ending) };
        routes.route(&format!("/{EVENTS}"), get(events))
    }

    fn tell(&mut self, snapshot: &Snapshot, report: &PublishReport) -> Result<(), Error> {
        for (number, set) in (0_u32..).zip(&mut self.sets) {
            let changes = snapshot.changes(1 << number, self.sequence);
            let entries = changes.map(|change| Ok(change_entry(change?)));
            for message in payload::change_notifications(&set.place, self.until, entries)? {
                set.changes.send(&message);
            }
            let written = set.told.written(&set.place, &report.documents);
            let message = payload::framework_notification(&set.place, &written, snapshot.at())?;
            if let Some(message) = message {
                set.framework.send(&message);
            }
        }
        self.tell_people(snapshot)?;
        self.sequence = snapshot.head().sequence;
        self.until = snapshot.head().datetime.unwrap_or(self.until);
        Ok(())
    }

    /// The newest changes for pages that are open.
    fn tell_people(&self, snapshot: &Snapshot) -> Result<(), Error> {
        const MOST: u64 = 50;
        let last = snapshot.head().sequence;
        if last == self.sequence || self.recent.receiver_count() == 0 {
            return Ok(());
        }
        let newest = snapshot.changes(u64::MAX, self.sequence.max(last.saturating_sub(MOST)));
        let news = newest.map(|change| Ok(RecentChange::from(change?))).collect::<Result<Vec<_>, Error>>()?;
        let _ = self.recent.send(serde_json::to_string(&news).unwrap_or_default().into());
        Ok(())
    }
}

impl Announce for Announcer {
    fn announce(&mut self, publisher: &Publisher, report: &PublishReport) {
        if report.is_nothing_new() {
            return;
        }
        let told = publisher.catalogue().snapshot().map_err(Error::from);
        // Who listens sees the gap in the next message, and reads the Change List.
        if let Err(error) = told.and_then(|snapshot| self.tell(&snapshot, report)) {
            tracing::warn!(%error, "a publication could not be told");
        }
    }
}
