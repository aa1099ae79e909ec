//! Channels and the hub: notifications, sent once the documents are in place.

mod audience;
mod channel;
mod client;
mod framework;
mod hub;
mod joining;
mod options;
mod outbound;
mod payload;
mod socket;
mod transport;
mod upgrade;

use std::{fs, sync::Arc};

use axum::{
    Router,
    routing::{any, get, post},
};
use resourcesync::{Capability, DateTime};
use tokio::{
    runtime::Handle,
    sync::{broadcast, watch},
    task::JoinHandle,
};

use crate::{
    Error, PublishOptions, PublishReport, Publisher,
    catalogue::Snapshot,
    publish::Announce,
    render::{SOURCE_DESCRIPTION, SetPlace, SourcePlace, change_entry},
    serve::methods::{READ_ONLY, TAKES_POSTS, with_methods},
    status::RecentChange,
};
pub use audience::{Audience, ChannelAudience};
use channel::NotificationChannel;
use framework::AnnouncedDocuments;
use hub::Hub;
pub use hub::Signature;
pub use instep_net::Cidr;
use options::HUB;
pub use options::{ChannelDialect, ChannelOptions};
use outbound::ExternalHub;
use payload::WrittenDocument;
use transport::{Listeners, Transport};

/// The kinds of notification, each with a channel per set (CN-2).
const KINDS: [Capability; 2] = [Capability::ChangeNotification, Capability::FrameworkNotification];

/// The path of the event stream for pages, below the base URL.
const EVENTS: &str = "resourcesync/events";

/// Puts the channels into the Capability Lists (CN-3).
pub(crate) fn advertise(publish: &mut PublishOptions, options: &ChannelOptions) -> Result<(), Error> {
    if options.offered {
        let place = SourcePlace::new(&publish.base_url)?;
        for set in &mut publish.sets {
            let place = place.set(&set.name);
            set.channels.extend(KINDS.iter().map(|kind| channel::entry(&place, kind, options)));
        }
    }
    Ok(())
}

/// Announces each publication: a Change Notification and a Framework Notification per set.
pub(crate) struct Announcer {
    sets: Vec<SetChannels>,
    withdrawn: Vec<Withdrawn>,
    is_withdrawal_told: bool,
    transports: Vec<Box<dyn Transport>>,
    hub: Option<RunningHub>,
    /// The last change that was announced.
    sequence: u64,
    recent: broadcast::Sender<Arc<str>>,
}

/// The hub and the task that delivers for it, which ends with the announcer.
struct RunningHub {
    hub: Arc<Hub>,
    task: JoinHandle<()>,
}

impl Drop for RunningHub {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Debug)]
struct SetChannels {
    place: SetPlace,
    changes: Arc<NotificationChannel>,
    framework: Arc<NotificationChannel>,
    /// The time up to which the set's changes are announced.
    until: DateTime,
    announced: AnnouncedDocuments,
}

/// A set that is no longer published. Its framework channel keeps one last message for late listeners (FN-2).
#[derive(Debug)]
struct Withdrawn {
    place: SetPlace,
    framework: Arc<NotificationChannel>,
}

impl Announcer {
    /// Opens the channels of each set and starts the tasks that deliver. Changes that are recorded from now on are
    /// announced.
    pub(crate) fn new(
        publisher: &Publisher,
        options: &ChannelOptions,
        runtime: &Handle,
    ) -> Result<Self, Error> {
        let snapshot = publisher.catalogue().snapshot()?;
        let hubs = options.hubs(publisher.place());
        let until = snapshot.head().datetime.unwrap_or(snapshot.at());
        let sets: Vec<_> = publisher
            .options()
            .sets
            .iter()
            .filter(|_| options.offered)
            .map(|set| {
                let place = publisher.place().set(&set.name);
                let [changes, framework] =
                    KINDS.map(|kind| NotificationChannel::new(&place, &kind, hubs.clone()));
                let documents = fs::read_dir(publisher.options().out.join(place.name("")));
                let names = documents.into_iter().flatten().flatten().map(|entry| entry.file_name());
                let names = names.filter_map(|name| name.into_string().ok());
                let description = publisher.options().out.join(SOURCE_DESCRIPTION);
                let description = description.exists().then(|| SOURCE_DESCRIPTION.to_owned());
                let announced = AnnouncedDocuments::new(names.chain(description));
                SetChannels { place, changes, framework, until, announced }
            })
            .collect();
        let mut transports: Vec<Box<dyn Transport>> = vec![Box::new(Listeners)];
        let withdrawn: Vec<_> = publisher
            .unwanted_sets()?
            .iter()
            .filter(|_| options.offered)
            .map(|name| {
                let place = publisher.place().set(name);
                let framework =
                    NotificationChannel::new(&place, &Capability::FrameworkNotification, hubs.clone());
                Withdrawn { place, framework }
            })
            .collect();
        let channels = sets.iter().flat_map(|set| [&set.changes, &set.framework]);
        let channels: Vec<_> = channels.chain(withdrawn.iter().map(|set| &set.framework)).collect();
        let hub = options.hub.then(|| open_hub(publisher, options, &channels)).transpose()?;
        let hub = hub.map(|hub| RunningHub { task: runtime.spawn(Arc::clone(&hub).run()), hub });
        if let Some(RunningHub { hub, .. }) = &hub {
            transports.push(Box::new(Arc::clone(hub)));
        }
        for hub in &options.external_hubs {
            transports.push(Box::new(ExternalHub::start(hub, runtime)?));
        }
        let (recent, _) = broadcast::channel(64);
        let sequence = snapshot.head().sequence;
        let is_withdrawal_told = withdrawn.is_empty();
        Ok(Self { sets, withdrawn, is_withdrawal_told, transports, hub, sequence, recent })
    }

    /// Returns the routes of the topics and the hub, below the base URL.
    pub(crate) fn routes(&self, origin: Option<&Arc<str>>, ending: &watch::Receiver<bool>) -> Router {
        let mut routes = Router::new();
        let lasting = self.sets.iter().flat_map(|set| [(set, &set.changes), (set, &set.framework)]);
        let lasting = lasting.map(|(set, channel)| (&set.place, channel, false));
        let ended = self.withdrawn.iter().map(|set| (&set.place, &set.framework, true));
        for (place, channel, has_ended) in lasting.chain(ended) {
            let path = channel.topic().as_str().strip_prefix(place.source().base()).unwrap_or_default();
            let topic = socket::Topic {
                channel: Arc::clone(channel),
                has_ended,
                ending: ending.clone(),
                origin: origin.cloned(),
            };
            routes = routes.route(&format!("/{path}"), any(socket::topic).with_state(topic));
        }
        if let Some(RunningHub { hub, .. }) = &self.hub {
            let subscribe = with_methods(TAKES_POSTS, post(hub::answer)).with_state(Arc::clone(hub));
            routes = routes.route(&format!("/{HUB}"), subscribe);
        }
        let (recent, ending) = (self.recent.clone(), ending.clone());
        let events = move || async move { socket::events(recent.subscribe(), "changes", ending) };
        routes.route(&format!("/{EVENTS}"), with_methods(READ_ONLY, get(events)))
    }

    /// Returns the listeners and subscribers, which change while it is kept.
    pub(crate) fn audience(&self) -> Audience {
        let channels = self.sets.iter().flat_map(|set| [&set.changes, &set.framework]).map(Arc::clone);
        let hub = self.hub.as_ref().map(|running| Arc::clone(&running.hub));
        Audience::new(channels.collect(), hub, self.recent.clone())
    }

    fn announce_changes(&mut self, snapshot: &Snapshot, report: &PublishReport) -> Result<(), Error> {
        let gone = self.announce_withdrawal(snapshot)?;
        for (number, set) in (0_u32..).zip(&mut self.sets) {
            let changes = snapshot.changes(1 << number, self.sequence);
            let entries = changes.map(|change| Ok(change_entry(change?)));
            let burst = payload::change_notifications(&set.place, set.until, entries)?;
            for message in &burst.messages {
                self.transports.iter().try_for_each(|transport| transport.send(&set.changes, message))?;
            }
            // Changes that were left out leave a gap, which shows in the next message.
            let end = if burst.is_cut { snapshot.head().datetime } else { Some(burst.until) };
            set.until = end.unwrap_or(set.until);
            let mut written = set.announced.written(&set.place, &report.documents);
            written.extend_from_slice(&gone);
            let message = payload::framework_notification(&set.place, &written, snapshot.at())?;
            if let Some(message) = message {
                self.transports.iter().try_for_each(|transport| transport.send(&set.framework, &message))?;
            }
        }
        self.announce_on_pages(snapshot)?;
        self.sequence = snapshot.head().sequence;
        Ok(())
    }

    /// Announces once on their own channels that sets are gone. Returns the documents that the other channels must
    /// announce for it.
    fn announce_withdrawal(&mut self, snapshot: &Snapshot) -> Result<Vec<WrittenDocument>, Error> {
        if std::mem::replace(&mut self.is_withdrawal_told, true) {
            return Ok(Vec::new());
        }
        for set in &self.withdrawn {
            let gone = [framework::withdrawn(&set.place)];
            let message = payload::framework_notification(&set.place, &gone, snapshot.at())?;
            if let Some(message) = &message {
                self.transports.iter().try_for_each(|transport| transport.send(&set.framework, message))?;
            }
        }
        Ok(self.withdrawn.iter().map(|set| framework::withdrawn(&set.place)).collect())
    }

    /// Sends the newest changes to the pages that are open.
    fn announce_on_pages(&self, snapshot: &Snapshot) -> Result<(), Error> {
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

fn open_hub(
    publisher: &Publisher,
    options: &ChannelOptions,
    channels: &[&Arc<NotificationChannel>],
) -> Result<Arc<Hub>, Error> {
    let topics = channels.iter().map(|channel| (channel.topic().to_string(), channel.links())).collect();
    let path = publisher.options().state.join("hub.db");
    Hub::open(&path, topics, options.callbacks.clone(), options.signature)
}

impl Announce for Announcer {
    fn announce(&mut self, publisher: &Publisher, report: &PublishReport) -> Result<(), Error> {
        if report.is_nothing_new() {
            return Ok(());
        }
        let announced = publisher.catalogue().snapshot().map_err(Error::from);
        // Subscribers see the gap in the next message, and read the Change List, so nothing is published again.
        if let Err(error) = announced.and_then(|snapshot| self.announce_changes(&snapshot, report)) {
            tracing::warn!(%error, "a publication could not be announced");
        }
        Ok(())
    }
}
