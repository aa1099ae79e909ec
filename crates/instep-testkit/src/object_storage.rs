//! S3 servers of other projects, each with a bucket.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use tempfile::TempDir;

use crate::{Run, Server, free_port, peers};

const KEY: &str = "test-key";
const SECRET: &str = "test-secret";

/// A server that speaks S3 on 127.0.0.1.
#[derive(Debug)]
pub struct S3Server {
    server: Server,
    /// A web server that gives everybody the files of the folder.
    readers: Option<Server>,
    /// The folder of the buckets, if the server has one.
    folder: Option<TempDir>,
    curl: PathBuf,
}

impl S3Server {
    /// The bucket that each server has.
    pub const BUCKET: &str = "library";

    /// Starts moto, which keeps objects in memory and answers everybody. `None` if it is not installed.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn moto() -> Option<Self> {
        let [moto, curl] = peers::find(["moto_server", "curl"])?;
        let port = free_port().expect("a free port");
        let mut command = Command::new(moto);
        // Small pages, so that listings have several.
        command.args(["-p", &port.to_string()]).env("MOTO_S3_DEFAULT_MAX_KEYS", "20");
        let server = Server::start(&mut command, port).expect("moto");
        let server = Self { server, readers: None, folder: None, curl };
        let bucket = format!("{}{}", server.server.url(), Self::BUCKET);
        let _ = server.curl(&["-X", "PUT", &bucket]);
        Some(server)
    }

    /// Starts s3s-fs, which keeps objects in a folder and answers only signed requests. `None` if it is not
    /// installed.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn s3s() -> Option<Self> {
        let [s3s, curl, python] = peers::find(["s3s-fs", "curl", "python3"])?;
        let (port, folder) = (free_port().expect("a free port"), tempfile::tempdir().expect("a folder"));
        fs::create_dir(folder.path().join(Self::BUCKET)).expect("a bucket");
        let mut command = Command::new(s3s);
        command.args(["--host", "127.0.0.1", "--port", &port.to_string()]);
        command.args(["--access-key", KEY, "--secret-key", SECRET]).arg(folder.path());
        let server = Server::start(&mut command, port).expect("s3s-fs");
        let readers = Some(Server::python(&python, folder.path()).expect("a web server"));
        Some(Self { server, readers, folder: Some(folder), curl })
    }

    /// Returns the port that it listens on.
    ///
    /// # Panics
    /// Never: it has one.
    pub fn port(&self) -> u16 {
        self.server
            .url()
            .trim_end_matches('/')
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok())
            .expect("a port")
    }

    /// Returns the URL of the bucket, for readers without credentials if there are any.
    pub fn bucket_url(&self) -> String {
        format!("{}{}/", self.readers.as_ref().unwrap_or(&self.server).url(), Self::BUCKET)
    }

    /// Returns the URL of the documents in the bucket, for readers without credentials if there are any.
    pub fn base_url(&self) -> String {
        format!("{}docs/", self.bucket_url())
    }

    /// Gives a command the endpoint and the credentials, and nothing else of the environment.
    pub fn configure(&self, command: &mut Command) {
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
            command.env_remove(name);
        }
        let endpoint = self.server.url();
        command.env("AWS_ENDPOINT_URL", endpoint.trim_end_matches('/'));
        command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET);
    }

    /// Puts a file into the bucket with curl, without our code.
    ///
    /// # Panics
    /// If it cannot be put.
    pub fn upload(&self, file: &Path, key: &str) {
        let Some(folder) = &self.folder else {
            let url = format!("{}{}/{}", self.server.url(), Self::BUCKET, escaped(key));
            // Not with -T, by which a key that ends in a slash would get the name of the file too.
            let bytes = format!("@{}", file.to_string_lossy());
            let _ = self.curl(&[
                "--path-as-is",
                "-X",
                "PUT",
                "-H",
                "Content-Type:",
                "--data-binary",
                &bytes,
                &url,
            ]);
            return;
        };
        let to = folder.path().join(Self::BUCKET).join(key);
        fs::create_dir_all(to.parent().expect("a folder")).expect("a folder in the bucket");
        fs::copy(file, to).expect("an object");
    }

    /// Removes an object with curl, without our code.
    ///
    /// # Panics
    /// If it cannot be removed.
    pub fn remove(&self, key: &str) {
        match &self.folder {
            Some(folder) => {
                fs::remove_file(folder.path().join(Self::BUCKET).join(key)).expect("an object");
            }
            None => {
                let url = format!("{}{}/{key}", self.server.url(), Self::BUCKET);
                let _ = self.curl(&["-X", "DELETE", &url]);
            }
        }
    }

    /// Returns the media type of an object, as the server states it; only if objects are in memory.
    ///
    /// # Panics
    /// If there is no such object.
    pub fn media_type(&self, key: &str) -> String {
        let url = format!("{}{}/{key}", self.server.url(), Self::BUCKET);
        self.curl(&["-o", "/dev/null", "-w", "%{content_type}", &url]).stdout
    }

    /// Returns the objects below a prefix, by their names without it. `room` is for files.
    ///
    /// # Panics
    /// If they cannot be read.
    pub fn objects(&self, room: &Path, prefix: &str) -> BTreeMap<String, Vec<u8>> {
        match &self.folder {
            Some(folder) => {
                let below = folder.path().join(Self::BUCKET).join(prefix);
                if below.exists() { files_below(&below) } else { BTreeMap::new() }
            }
            None => self.fetched(room, prefix),
        }
    }

    fn fetched(&self, room: &Path, prefix: &str) -> BTreeMap<String, Vec<u8>> {
        let bucket = format!("{}{}", self.server.url(), Self::BUCKET);
        let listing = self.curl(&[&format!("{bucket}?list-type=2&max-keys=1000&prefix={prefix}")]).stdout;
        let keys = listing.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next());
        let object = |key: &str| {
            let file = room.join("fetched");
            let _ = self.curl(&["-o", &file.to_string_lossy(), &format!("{bucket}/{key}")]);
            (
                key.strip_prefix(prefix).expect("a key below the prefix").to_owned(),
                fs::read(file).expect("an object"),
            )
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

/// Returns a key as the path of a URL: also one that programs would interpret as relative folders.
fn escaped(key: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let byte =
        |byte: u8, plain: bool| if plain { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    let segment = |segment: &str| -> String {
        let is_way = matches!(segment, "." | "..");
        segment.bytes().map(|one| byte(one, is_plain(one) && !is_way)).collect()
    };
    key.split('/').map(segment).collect::<Vec<_>>().join("/")
}

fn files_below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = walkdir::WalkDir::new(folder).into_iter().map(|entry| entry.expect("an entry"));
    let files = files.filter(|entry| entry.file_type().is_file());
    let name = |path: &Path| path.strip_prefix(folder).expect("a path below").to_string_lossy().into_owned();
    files.map(|file| (name(file.path()), fs::read(file.path()).expect("a file"))).collect()
}
