//! A standby server. It shows the documents of the publishing server, sends the same messages to its own listeners,
//! and publishes itself once the publishing server has ended.
//!
//! It reads numbered rows of the catalogue. A wake-up by the database only shortens the wait for the next reading.
//!
//! It reads the numbers of documents and messages first, then the documents, then the messages up to that number, so
//! that every document that a message announces is in place. It has the lock of its own folder, and tries to take the
//! lease of the Source all the time, on another thread.

use std::{
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::sync::{oneshot, watch};

use super::{
    channels::{Channels, Topics},
    moved::Moves,
    options::AdvertisedOptions,
    site::SiteOptions,
    switch::SwitchedRoutes,
};
use crate::{
    Error, ErrorKind, PublishMonitor, PublishProblem, Publisher,
    catalogue::ReadShared,
    publish::{DocumentCopies, HeldFolder, SourceContext},
    status::{self, Overview},
};

/// The longest time between two looks at the rows.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The pause between two attempts to publish.
const ATTEMPT_EVERY: Duration = Duration::from_millis(200);

/// A standby server.
pub(super) struct StandbyServer {
    held: Arc<HeldFolder>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Option<StandbySite>>>,
    /// The site, once nothing follows any more: its listeners stay until others answer requests.
    left: Option<StandbySite>,
}

impl StandbyServer {
    /// Takes the folder of the state for a server that stands by; `None` within if it has the catalogue, so that only one
    /// server can use it, and `None` if the server was shut down meanwhile.
    ///
    /// # Errors
    /// As [`HeldFolder::take`].
    pub(super) async fn hold(
        options: &AdvertisedOptions,
        stands_by: bool,
        shutdown: Pin<&mut impl Future<Output = ()>>,
    ) -> Result<Option<Option<HeldFolder>>, Error> {
        if !stands_by {
            return Ok(Some(None));
        }
        let publish = options.publish.clone();
        let (done, taken) = oneshot::channel();
        // Not a task of the runtime: its end must not wait for a database that does not answer.
        thread::spawn(move || drop(done.send(HeldFolder::take(&publish))));
        tokio::select! {
            () = shutdown => Ok(None),
            taken = taken => taken.map_err(|_| Error::PublisherFailed)?.map(Some),
        }
    }

    /// Begins to follow the server that publishes. The routes are replaced once there are documents to show.
    pub(super) fn start(
        held: HeldFolder,
        options: &AdvertisedOptions,
        routes: SwitchedRoutes,
        monitor: Arc<dyn PublishMonitor>,
    ) -> Result<Self, Error> {
        let (held, stop) = (Arc::new(held), Arc::new(AtomicBool::new(false)));
        let mut following = StandbyLoop {
            held: Arc::clone(&held),
            channels: options.channels.clone(),
            site: options.site.clone(),
            copies: DocumentCopies::new(&options.publish),
            routes,
            monitor,
            source: None,
            shown: None,
            messages: 0,
        };
        let stopped = Arc::clone(&stop);
        let thread = thread::Builder::new()
            .name("standby".to_owned())
            .spawn(move || following.run(&stopped))
            .map_err(|source| Error::Watch { path: options.publish.out.clone(), source: source.into() })?;
        Ok(Self { held, stop, thread: Some(thread), left: None })
    }

    /// Waits until this server has the right to publish. Nothing else writes to the folder of the documents then.
    ///
    /// # Errors
    /// As [`Publisher::open`], except that a database which cannot be reached is tried again.
    pub(super) async fn publisher(
        &mut self,
        address: SocketAddr,
        monitor: &dyn PublishMonitor,
    ) -> Result<Publisher, Error> {
        let mut has_reported = false;
        loop {
            let (held, gives_up) = (Arc::clone(&self.held), Arc::clone(&self.stop));
            let (done, attempt) = oneshot::channel();
            // Not a task of the runtime: its end must not wait until it is known if the other server lives.
            thread::spawn(move || drop(done.send(held.publisher(gives_up))));
            match attempt.await.map_err(|_| Error::PublisherFailed)? {
                Ok(publisher) => {
                    self.stop.store(true, Ordering::Release);
                    if let Some(thread) = self.thread.take() {
                        let (done, joined) = oneshot::channel();
                        thread::spawn(move || drop(done.send(thread.join().ok().flatten())));
                        self.left = joined.await.ok().flatten();
                    }
                    return Ok(publisher);
                }
                Err(Error::Locked { holder, .. }) => {
                    if !std::mem::replace(&mut has_reported, true) {
                        monitor.standing_by(&holder, Some(address));
                    }
                }
                // The thread that follows reports it; the documents are shown as they are.
                Err(error) if has_reported && error.kind() == ErrorKind::Storage => {
                    tracing::debug!(%error, "the catalogue cannot be reached");
                    tokio::time::sleep(LOOK_EVERY).await;
                }
                Err(error) => return Err(error),
            }
            tokio::time::sleep(ATTEMPT_EVERY).await;
        }
    }
}

impl Drop for StandbyServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
    }
}

/// The thread that follows the server that publishes.
struct StandbyLoop {
    held: Arc<HeldFolder>,
    channels: Channels,
    site: SiteOptions,
    copies: DocumentCopies,
    routes: SwitchedRoutes,
    monitor: Arc<dyn PublishMonitor>,
    /// `None` until the database has the Source.
    source: Option<SourceContext>,
    /// `None` until there are documents.
    shown: Option<StandbySite>,
    /// The number of the last message that was passed on.
    messages: u64,
}

/// A Source as this server shows it. Dropping it ends the sockets of its listeners.
struct StandbySite {
    topics: Topics,
    overview: watch::Sender<Arc<Overview>>,
    _ending: watch::Sender<bool>,
}

impl StandbyLoop {
    /// Follows the publishing server until `stop` is set. Returns the site.
    fn run(&mut self, stop: &AtomicBool) -> Option<StandbySite> {
        let mut reported = String::new();
        while !stop.load(Ordering::Acquire) {
            match self.look() {
                Ok(()) => reported.clear(),
                Err(error) => {
                    let what = instep_store::error_chain(&error);
                    if what != reported {
                        self.monitor.problem(&PublishProblem::warning("standby", what.clone()));
                        reported = what;
                    }
                }
            }
            let shared = self.source.as_ref().and_then(|source| source.catalogue().shared());
            if shared.is_none_or(|shared| shared.wait(LOOK_EVERY).is_err()) {
                thread::sleep(LOOK_EVERY);
            }
        }
        self.shown.take()
    }

    /// Shows what was published since the last look.
    fn look(&mut self) -> Result<(), Error> {
        if let Some(source) = &self.source
            && source.has_other_sets()?
        {
            // It is opened again with the sets that the publishing server has now, and listeners open their channels again.
            let source = self.held.open_beside()?;
            (self.source, self.shown, self.messages) = (source, None, 0);
        }
        let source = match self.source.take() {
            Some(source) => source,
            None => match self.held.open_beside()? {
                Some(source) => source,
                None => return Ok(()),
            },
        };
        let source = self.source.insert(source);
        let Some(shared) = source.catalogue().shared() else { return Ok(()) };
        // Before the documents: a message is written after the documents that it announces, and must not reach a listener
        // before these can be fetched.
        let position = shared.position()?;
        if position.documents == 0 {
            return Ok(());
        }
        self.copies.update(shared)?;
        // Not only of this look: a former one may have failed on the way.
        let has_news = self.copies.has_news();
        if has_news {
            source.holdings().refresh(&*self.monitor)?;
        }
        match &self.shown {
            Some(shown) if has_news => {
                let overview = status::overview(source, &shown.overview.borrow())?;
                shown.overview.send_replace(Arc::new(overview));
            }
            Some(_) => {}
            None => {
                let overview = watch::channel(Arc::new(status::overview(source, &Overview::default())?)).0;
                let (ending, is_ending) = watch::channel(false);
                let origin = self.site.only_origin(source.place());
                let (topics, channels) = self.channels.open_beside(source, origin.as_ref(), &is_ending)?;
                let app = self.site.open(source, channels, overview.subscribe(), &self.monitor)?;
                let routes = Moves::of(source)?.redirecting(app.router());
                self.shown = Some(StandbySite { topics, overview, _ending: ending });
                // Before the messages, which the next look passes on if this one cannot read them.
                self.routes.set(routes);
            }
        }
        self.copies.followed();
        // At first all of them: late listeners get the last message of each topic.
        if let Some(shown) = &self.shown {
            self.messages = pass_on(shared, &shown.topics, (self.messages, position.messages))?;
        }
        Ok(())
    }
}

/// Passes the messages between two numbers on to the listeners. Returns the number of the last one.
fn pass_on(shared: &dyn ReadShared, topics: &Topics, (after, last): (u64, u64)) -> Result<u64, Error> {
    if last > after {
        for message in shared.messages_after(after)?.into_iter().filter(|message| message.number <= last) {
            topics.pass_on(&message.topic, message.body);
        }
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::{NoMonitor, serve::ServeOptions};

    #[tokio::test]
    async fn o635_a_server_that_is_to_end_does_not_wait_for_the_database_before_it_stands_by() {
        // It takes connections and says nothing.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let mut options = ServeOptions::new(folder.path());
        (options.listen, options.admin, options.stand_by) = ("127.0.0.1:0".to_owned(), None, true);
        let address = silent.local_addr().unwrap();
        options.publish.catalogue = Some(format!("postgres://instep@{address}/sources"));
        let served = crate::serve::serve(options, Arc::new(NoMonitor), std::future::ready(()));
        tokio::time::timeout(Duration::from_secs(10), served).await.unwrap().unwrap();
    }
}
