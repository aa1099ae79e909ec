//! Channels and the hub: notifications, sent once the documents are in place.

mod audience;
mod channel;
mod client;
mod framework;
mod hub;
mod joining;
mod options;
#[cfg(feature = "postgres")]
mod other_servers;
#[cfg(not(feature = "postgres"))]
#[path = "notify/no_other_servers.rs"]
mod other_servers;
mod outbound;
mod payload;
mod socket;
mod topics;
mod transport;
mod upgrade;

use std::{fs, sync::Arc};

use axum::{Router, routing::post};
use resourcesync::DateTime;
use tokio::{runtime::Handle, sync::watch, task::JoinHandle};

use crate::{
    Error, PublishOptions, PublishReport, Publisher,
    catalogue::{CatalogueError, ChangeRecord, Snapshot},
    publish::{Announce, SourceContext},
    render::{SOURCE_DESCRIPTION, SourcePlace, change_entry},
    serve::methods::{TAKES_POSTS, with_methods},
    status::RecentChange,
};
pub use audience::{Audience, ChannelAudience};
use framework::AnnouncedDocuments;
use hub::Hub;
pub use hub::Signature;
pub use instep_net::Cidr;
use options::HUB;
pub use options::{ChannelDialect, ChannelOptions};
use other_servers::OtherServers;
use outbound::ExternalHub;
use payload::WrittenDocument;
pub(crate) use topics::Topics;
use topics::{EVENTS, KINDS};
use transport::{Listeners, Transport};

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
    topics: Topics,
    /// The last announcement of each set.
    announced: Vec<AnnouncedSet>,
    is_withdrawal_announced: bool,
    transports: Vec<Box<dyn Transport>>,
    other_servers: Option<OtherServers>,
    hub: Option<RunningHub>,
    /// The last change that was announced.
    sequence: u64,
}

/// The part of a set that is announced.
#[derive(Debug)]
struct AnnouncedSet {
    /// The time up to which its changes are announced.
    until: DateTime,
    documents: AnnouncedDocuments,
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

impl Announcer {
    /// Opens the channels of each set and starts the tasks that deliver. Changes that are recorded from now on are
    /// announced.
    pub(crate) fn new(
        source: &SourceContext,
        options: &ChannelOptions,
        runtime: &Handle,
    ) -> Result<Self, Error> {
        let snapshot = source.catalogue().snapshot()?;
        let topics = Topics::new(source, options)?;
        let out = &source.options().out;
        let announced = topics.sets.iter().map(|set| {
            let documents = fs::read_dir(out.join(set.place.name("")));
            let names = documents.into_iter().flatten().flatten().map(|entry| entry.file_name());
            let names = names.filter_map(|name| name.into_string().ok());
            let description = out.join(SOURCE_DESCRIPTION).exists().then(|| SOURCE_DESCRIPTION.to_owned());
            AnnouncedSet {
                until: snapshot.head().datetime.unwrap_or(snapshot.at()),
                documents: AnnouncedDocuments::new(names.chain(description)),
            }
        });
        let announced = announced.collect();
        let other_servers = OtherServers::of(source.catalogue());
        let mut transports: Vec<Box<dyn Transport>> = Vec::new();
        // First, so that the other servers have every message that listeners of this server received, even if it is
        // killed now.
        transports.extend(other_servers.clone().map(|others| Box::new(others) as Box<dyn Transport>));
        transports.push(Box::new(Listeners));
        let hub = options.hub.then(|| open_hub(source, options, &topics)).transpose()?;
        let hub = hub.map(|hub| {
            let run = other_servers::hub_at_work(Arc::clone(&hub), source.catalogue().clone());
            RunningHub { task: runtime.spawn(run), hub }
        });
        if let Some(RunningHub { hub, .. }) = &hub {
            transports.push(Box::new(Arc::clone(hub)));
        }
        for hub in &options.external_hubs {
            transports.push(Box::new(ExternalHub::start(hub, runtime)?));
        }
        let sequence = snapshot.head().sequence;
        let is_withdrawal_announced = topics.withdrawn.is_empty();
        Ok(Self { topics, announced, is_withdrawal_announced, transports, other_servers, hub, sequence })
    }

    /// Returns the routes of the topics and the hub, below the base URL.
    pub(crate) fn routes(&self, origin: Option<&Arc<str>>, ending: &watch::Receiver<bool>) -> Router {
        let routes = self.topics.routes(origin, ending);
        let Some(RunningHub { hub, .. }) = &self.hub else { return routes };
        let subscribe = with_methods(TAKES_POSTS, post(hub::answer_request)).with_state(Arc::clone(hub));
        routes.route(&format!("/{HUB}"), subscribe)
    }

    /// Returns the listeners and subscribers, which change while it is kept.
    pub(crate) fn audience(&self) -> Audience {
        self.topics.audience(self.hub.as_ref().map(|running| Arc::clone(&running.hub)))
    }

    /// Announces the changes up to the last one that the documents have, and these documents. Others may have been recorded
    /// meanwhile: readers would look for them in vain. Changes are described as in the Change Lists, because readers do not
    /// look for them there.
    fn announce_changes(
        &mut self,
        source: &SourceContext,
        snapshot: &Snapshot,
        last: u64,
        documents: &[String],
    ) -> Result<(), Error> {
        let gone = self.announce_withdrawal(snapshot)?;
        let views = source.set_views(snapshot);
        for ((set, view), announced) in self.topics.sets.iter().zip(&views).zip(&mut self.announced) {
            let changes = up_to(view.changes(self.sequence), last);
            let entries = changes.map(|change| change.map(change_entry));
            let burst = payload::change_notifications(&set.place, announced.until, entries)?;
            for message in &burst.messages {
                self.transports.iter().for_each(|transport| transport.send(&set.changes, message));
            }
            // Changes that were left out leave a gap, which shows in the next message.
            let end = if burst.is_cut { time_of(snapshot, last)? } else { None };
            announced.until = end.unwrap_or(burst.until);
            let mut written = announced.documents.written(&set.place, documents);
            written.extend_from_slice(&gone);
            let message = payload::framework_notification(&set.place, &written, snapshot.at())?;
            if let Some(message) = message {
                self.transports.iter().for_each(|transport| transport.send(&set.framework, &message));
            }
        }
        self.announce_on_pages(snapshot, last)?;
        self.sequence = last;
        Ok(())
    }

    /// Announces once on their own channels that sets are gone. Returns the documents that the other channels must
    /// announce for it.
    fn announce_withdrawal(&mut self, snapshot: &Snapshot) -> Result<Vec<WrittenDocument>, Error> {
        if std::mem::replace(&mut self.is_withdrawal_announced, true) {
            return Ok(Vec::new());
        }
        for set in &self.topics.withdrawn {
            let gone = [framework::withdrawn(&set.place)];
            let message = payload::framework_notification(&set.place, &gone, snapshot.at())?;
            if let Some(message) = &message {
                self.transports.iter().for_each(|transport| transport.send(&set.framework, message));
            }
        }
        Ok(self.topics.withdrawn.iter().map(|set| framework::withdrawn(&set.place)).collect())
    }

    /// Sends the newest changes to the pages that are open.
    fn announce_on_pages(&self, snapshot: &Snapshot, last: u64) -> Result<(), Error> {
        const MOST: u64 = 50;
        let is_open = self.other_servers.is_some() || self.topics.recent.receiver_count() > 0;
        if last == self.sequence || !is_open {
            return Ok(());
        }
        let after = self.sequence.max(last.saturating_sub(MOST));
        let newest = changes_between(snapshot, u64::MAX, after, last);
        let news = newest.map(|change| Ok(RecentChange::from(change?))).collect::<Result<Vec<_>, Error>>()?;
        let news = serde_json::to_string(&news).unwrap_or_default();
        if let Some(others) = &self.other_servers {
            others.share_message(EVENTS, news.clone().into_bytes());
        }
        let _ = self.topics.recent.send(news.into());
        Ok(())
    }
}

/// Returns the changes of some sets after one change, up to another one.
fn changes_between(
    snapshot: &Snapshot,
    sets: u64,
    after: u64,
    last: u64,
) -> impl Iterator<Item = Result<ChangeRecord, CatalogueError>> + '_ {
    up_to(snapshot.changes(sets, after), last)
}

/// Returns the changes up to one of them.
fn up_to<E>(
    changes: impl Iterator<Item = Result<ChangeRecord, E>>,
    last: u64,
) -> impl Iterator<Item = Result<ChangeRecord, E>> {
    changes.take_while(move |change| change.as_ref().map_or(true, |it| it.sequence <= last))
}

/// Returns the time of a change; `None` if the log no longer has it.
fn time_of(snapshot: &Snapshot, sequence: u64) -> Result<Option<DateTime>, Error> {
    let change = changes_between(snapshot, u64::MAX, sequence.saturating_sub(1), sequence).next();
    Ok(change.transpose()?.map(|change| change.datetime))
}

fn open_hub(source: &SourceContext, options: &ChannelOptions, topics: &Topics) -> Result<Arc<Hub>, Error> {
    let topics = topics.channels().map(|channel| (channel.topic().to_string(), channel.links())).collect();
    let path = source.options().state.join("hub.db");
    Hub::open(source.catalogue(), &path, topics, options.callbacks.clone(), options.signature)
}

impl Announce for Announcer {
    fn announce(&mut self, publisher: &Publisher, report: &PublishReport) -> Result<(), Error> {
        let documents = publisher.unannounced();
        // Changes and documents of a publication that failed once these were in place are still to be announced.
        if report.is_nothing_new() && report.sequence == self.sequence && documents.is_empty() {
            return Ok(());
        }
        let announced = publisher.catalogue().snapshot().map_err(Error::from);
        // Subscribers see the gap in the next message, and read the Change List, so nothing is published again.
        let announce = |snapshot: Snapshot| {
            self.announce_changes(publisher.context(), &snapshot, report.sequence, documents)
        };
        if let Err(error) = announced.and_then(announce) {
            tracing::warn!(%error, "a publication could not be announced");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use resourcesync::Relation;

    use super::*;
    use crate::{
        CodingRule, LinkRule, NoMonitor,
        publish::ScanScope,
        scan::{ScanOptions, scan},
    };

    /// A step that fails once the documents are in place, as a delivery to object storage may.
    struct FailingStep;

    impl Announce for FailingStep {
        fn announce(&mut self, _: &Publisher, _: &PublishReport) -> Result<(), Error> {
            Err(Error::Stopped)
        }
    }

    #[tokio::test]
    async fn o690_documents_of_a_publication_that_failed_once_they_were_in_place_are_announced_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a"), "a").unwrap();
        let options = PublishOptions::new(folder.path(), "http://example.org/");
        let mut publisher = Publisher::open(options).unwrap();
        publisher.publish(&NoMonitor).unwrap();
        let options = ChannelOptions { hub: false, ..ChannelOptions::default() };
        let mut announcer = Announcer::new(publisher.context(), &options, &Handle::current()).unwrap();
        let framework = Arc::clone(&announcer.topics.sets[0].framework);
        fs::write(folder.path().join("b"), "b").unwrap();
        assert!(publisher.run(ScanScope::Everything, &mut FailingStep, &NoMonitor).is_err());
        assert_eq!(framework.last(), None);
        let next = publisher.run(ScanScope::Everything, &mut announcer, &NoMonitor).unwrap();
        assert!(next.is_nothing_new());
        let message = framework.last().unwrap();
        assert!(
            message.contains("changelist-000001.xml<") && message.contains("resourcelist.xml<"),
            "{message}"
        );
        publisher.run(ScanScope::Everything, &mut announcer, &NoMonitor).unwrap();
        assert_eq!(framework.last(), Some(message), "once");
    }

    #[tokio::test]
    async fn o816_a_notification_describes_a_change_as_the_change_list_does() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| fs::write(folder.path().join(name), name).unwrap();
        write("a.xml");
        let mut options = PublishOptions::new(folder.path(), "http://example.org/");
        options.sets[0].links = vec![LinkRule::new("*.pdf", Relation::DescribedBy, "*.xml")];
        options.sets[0].codings = vec![CodingRule::new("*.json.gz", "gzip")];
        let mut publisher = Publisher::open(options).unwrap();
        publisher.publish(&NoMonitor).unwrap();
        let options = ChannelOptions { hub: false, ..ChannelOptions::default() };
        let mut announcer = Announcer::new(publisher.context(), &options, &Handle::current()).unwrap();
        write("a.pdf");
        write("b.json.gz");
        publisher.run(ScanScope::Everything, &mut announcer, &NoMonitor).unwrap();
        let message = announcer.topics.sets[0].changes.last().unwrap();
        let list = folder.path().join("resourcesync/changelist-000001.xml");
        let listed = fs::read_to_string(list).unwrap();
        for part in ["href=\"http://example.org/a.xml\"", "encoding=\"gzip\"", "type=\"application/json\""] {
            assert!(listed.contains(part) && message.contains(part), "{part}: {message}");
        }
    }

    #[tokio::test]
    async fn o627_exactly_the_changes_that_documents_have_are_announced() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| fs::write(folder.path().join(name), name).unwrap();
        write("a");
        let options = PublishOptions::new(folder.path(), "http://example.org/");
        let mut publisher = Publisher::open(options).unwrap();
        publisher.publish(&NoMonitor).unwrap();
        let options = ChannelOptions { hub: false, ..ChannelOptions::default() };
        let mut announcer = Announcer::new(publisher.context(), &options, &Handle::current()).unwrap();
        let names = |announcer: &Announcer, name: &str| {
            let last = announcer.topics.sets[0].changes.last();
            last.is_some_and(|text| text.contains(&format!("example.org/{name}<")))
        };
        write("b");
        let first = publisher.publish(&NoMonitor).unwrap();
        // An application records a change before the documents are announced.
        write("c");
        let scanned = ScanOptions::new(publisher.options());
        scan(publisher.holdings(), publisher.catalogue(), &scanned, &NoMonitor).unwrap();
        announcer.announce(&publisher, &first).unwrap();
        assert!(names(&announcer, "b") && !names(&announcer, "c"));
        // As if the publication had failed once its documents were in place.
        publisher.publish(&NoMonitor).unwrap();
        let next = publisher.publish(&NoMonitor).unwrap();
        assert!(next.is_nothing_new());
        announcer.announce(&publisher, &next).unwrap();
        assert!(names(&announcer, "c") && !names(&announcer, "b"));
    }
}
