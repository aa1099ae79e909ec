//! A Source whose resources are records, served with a repository in front of them.

use std::{
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

use instep_oai::{OaiGateway, RepositoryOptions};
use instep_source::{
    Content, PublishMonitor,
    serve::{ServeOptions, serve},
};
use instep_testkit::{Run, wait_for};
use tokio::sync::oneshot;

/// A Source that is served with OAI-PMH; it ends when dropped.
pub(super) struct Served {
    pub(super) base_url: String,
    pub(super) end: Option<oneshot::Sender<()>>,
    pub(super) thread: Option<thread::JoinHandle<()>>,
}

/// Tells at which URL the Source is served.
pub(super) struct Told(Mutex<mpsc::Sender<String>>);

impl PublishMonitor for Told {
    fn serving(&self, base_url: &str, _: SocketAddr) {
        self.0.lock().unwrap().send(base_url.to_owned()).unwrap();
    }
}

impl Served {
    pub(super) fn start(folder: &Path, content: Option<Content>, part: usize) -> Self {
        let mut options = ServeOptions::new(folder);
        options.listen = "127.0.0.1:0".to_owned();
        options.admin = None;
        if let Some(content) = content {
            options.publish.sets[0].content = vec![content];
        }
        options.live.scan_every = Duration::from_millis(200);
        let mut repository = RepositoryOptions::default();
        repository.part = part;
        options.gateways.push(Arc::new(OaiGateway::new(&options.publish.state, repository)));
        let (sender, told) = mpsc::channel();
        let (end, ended) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            let monitor = Arc::new(Told(Mutex::new(sender)));
            runtime.block_on(serve(options, monitor, async { drop(ended.await) })).unwrap();
        });
        let base_url = told.recv_timeout(Duration::from_secs(120)).unwrap();
        Self { base_url, end: Some(end), thread: Some(thread) }
    }

    pub(super) fn oai(&self, query: &str) -> String {
        let url = format!("{}oai?{query}", self.base_url);
        Run::of(std::process::Command::new("curl").args(["-sS", "--max-time", "60", &url]))
            .with_code(0)
            .stdout
    }

    /// Waits until a request is answered with a text.
    pub(super) fn wait_for(&self, query: &str, text: &str) {
        wait_for(|| match self.oai(query) {
            answer if answer.contains(text) => Ok(()),
            answer => Err(format!("{text} is not in the answer to {query}: {answer}")),
        });
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.end.take());
        drop(self.thread.take().map(thread::JoinHandle::join));
    }
}
