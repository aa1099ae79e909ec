//! A client of the listener on which a running `serve` accepts changes from applications. With it `change` and
//! `catalogue compact` work beside a server that holds the lock of the Source.

use std::{
    fs,
    io::{self, Read, Write},
    net::TcpStream,
    os::unix::{fs::MetadataExt as _, net::UnixStream},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail};
use instep_source::{Recorded, serve::ADMIN_FILE};
use resourcesync::{Change, Uri};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::json;

/// The timeout for an answer. It is longer than the longest time in which the server answers a report.
const TIMEOUT: Duration = Duration::from_secs(70);
/// The timeout for the answer to a compaction, which takes minutes for a large catalogue.
const COMPACTION_TIMEOUT: Duration = Duration::from_secs(1_860);

/// The most bytes of one report. The listener takes twice as many.
const MOST_BYTES: usize = 2 << 20;

/// The address of the listener and the token that it requires.
#[derive(Debug, Deserialize)]
pub(crate) struct RunningServer {
    url: Option<String>,
    socket: Option<PathBuf>,
    token: String,
    /// The path of the file and its number on its disk, by which a copy of it is recognized.
    path: Option<String>,
    inode: Option<u64>,
}

/// The changes that the listener has recorded.
#[derive(Deserialize)]
struct RecordedCounts {
    sequence: u64,
    created: u64,
    updated: u64,
    deleted: u64,
}

/// The result of a compaction: changes dropped, and bytes of the catalogue before and after.
#[derive(Deserialize)]
pub(crate) struct Compacted {
    pub(crate) forgotten: u64,
    pub(crate) before: u64,
    pub(crate) after: u64,
}

impl RunningServer {
    /// Finds the listener that a state folder names; `None` if there is none, if it does not accept connections because
    /// its server was killed, or if it belongs to the folder that this one is a copy of.
    ///
    /// Errors: the file that names it cannot be read.
    pub(crate) fn find(state: &Path) -> anyhow::Result<Option<Self>> {
        let path = state.join(ADMIN_FILE);
        let text = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            text => {
                text.with_context(|| format!("Check --dir and --state: cannot read {}", path.display()))?
            }
        };
        let listener: Self =
            serde_json::from_slice(&text).with_context(|| format!("{} is damaged", path.display()))?;
        if listener.is_of_another(&path) {
            return Ok(None);
        }
        Ok(listener.connect(TIMEOUT).is_ok().then_some(listener))
    }

    /// Returns `true` if the file that names the listener is a copy of the one that its server wrote: its path and its
    /// number are others (O808). Of the original, one of both may differ: a container sees it at another path, and some file
    /// systems, such as exFAT and those of networks, give it another number after a while (O867).
    fn is_of_another(&self, file: &Path) -> bool {
        let is_other = |inode: u64| fs::metadata(file).is_ok_and(|file| file.ino() != inode);
        let is_elsewhere =
            |path: &str| fs::canonicalize(file).is_ok_and(|file| file.to_string_lossy() != path);
        self.inode.is_some_and(is_other) && self.path.as_deref().is_none_or(is_elsewhere)
    }

    /// Reports a change of some resources; they are recorded when this returns.
    ///
    /// Errors: the server does not answer, or refuses.
    pub(crate) fn report(&self, change: &Change, uris: &[Uri]) -> anyhow::Result<Recorded> {
        let item = |uri: &Uri| json!({ "uri": uri.as_str(), "change": change.as_str() });
        self.report_items(&uris.iter().map(item).collect::<Vec<_>>())
    }

    /// Reports changes in the form of the listener; they are recorded when this returns.
    ///
    /// Errors: the server does not answer, or refuses.
    pub(crate) fn report_items(&self, items: &[impl Serialize]) -> anyhow::Result<Recorded> {
        let mut recorded = Recorded::default();
        for body in reports(items)? {
            let answer: RecordedCounts = self.ask("/changes", &body, TIMEOUT)?;
            let mut part = Recorded::default();
            part.sequence = answer.sequence;
            (part.created, part.updated, part.deleted) = (answer.created, answer.updated, answer.deleted);
            recorded.add(&part);
        }
        Ok(recorded)
    }

    /// Makes the server drop history, and waits until the space on disk is free.
    ///
    /// Errors: the server does not answer, or refuses.
    pub(crate) fn compact(&self) -> anyhow::Result<Compacted> {
        self.ask("/compact", b"", COMPACTION_TIMEOUT)
    }

    fn ask<T: DeserializeOwned>(&self, path: &str, body: &[u8], timeout: Duration) -> anyhow::Result<T> {
        let answer = self.post(path, body, timeout).context("The running server does not answer")?;
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        let status = head.split(' ').nth(1).unwrap_or_default();
        if status != "200" {
            bail!("The running server refused the request: {status} {body}");
        }
        serde_json::from_str(body).context("The running server sent an answer that cannot be read")
    }

    fn post(&self, path: &str, body: &[u8], timeout: Duration) -> io::Result<String> {
        let mut stream = self.connect(timeout)?;
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            self.token,
            body.len()
        )?;
        stream.write_all(body)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    }

    fn connect(&self, timeout: Duration) -> io::Result<Box<dyn ListenerStream>> {
        if let Some(socket) = &self.socket {
            let stream = UnixStream::connect(socket)?;
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            return Ok(Box::new(stream));
        }
        let url = self.url.as_deref().unwrap_or_default();
        let address = url.trim_start_matches("http://").trim_end_matches('/');
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(timeout))?;
        stream.set_write_timeout(Some(timeout))?;
        Ok(Box::new(stream))
    }
}

/// Returns changes as arrays of JSON, as few as the limit of the listener allows.
fn reports(items: &[impl Serialize]) -> serde_json::Result<Vec<Vec<u8>>> {
    let mut reports: Vec<Vec<u8>> = Vec::new();
    for item in items {
        let item = serde_json::to_vec(item)?;
        let has_room = reports.last().is_some_and(|report| report.len() + item.len() < MOST_BYTES);
        if !has_room {
            reports.push(Vec::new());
        }
        if let Some(report) = reports.last_mut() {
            report.push(if has_room { b',' } else { b'[' });
            report.extend_from_slice(&item);
        }
    }
    reports.iter_mut().for_each(|report| report.push(b']'));
    Ok(reports)
}

trait ListenerStream: Read + Write {}

impl<S: Read + Write> ListenerStream for S {}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn o559_changes_in_long_lines_are_reported_in_parts_that_the_listener_takes() {
        let item = json!({ "uri": "http://a/b", "links": "x".repeat(100 << 10) });
        let reports = reports(&vec![item; 60]).unwrap();
        let items = |report: &Vec<u8>| serde_json::from_slice::<Vec<Value>>(report).unwrap().len();
        assert_eq!(reports.iter().map(items).sum::<usize>(), 60);
        assert!(reports.iter().all(|report| report.len() <= 4 << 20));
        assert_eq!(reports.len(), 3);
    }

    /// Returns a listener, its URL, and the folders of an original and its copy.
    fn copied_folder(folder: &Path) -> (std::net::TcpListener, String, [PathBuf; 2]) {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let folders = ["original", "copy"].map(|name| folder.join(name));
        folders.iter().for_each(|folder| fs::create_dir(folder).unwrap());
        (listener, url, folders)
    }

    #[test]
    fn o808_a_copy_of_a_folder_does_not_lead_to_the_server_of_the_original() {
        let folder = tempfile::tempdir().unwrap();
        let (_listener, url, [original, copy]) = copied_folder(folder.path());
        let mut file = fs::File::create(original.join(ADMIN_FILE)).unwrap();
        let inode = file.metadata().unwrap().ino();
        write!(file, "{}", json!({ "url": url, "token": "t", "inode": inode })).unwrap();
        fs::copy(original.join(ADMIN_FILE), copy.join(ADMIN_FILE)).unwrap();
        assert!(RunningServer::find(&original).unwrap().is_some());
        assert!(RunningServer::find(&copy).unwrap().is_none());
    }

    #[test]
    fn o867_a_server_is_found_although_the_file_system_has_given_its_file_another_number() {
        let folder = tempfile::tempdir().unwrap();
        let (_listener, url, [original, copy]) = copied_folder(folder.path());
        fs::File::create(original.join(ADMIN_FILE)).unwrap();
        let path = fs::canonicalize(original.join(ADMIN_FILE)).unwrap();
        let access = json!({ "url": url, "token": "t", "path": path, "inode": 0 }).to_string();
        for state in [&original, &copy] {
            fs::write(state.join(ADMIN_FILE), &access).unwrap();
        }
        assert!(RunningServer::find(&original).unwrap().is_some());
        assert!(RunningServer::find(&copy).unwrap().is_none());
    }

    #[test]
    fn o606_a_server_that_takes_no_bytes_of_a_report_is_not_waited_for_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("admin");
        let _silent = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let server =
            RunningServer { url: None, socket: Some(socket), token: "t".to_owned(), path: None, inode: None };
        let body = vec![b' '; 16 << 20];
        let (ended, has_ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || ended.send(server.post("/changes", &body, Duration::from_millis(50))));
        let answer = has_ended.recv_timeout(Duration::from_secs(60)).expect("it waits without end");
        assert!(answer.is_err());
    }
}
