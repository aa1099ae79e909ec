//! A Source on a thread of its own, over a folder made for the test.

use std::{
    fs,
    net::SocketAddr,
    path::PathBuf,
    sync::{Arc, Mutex, mpsc},
    thread::JoinHandle,
    time::{Duration, Instant, SystemTime},
};

use instep_source::{Error, PublishMonitor, serve::ServeOptions};
use instep_testkit::LONG;
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::raw::get;

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) base: String,
    pub(crate) folder: TempDir,
    pub(crate) documents: mpsc::Receiver<String>,
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

struct Events {
    serving: Mutex<Option<mpsc::Sender<(String, SocketAddr)>>>,
    documents: Mutex<mpsc::Sender<String>>,
}

impl PublishMonitor for Events {
    fn serving(&self, base_url: &str, address: SocketAddr) {
        if let Some(serving) = self.serving.lock().unwrap().take() {
            serving.send((base_url.to_owned(), address)).unwrap();
        }
    }

    fn document(&self, name: &str, _bytes: u64) {
        let _ = self.documents.lock().unwrap().send(name.to_owned());
    }
}

/// Returns a moment long ago, so that nothing was changed just now.
pub(crate) fn long_ago() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000)
}

/// Returns a folder with files.
pub(crate) fn folder(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        fs::File::options().append(true).open(&path).unwrap().set_modified(long_ago()).unwrap();
    }
    folder
}

impl Server {
    pub(crate) fn start(files: &[(&str, &[u8])]) -> Self {
        Self::with(folder(files), |_| ())
    }

    pub(crate) fn with(folder: TempDir, change: impl FnOnce(&mut ServeOptions)) -> Self {
        let mut options = ServeOptions::new(folder.path());
        options.listen = "127.0.0.1:0".to_owned();
        options.live.interval = Duration::from_millis(20);
        change(&mut options);
        let (serving, served) = mpsc::channel();
        let (documents, seen) = mpsc::channel();
        let events = Events { serving: Mutex::new(Some(serving)), documents: Mutex::new(documents) };
        let (end, ended) = oneshot::channel::<()>();
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            let shutdown = async move { drop(ended.await) };
            runtime.block_on(instep_source::serve::serve(options, Arc::new(events), shutdown))
        });
        let Ok((base, address)) = served.recv_timeout(LONG) else {
            panic!("not serving: {:?}", thread.join());
        };
        Self { address, base, folder, documents: seen, end: Some(end), thread: Some(thread) }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Waits until a document whose name contains a text is put in place.
    pub(crate) fn wait_for_document(&self, part: &str) {
        let until = Instant::now() + LONG;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let name = self.documents.recv_timeout(left).unwrap_or_else(|_| panic!("no {part} came"));
            if name.contains(part) {
                return;
            }
        }
    }

    /// Waits until the change lists say something.
    pub(crate) fn wait_for_change(&self, text: &str) {
        let said = || {
            (1..10)
                .map(|number| get(self.address, &format!("/resourcesync/changelist-{number:06}.xml")))
                .take_while(|answer| answer.status == 200)
                .any(|answer| answer.text().contains(text))
        };
        while !said() {
            self.wait_for_document("changelist");
        }
    }

    /// Ends the server; how long that took.
    pub(crate) fn end(&mut self) -> Duration {
        let begun = Instant::now();
        drop(self.end.take());
        self.thread.take().unwrap().join().unwrap().unwrap();
        begun.elapsed()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.thread.is_some() && !std::thread::panicking() {
            self.end();
        }
    }
}
