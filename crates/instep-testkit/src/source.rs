//! A Source on a loopback port, with faults on request.

mod answer;
mod documents;
mod fault;
mod packages;
mod server;
mod shared;
mod shelf;

use std::{collections::BTreeMap, net::TcpListener, sync::Arc, thread};

use resourcesync::{DateTime, Entry};

pub use fault::{Fault, Page};
pub use shared::ReceivedRequest;
pub use shelf::Layout;

use crate::TestClock;
use shared::FakeServer;
use shelf::FakeShelf;

/// A Source that publishes correct documents about its resources, counts the requests it gets, and misbehaves where a
/// test asks for it. It runs on its own threads and ends when dropped.
///
/// Its clock begins at 2026-01-01T00:00:00Z and moves by a second with each change.
///
/// ```
/// use instep_testkit::{FakeSource, Fault};
/// let source = FakeSource::start().with_resources([("a.txt", "one"), ("d/b.txt", "two")]);
/// source.fail("a.txt", [Fault::Status(503)]); // once; the next answer is right
/// source.put("a.txt", "new"); // recorded in the open Change List
/// assert_eq!(source.requests_for("a.txt"), 0);
/// ```
pub struct FakeSource {
    shared: Arc<FakeServer>,
    host: String,
}

impl FakeSource {
    /// Starts on a free port of 127.0.0.1, with an empty Resource List and Change List.
    pub fn start() -> Self {
        Self::start_with(Layout::new())
    }

    /// Starts with other capabilities, or with lists of another form.
    pub fn start_with(layout: Layout) -> Self {
        Self::start_at("127.0.0.1", layout)
    }

    /// Starts on another loopback address, such as 127.0.0.2, which counts as another host.
    ///
    /// # Panics
    /// When the address cannot be listened on.
    pub fn start_at(address: &str, layout: Layout) -> Self {
        let listener = TcpListener::bind((address, 0)).expect("a loopback address");
        let host = listener.local_addr().expect("a bound address").to_string();
        let shared = Arc::new(FakeServer::new(FakeShelf::new(format!("http://{host}/"), layout)));
        let server = Arc::clone(&shared);
        thread::spawn(move || server::accept(&listener, &server));
        Self { shared, host }
    }

    /// Stores these resources and renews the Resource List; the Change List begins after them.
    #[must_use]
    pub fn with_resources<P: AsRef<str>, B: Into<Vec<u8>>>(
        self,
        resources: impl IntoIterator<Item = (P, B)>,
    ) -> Self {
        self.edit(|shelf| {
            for (path, bytes) in resources {
                shelf.put(path.as_ref(), bytes.into());
            }
            shelf.take_snapshot();
            shelf.begin_changes_at_snapshot();
        });
        self
    }

    /// Returns the authority, `host:port`.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the URL of a path; of the Source's root if it is empty.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.host)
    }

    /// Returns the URL of the Source Description.
    pub fn description_url(&self) -> String {
        self.url(documents::DESCRIPTION)
    }

    /// Returns the URL of the Capability List.
    pub fn capability_list_url(&self) -> String {
        self.url(documents::CAPABILITY_LIST)
    }

    /// Returns the URL of the Resource List or its index.
    pub fn resource_list_url(&self) -> String {
        self.url(documents::RESOURCE_LIST)
    }

    /// Returns the URL of the Change List or its index.
    pub fn change_list_url(&self) -> String {
        self.url(documents::CHANGE_LIST)
    }

    /// Returns the URL of the Resource Dump.
    pub fn dump_url(&self) -> String {
        self.url(documents::DUMP)
    }

    /// Returns the URL of the Change Dump or its index.
    pub fn change_dump_url(&self) -> String {
        self.url(documents::CHANGE_DUMP)
    }

    /// Returns the Source's clock.
    pub fn clock(&self) -> TestClock {
        self.edit(|shelf| shelf.clock.clone())
    }

    /// Creates or replaces a resource and records the change.
    pub fn put(&self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.edit(|shelf| shelf.put(path, bytes.into()));
    }

    /// Removes a resource and records the change.
    pub fn delete(&self, path: &str) {
        self.edit(|shelf| shelf.delete(path));
    }

    /// Renews the Resource List.
    pub fn snapshot(&self) -> DateTime {
        self.edit(|shelf| {
            shelf.take_snapshot();
            shelf.at
        })
    }

    /// Closes the open Change List and begins the next.
    pub fn rotate(&self) {
        self.edit(FakeShelf::rotate);
    }

    /// Forgets all changes: the Change List no longer reaches back.
    pub fn gap(&self) {
        self.edit(FakeShelf::forget_changes);
    }

    /// Changes the entry of a resource in lists: a wrong digest, another URI, a link.
    pub fn misstate(&self, path: &str, edit: impl Fn(&mut Entry) + Send + 'static) {
        self.edit(|shelf| shelf.edits.insert(path.to_owned(), Box::new(edit)));
    }

    /// Makes packages contain these bytes of a resource instead of its own: a patch, or something wrong.
    pub fn pack_instead(&self, path: &str, bytes: impl Into<Vec<u8>>, instead: impl Into<Vec<u8>>) {
        self.edit(|shelf| shelf.packed.insert((path.to_owned(), bytes.into()), instead.into()));
    }

    /// Adds an entry to the Resource List that belongs to none of the resources.
    pub fn list(&self, entry: Entry) {
        self.edit(|shelf| shelf.strays.push(entry));
    }

    /// Changes the published form.
    pub fn lay_out(&self, change: impl FnOnce(&mut Layout)) {
        self.edit(|shelf| change(&mut shelf.layout));
    }

    /// Rewrites the text of a document each time it is served.
    pub fn rewrite(&self, path: &str, rewrite: impl Fn(String) -> String + Send + 'static) {
        self.shared.script().rewrites.insert(path.to_owned(), Box::new(rewrite));
    }

    /// Serves this at a path, replacing any other content.
    pub fn serve(&self, path: &str, page: impl Into<Page>) {
        self.shared.script().pages.insert(path.to_owned(), page.into());
    }

    /// Serves these documents in their present state from now on.
    ///
    /// # Panics
    /// If one of them does not exist.
    pub fn freeze(&self, paths: &[&str]) {
        for path in paths {
            let body = self.document(path).expect("a document at the path");
            self.serve(path, body);
        }
    }

    /// Sets faults of the next answers at a path, in this order and one each. Later answers are correct.
    pub fn fail(&self, path: &str, faults: impl IntoIterator<Item = Fault>) {
        self.shared.script().faults.entry(path.to_owned()).or_default().extend(faults);
    }

    /// Sets a fault of every answer at a path, until [`FakeSource::heal`].
    pub fn fail_always(&self, path: &str, fault: Fault) {
        self.shared.script().lasting.insert(path.to_owned(), fault);
    }

    /// Ends all faults, rewriting and misstatements.
    pub fn heal(&self) {
        self.edit(|shelf| (shelf.edits.clear(), shelf.strays.clear()));
        let mut script = self.shared.script();
        script.faults.clear();
        script.lasting.clear();
        script.rewrites.clear();
    }

    /// Releases the answers that [`Fault::Hold`] and [`Fault::Stall`] keep back, and all later ones.
    pub fn release(&self) {
        self.shared.script().released = true;
        self.shared.bell.notify_all();
    }

    /// Waits until a path has been requested this number of times.
    ///
    /// # Panics
    /// After a minute.
    pub fn wait_for(&self, path: &str, count: usize) {
        self.shared.wait_for(path, count);
    }

    /// Returns all requests so far, in order.
    pub fn requests(&self) -> Vec<ReceivedRequest> {
        self.shared.script().log.clone()
    }

    /// Returns the number of requests for a path.
    pub fn requests_for(&self, path: &str) -> usize {
        self.requests().iter().filter(|request| request.path == path).count()
    }

    /// Returns the number of requests for each path.
    pub fn tally(&self) -> BTreeMap<String, usize> {
        let mut tally = BTreeMap::new();
        self.requests().into_iter().for_each(|request| *tally.entry(request.path).or_default() += 1);
        tally
    }

    /// Returns the number of connections so far, also of those without a request.
    pub fn connections(&self) -> usize {
        self.shared.script().connections
    }

    /// Returns the largest number of simultaneous requests, each counted from its last line to the end of its answer.
    pub fn most_at_once(&self) -> usize {
        self.shared.script().most_under_way
    }

    /// Forgets requests and connections counted so far.
    pub fn forget_requests(&self) {
        let mut script = self.shared.script();
        script.log.clear();
        (script.connections, script.most_under_way) = (0, script.under_way);
    }

    /// Returns the published content of a path, without faults.
    pub fn document(&self, path: &str) -> Option<Vec<u8>> {
        self.shared.document(path).map(|page| page.body)
    }

    /// Writes the resources into a folder: the expected copy.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write_to(&self, folder: &std::path::Path) -> std::io::Result<()> {
        let files: Vec<_> = self.edit(|shelf| {
            shelf
                .resources
                .iter()
                .map(|(path, resource)| (folder.join(path), resource.bytes.clone()))
                .collect()
        });
        for (file, bytes) in files {
            std::fs::create_dir_all(file.parent().unwrap_or(folder))?;
            std::fs::write(file, bytes)?;
        }
        Ok(())
    }

    fn edit<T>(&self, change: impl FnOnce(&mut FakeShelf) -> T) -> T {
        change(&mut self.shared.shelf())
    }
}

impl std::fmt::Debug for FakeSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FakeSource").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Drop for FakeSource {
    fn drop(&mut self) {
        self.shared.end(&self.host);
    }
}
