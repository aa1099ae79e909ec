//! Listings: all resources, or all changes, of a Source as streams, without making a copy.

use std::path::PathBuf;

use futures_util::Stream;
use instep_net::Origin;
use resourcesync::{Capability, DateTime, Entry, Form, Uri};
use tokio::{sync::mpsc, task::JoinHandle};

use crate::{
    AccessOptions, Error,
    clock::latest_time,
    discover::{CapabilitySet, discover},
    documents::{Document, Documents},
    plan::{IndexMember, Survey, count_repeated},
};

/// The most entries that wait for the reader of a stream.
const AHEAD: usize = 1_000;

/// Options for listing a Source.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct StreamOptions {
    /// The sets of resources, by the URI or the last part of the URI of their Capability List; all if none is named.
    pub sets: Vec<String>,
    /// Options of access to the network.
    pub access: AccessOptions,
    /// The folder that holds large documents while they are read; `None` for the system's temporary folder.
    pub spool: Option<PathBuf>,
}

impl StreamOptions {
    /// Returns the defaults: all sets.
    pub fn new() -> Self {
        Self::default()
    }
}

/// Lists every resource of a Source: the entries of its Resource List (§10), through the index if there are several.
/// `url` is any URL of the Source. A resource that several sets have comes once for each of them.
///
/// A document that cannot be read comes as an error in its place, and so do entries that cannot be used; the rest follows.
///
/// ```no_run
/// # async fn list() -> Result<(), instep_destination::Error> {
/// use futures_util::StreamExt as _;
/// use instep_destination::{StreamOptions, resources};
///
/// let mut resources = std::pin::pin!(resources("https://example.org/", StreamOptions::new()));
/// while let Some(resource) = resources.next().await {
///     println!("{}", resource?.loc);
/// }
/// # Ok(())
/// # }
/// ```
pub fn resources(
    url: impl Into<String>,
    options: StreamOptions,
) -> impl Stream<Item = Result<Entry, Error>> + Send + 'static {
    let capability = Capability::ResourceList;
    EntryListing { url: url.into(), options, capability, since: None }.into_stream()
}

/// Lists every change of a Source since a time, or all that are listed: the entries of its Change Lists (§12), oldest
/// first, through the index if there are several. `url` is any URL of the Source.
///
/// Documents and entries that cannot be used come as errors, as in [`resources`]. A Source need not keep its changes
/// forever: compare the first entry with `since` to see if its lists reach back that far.
///
/// ```no_run
/// # async fn list() -> Result<(), instep_destination::Error> {
/// use futures_util::StreamExt as _;
/// use instep_destination::{StreamOptions, changes};
///
/// let mut changes = std::pin::pin!(changes("https://example.org/", None, StreamOptions::new()));
/// while let Some(change) = changes.next().await {
///     let change = change?;
///     println!("{:?} {}", change.metadata.change, change.loc);
/// }
/// # Ok(())
/// # }
/// ```
pub fn changes(
    url: impl Into<String>,
    since: Option<DateTime>,
    options: StreamOptions,
) -> impl Stream<Item = Result<Entry, Error>> + Send + 'static {
    EntryListing { url: url.into(), options, capability: Capability::ChangeList, since }.into_stream()
}

type EntrySender = mpsc::Sender<Result<Entry, Error>>;

/// Runs a listing in a task of its own, and returns the stream of its entries.
fn stream<F: Future<Output = ()> + Send + 'static>(
    list: impl FnOnce(EntrySender) -> F + Send + 'static,
) -> impl Stream<Item = Result<Entry, Error>> + Send + 'static {
    let (sender, receiver) = mpsc::channel(AHEAD);
    let mut begin = Some(move || tokio::spawn(list(sender)));
    let nothing_runs: Option<JoinHandle<()>> = None;
    futures_util::stream::unfold((receiver, nothing_runs), move |(mut receiver, mut running)| {
        // Nothing is requested before the stream is polled.
        if let Some(begin) = begin.take() {
            running = Some(begin());
        }
        async move {
            if let Some(entry) = receiver.recv().await {
                return Some((entry, (receiver, running)));
            }
            // A listing that a fault in the program ended is not complete, and must not look so.
            let fault = running.take()?.await.err()?;
            Some((Err(fault.into()), (receiver, None)))
        }
    })
}

struct EntryListing {
    url: String,
    options: StreamOptions,
    capability: Capability,
    since: Option<DateTime>,
}

impl EntryListing {
    fn into_stream(self) -> impl Stream<Item = Result<Entry, Error>> + Send + 'static {
        stream(|entries| self.run(entries))
    }

    async fn run(self, entries: EntrySender) {
        if let Err(error) = self.list(&entries).await {
            // Ignores the result: a receiver that was dropped needs no more entries.
            let _ = entries.send(Err(error)).await;
        }
    }

    async fn list(&self, entries: &EntrySender) -> Result<(), Error> {
        let unusable = |error| Error::Usage { what: format!("{:?} is not a URL: {error}", self.url) };
        let url = Uri::parse(&self.url).map_err(unusable)?;
        let client = self.options.access.client(&self.url)?;
        let spool = self.options.spool.clone().unwrap_or_else(std::env::temp_dir);
        let mut documents = Documents::new(client, spool);
        if self.url.starts_with("file:") {
            documents = documents.with_files();
        }
        let found = discover(&url, &self.options.sets, &documents).await?;
        let mut offers = false;
        for trouble in found.troubles.iter().filter(|trouble| trouble.costs_a_set || trouble.costs_entries) {
            let (url, what) = (trouble.uri.as_str().to_owned(), trouble.what.clone());
            // Ignores the result: a receiver that was dropped is noticed below.
            let _ = entries.send(Err(Error::InvalidDocument { url, what })).await;
        }
        for set in &found.sets {
            match self.list_set(set, &documents, entries).await {
                Ok(is_offered) => offers |= is_offered,
                // A list that cannot be read does not end the listing of the other sets.
                Err(error) if error.loses_document() => {
                    offers = true;
                    // Ignores the result: a receiver that was dropped is noticed below.
                    let _ = entries.send(Err(error)).await;
                }
                Err(error) => return Err(error),
            }
            if entries.is_closed() {
                return Ok(());
            }
        }
        if offers {
            return Ok(());
        }
        let reasons = vec![format!("The Source offers no {}", self.capability.as_str())];
        Err(Error::NotResourceSync { url: self.url.clone(), reasons, lacks: None })
    }

    /// Lists one set. Returns `false` if it does not offer the requested kind of list.
    async fn list_set(
        &self,
        set: &CapabilitySet,
        documents: &Documents,
        entries: &EntrySender,
    ) -> Result<bool, Error> {
        if let Some(lost) = set.capability_list.as_ref().and_then(|list| lost_entries(list, set.unusable)) {
            // Ignores the result: a receiver that was dropped is noticed below.
            let _ = entries.send(Err(lost)).await;
        }
        let Some(offer) = set.get(&self.capability) else { return Ok(false) };
        let speaker = set.capability_list.as_ref().and_then(|list| Origin::parse(list.as_str()).ok());
        let top = match &offer.document {
            Some(document) => document.clone(),
            None => documents.open(&offer.uri, speaker.as_ref()).await?,
        };
        if top.header.form == Form::List {
            self.list_document(top, entries).await?;
            return Ok(true);
        }
        let mut members = Vec::new();
        let unusable = top.for_each_usable(|entry| members.push(IndexMember::from(entry)))?;
        if let Some(lost) = lost_entries(&top.uri, unusable + count_repeated(&members)) {
            // Ignores the result: a receiver that was dropped is noticed below.
            let _ = entries.send(Err(lost)).await;
        }
        let is_over = |member: &IndexMember| {
            self.since.zip(member.until).is_some_and(|(since, until)| until.end() <= since.instant())
        };
        for member in members.iter().filter(|member| !is_over(member)) {
            // Nothing more is requested for a stream that was dropped.
            if entries.is_closed() {
                break;
            }
            let listed = match documents.open(&member.uri, top.origin().as_ref()).await {
                Ok(document) => self.list_document(document, entries).await,
                Err(error) => Err(error.into()),
            };
            // One document that cannot be read does not end the listing of the others.
            if let Err(error) = listed
                && entries.send(Err(error)).await.is_err()
            {
                break;
            }
        }
        Ok(true)
    }

    async fn list_document(&self, document: Document, entries: &EntrySender) -> Result<(), Error> {
        let (since, sender) = (self.since, entries.clone());
        let is_changes = self.capability == Capability::ChangeList;
        let read = move || {
            let latest = latest_time(document.date);
            let mut survey = Survey::new(&document.header, None, Some(latest)).since(since);
            if is_changes {
                document.for_each(|entry| survey.observe(entry))?;
            }
            let shape = survey.finish();
            let (mut reader, mut entry) = (document.read()?, Entry::default());
            let mut ordinal = 0;
            while reader.read_entry(&mut entry).map_err(|error| document.unreadable(error))? {
                ordinal += 1;
                if !(is_changes && shape.is_before(&entry, ordinal))
                    && sender.blocking_send(Ok(entry.clone())).is_err()
                {
                    return Ok(());
                }
            }
            lost_entries(&document.uri, reader.entries_read() - ordinal).map_or(Ok(()), Err)
        };
        tokio::task::spawn_blocking(read).await?
    }
}

/// Returns the error for entries of a document that cannot be used, and are missing in the listing (O998). `None` if there are
/// none.
fn lost_entries(document: &Uri, count: u64) -> Option<Error> {
    (count > 0).then(|| Error::InvalidDocument {
        url: document.as_str().to_owned(),
        what: format!("entries that cannot be used, and are not listed: {count}"),
    })
}

#[cfg(test)]
mod tests;
