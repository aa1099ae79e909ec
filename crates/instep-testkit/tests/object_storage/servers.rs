//! Servers that speak S3, each with a bucket.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use instep_testkit::{Run, Server, free_port, peers};
use tempfile::TempDir;

/// The bucket that each server has.
pub(crate) const BUCKET: &str = "library";

const KEY: &str = "test-key";
const SECRET: &str = "test-secret";

/// A server that speaks S3 on 127.0.0.1.
pub(crate) struct S3Server {
    server: Server,
    /// A web server over the folder, for everybody to read.
    readers: Option<Server>,
    /// The folder of the buckets, where the server has one.
    folder: Option<TempDir>,
    curl: PathBuf,
}

impl S3Server {
    /// moto: keeps objects in memory, answers everybody. `None` if it is not installed.
    pub(crate) fn moto() -> Option<Self> {
        let [moto, curl] = peers::find(["moto_server", "curl"])?;
        let port = free_port().unwrap();
        let server = Server::start(Command::new(moto).args(["-p", &port.to_string()]), port).unwrap();
        let server = Self { server, readers: None, folder: None, curl };
        let bucket = format!("{}{BUCKET}", server.server.url());
        let _ = server.curl(&["-X", "PUT", &bucket]);
        Some(server)
    }

    /// s3s-fs: keeps objects in a folder, answers requests that are signed. `None` if it is not installed.
    pub(crate) fn s3s() -> Option<Self> {
        let [s3s, curl, python] = peers::find(["s3s-fs", "curl", "python3"])?;
        let (port, folder) = (free_port().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(folder.path().join(BUCKET)).unwrap();
        let mut command = Command::new(s3s);
        command.args(["--host", "127.0.0.1", "--port", &port.to_string()]);
        command.args(["--access-key", KEY, "--secret-key", SECRET]).arg(folder.path());
        let server = Server::start(&mut command, port).unwrap();
        let readers = Some(Server::python(&python, folder.path()).unwrap());
        Some(Self { server, readers, folder: Some(folder), curl })
    }

    /// The port that it listens on.
    pub(crate) fn port(&self) -> u16 {
        self.server.url().trim_end_matches('/').rsplit(':').next().unwrap().parse().unwrap()
    }

    /// The URL of the documents in the bucket, for readers without credentials where there are any.
    pub(crate) fn base_url(&self) -> String {
        format!("{}{BUCKET}/docs/", self.readers.as_ref().unwrap_or(&self.server).url())
    }

    /// Gives a command the endpoint and the credentials, and nothing else of the environment.
    pub(crate) fn configure(&self, command: &mut Command) {
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
            command.env_remove(name);
        }
        let endpoint = self.server.url();
        command.env("AWS_ENDPOINT_URL", endpoint.trim_end_matches('/'));
        command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET);
    }

    /// Puts a file into the bucket, without us; only where buckets are folders.
    pub(crate) fn upload(&self, file: &Path, key: &str) {
        let to = self.folder.as_ref().unwrap().path().join(BUCKET).join(key);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(file, to).unwrap();
    }

    /// The objects below a prefix, by their names without it. `room` is for files.
    pub(crate) fn objects(&self, room: &Path, prefix: &str) -> BTreeMap<String, Vec<u8>> {
        match &self.folder {
            Some(folder) => {
                let below = folder.path().join(BUCKET).join(prefix);
                if below.exists() { files_below(&below) } else { BTreeMap::new() }
            }
            None => self.fetched(room, prefix),
        }
    }

    fn fetched(&self, room: &Path, prefix: &str) -> BTreeMap<String, Vec<u8>> {
        let bucket = format!("{}{BUCKET}", self.server.url());
        let listing = self.curl(&[&format!("{bucket}?list-type=2&prefix={prefix}")]).stdout;
        let keys = listing.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next());
        let object = |key: &str| {
            let file = room.join("fetched");
            let _ = self.curl(&["-o", &file.to_string_lossy(), &format!("{bucket}/{key}")]);
            (key.strip_prefix(prefix).unwrap().to_owned(), fs::read(file).unwrap())
        };
        keys.map(object).collect()
    }

    fn curl(&self, arguments: &[&str]) -> Run {
        Run::of(
            Command::new(&self.curl)
                .args(["-sS", "--fail", "-H", "Authorization: nobody checks"])
                .args(arguments),
        )
        .with_code(0)
    }
}

fn files_below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap);
    let files = files.filter(|entry| entry.file_type().is_file());
    let name = |path: &Path| path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
    files.map(|file| (name(file.path()), fs::read(file.path()).unwrap())).collect()
}
