//! Programs that communicate in JSON lines, a Source that has a topic, and a Destination that follows it.

use std::{
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use instep_destination::{CallbackOptions, RecordedEvents, SyncOptions, SyncReport, TestMonitor, sync};
use instep_testkit::{FakeSource, LONG, Page, peers, wait_for};
use serde_json::Value;
use tempfile::TempDir;

/// A program of these tests that contains no code of instep.
pub(crate) struct Peer {
    child: Child,
    lines: mpsc::Receiver<String>,
}

impl Peer {
    /// Starts a script of `data/websub`; `None` if there is no Python with the packages it needs.
    pub(crate) fn start(script: &str, arguments: &[&str]) -> Option<Self> {
        // The path of the reference client leads to the virtual environment that also has `websockets`.
        let [python, _] = peers::find(["python3", "resync-sync"])?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/websub").join(script);
        let mut command = Command::new(python);
        command.arg(script).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (sender, lines) = mpsc::channel();
        let output = BufReader::new(child.stdout.take().unwrap());
        thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Some(Self { child, lines })
    }

    /// Returns the hub, and its URL.
    pub(crate) fn hub(arguments: &[&str]) -> Option<(Self, String)> {
        let hub = Self::start("hub.py", arguments)?;
        let port = hub.line();
        Some((hub, format!("http://127.0.0.1:{port}/")))
    }

    fn line(&self) -> String {
        self.lines.recv_timeout(LONG).unwrap()
    }

    /// Waits for the next event of this name, and skips others.
    pub(crate) fn next(&self, event: &str) -> Value {
        loop {
            let line: Value = serde_json::from_str(&self.line()).unwrap();
            if line["event"] == event {
                return line;
            }
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// The path of the topic of a [`topical`] Source.
pub(crate) const TOPIC: &str = "topic";

/// Returns a Source of three resources with a topic of each kind at a hub. It has channels over WebSockets only if
/// they are named.
pub(crate) fn topical(hub: Option<&str>, sockets: &[(&str, &str)]) -> FakeSource {
    topical_at(FakeSource::start(), hub, sockets)
}

/// Gives an existing Source these topics and channels.
pub(crate) fn topical_at(source: FakeSource, hub: Option<&str>, sockets: &[(&str, &str)]) -> FakeSource {
    let source = source.with_resources([("a.txt", "one"), ("b.txt", "two"), ("c.txt", "three")]);
    let mut entries = String::new();
    if let Some(hub) = hub {
        let topic = source.url(TOPIC);
        let links = format!("<{topic}>; rel=self, <{hub}>; rel=hub");
        source.serve(TOPIC, Page::from("").with_header("Link", links));
        entries = entry(&topic, "change", &format!("<rs:ln rel=\"hub\" href=\"{hub}\"/>"));
    }
    for (kind, socket) in sockets {
        entries.push_str(&entry(socket, kind, ""));
    }
    source
        .rewrite("capabilitylist.xml", move |text| text.replace("</urlset>", &format!("{entries}</urlset>")));
    source
}

fn entry(loc: &str, kind: &str, links: &str) -> String {
    format!("<url><loc>{loc}</loc><rs:md capability=\"{kind}-notification\"/>{links}</url>")
}

/// Returns a notification of a [`FakeSource`].
pub(crate) fn notification(source: &FakeSource, root: &str, entries: &str) -> String {
    format!(
        "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
         xmlns:rs=\"http://www.openarchives.org/rs/terms/\">\
         <rs:ln rel=\"up\" href=\"{}\"/>{root}{entries}</urlset>",
        source.capability_list_url()
    )
}

/// A Destination that follows a Source during a test.
pub(crate) struct Following {
    _folder: TempDir,
    pub(crate) options: SyncOptions,
    pub(crate) monitor: TestMonitor,
}

impl Following {
    /// Polls only every ten minutes, so that every run in a test follows from a message.
    pub(crate) fn of(source: &FakeSource, allowed: &[&str]) -> Self {
        Self::at(source.url(""), allowed)
    }

    /// Follows any Source by its URL.
    pub(crate) fn at(url: String, allowed: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let mut options = SyncOptions::new(url, folder.path().join("copy"));
        options.follow = true;
        options.delete = true;
        options.poll = (Duration::from_secs(600), Duration::from_secs(600));
        options.access.retries = 0;
        options.access.allow_origins.extend(allowed.iter().map(|origin| (*origin).to_owned()));
        Self { _folder: folder, options, monitor: TestMonitor::new() }
    }

    /// Adds a callback server at a free port.
    pub(crate) fn with_callbacks(mut self) -> Self {
        let port = instep_testkit::free_port().unwrap();
        self.options.callbacks = Some(CallbackOptions::new(format!("http://127.0.0.1:{port}/push")));
        self
    }

    pub(crate) fn copy(&self) -> PathBuf {
        self.options.dir.clone()
    }

    pub(crate) fn heard(&self) -> RecordedEvents {
        self.monitor.recorded()
    }

    /// Waits for an event.
    pub(crate) fn wait_until(&self, told: impl Fn(&RecordedEvents) -> bool) {
        wait_for(|| match self.heard() {
            heard if told(&heard) => Ok(()),
            heard => Err(format!("{heard:?}")),
        });
    }

    /// Follows while `test` runs, and then ends.
    pub(crate) fn during(&self, test: impl FnOnce()) -> SyncReport {
        /// Ends it also if the test fails; otherwise the thread would be waited for without end.
        struct End<'a>(&'a SyncOptions);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.shutdown.request();
            }
        }
        let runtime = runtime();
        thread::scope(|scope| {
            let following = scope.spawn(|| runtime.block_on(sync(&self.options, &self.monitor)));
            let end = End(&self.options);
            test();
            drop(end);
            following.join().unwrap().unwrap()
        })
    }

    /// Follows until following ends without a request.
    pub(crate) fn to_its_end(&self, test: impl FnOnce()) -> SyncReport {
        let runtime = runtime();
        thread::scope(|scope| {
            let following = scope.spawn(|| runtime.block_on(sync(&self.options, &self.monitor)));
            test();
            following.join().unwrap().unwrap()
        })
    }
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}
