//! A Source that serves and keeps a hub while it is killed or its disk fails.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use instep_testkit::{Run, Server, free_port, instep, wrap};
use tempfile::TempDir;

use crate::{Scene, copy_tree, injection::Fault};

const PATIENCE: Duration = Duration::from_secs(10);

/// A folder that was served before, and is served again while somebody subscribes and files change.
pub(crate) struct Serving {
    template: TempDir,
    port: u16,
    subscriber: Subscriber,
    python: PathBuf,
}

impl Serving {
    pub(crate) fn new(python: PathBuf) -> Self {
        let port = free_port().unwrap();
        let serving =
            Self { template: TempDir::new().unwrap(), port, subscriber: Subscriber::start(), python };
        let files = serving.template.path().join("files");
        fs::create_dir(&files).unwrap();
        for number in 0..5 {
            fs::write(files.join(format!("{number}.txt")), format!("text {number}")).unwrap();
        }
        drop(Server::start(&mut serving.serve(serving.template.path()), port).unwrap());
        serving
    }

    fn serve(&self, place: &Path) -> Command {
        let mut command = instep(["serve", "-q", "--interval", "50ms", "--change-dump", "--listen"]);
        command.arg(format!("127.0.0.1:{}", self.port)).arg("files").current_dir(place);
        command
    }

    /// Subscribes a path of the subscriber to all changes.
    fn subscribe(&self, path: &str) -> std::io::Result<()> {
        let form = format!(
            "hub.mode=subscribe&hub.topic=http%3A%2F%2F127.0.0.1%3A{}%2Fresourcesync%2Fchange-notification\
             &hub.callback=http%3A%2F%2F127.0.0.1%3A{}%2F{path}",
            self.port, self.subscriber.port
        );
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        write!(
            stream,
            "POST /resourcesync/hub HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{form}",
            self.port,
            form.len()
        )?;
        stream.read_to_end(&mut Vec::new()).map(drop)
    }

    /// Changes a file again and again until a message about it is delivered to a path of the subscriber. Returns `false` if
    /// none has been after [`PATIENCE`].
    fn is_delivered(&self, place: &Path, path: &str) -> bool {
        let (before, deadline) = (self.subscriber.deliveries(path), Instant::now() + PATIENCE);
        for number in 0.. {
            fs::write(place.join("files/changing.txt"), format!("{path} {number}")).unwrap();
            thread::sleep(Duration::from_millis(100));
            if self.subscriber.deliveries(path) > before {
                return true;
            }
            if Instant::now() > deadline {
                break;
            }
        }
        false
    }
}

impl Scene for Serving {
    fn name(&self) -> &str {
        "hub"
    }

    fn lay_out(&self, place: &Path) {
        copy_tree(self.template.path(), place);
        self.subscriber.forget();
    }

    fn command(&self, place: &Path) -> Command {
        let mut timeout = Command::new("timeout");
        timeout.args(["--preserve-status", "--signal=TERM", "1.5"]);
        wrap(timeout, &self.serve(place))
    }

    fn meanwhile(&self, place: &Path) {
        let deadline = Instant::now() + Duration::from_secs(1);
        while self.subscribe("first").is_err() {
            if Instant::now() > deadline {
                return;
            }
            thread::sleep(Duration::from_millis(20));
        }
        for number in 0..4 {
            fs::write(place.join("files/changing.txt"), format!("meanwhile {number}")).unwrap();
            // Longer than the quiet time after which a server publishes, so that each change is a publication of its own.
            thread::sleep(Duration::from_millis(120));
        }
    }

    fn judge(&self, place: &Path, _: &Run, _: Fault, _: usize) -> Vec<String> {
        let mut wrong = Vec::new();
        let was_subscribed = self.subscriber.deliveries("first") > 0;
        let Ok(server) = Server::start(&mut self.serve(place), self.port) else {
            return vec!["it does not serve again".to_owned()];
        };
        if was_subscribed && !self.is_delivered(place, "first") {
            wrong.push("a subscription that was served is lost".to_owned());
        }
        if let Err(error) = self.subscribe("second") {
            wrong.push(format!("nobody can subscribe: {error}"));
        } else if !self.is_delivered(place, "second") {
            wrong.push("a new subscription is not served".to_owned());
        }
        let deadline = Instant::now() + PATIENCE;
        let mut verify = Command::new(&self.python);
        verify.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("data/oracle/verify.py"));
        verify.args(["--base", &server.url(), "--tree", "files"]).current_dir(place);
        loop {
            let run = Run::of(&mut verify);
            if run.code == Some(0) {
                break;
            }
            if Instant::now() > deadline {
                wrong.push(format!("what is served: {}{}", run.stdout, run.stderr));
                break;
            }
            thread::sleep(Duration::from_millis(100));
        }
        wrong
    }
}

/// Confirms each subscription, and counts deliveries by path.
struct Subscriber {
    port: u16,
    deliveries: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Subscriber {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let deliveries = Arc::<Mutex<BTreeMap<String, usize>>>::default();
        let counted = Arc::clone(&deliveries);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counted = Arc::clone(&counted);
                thread::spawn(move || drop(answer(&stream, &counted)));
            }
        });
        Self { port, deliveries }
    }

    fn deliveries(&self, path: &str) -> usize {
        self.deliveries.lock().unwrap().get(path).copied().unwrap_or(0)
    }

    fn forget(&self) {
        self.deliveries.lock().unwrap().clear();
    }
}

fn answer(mut stream: &TcpStream, deliveries: &Mutex<BTreeMap<String, usize>>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let (mut length, mut header) = (0, String::new());
        while reader.read_line(&mut header)? > 2 {
            if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            header.clear();
        }
        reader.by_ref().take(length).read_to_end(&mut Vec::new())?;
        let target = line.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let challenge =
            query.split('&').find_map(|pair| pair.strip_prefix("hub.challenge=")).unwrap_or_default();
        if line.starts_with("POST") {
            *deliveries.lock().unwrap().entry(path.to_owned()).or_default() += 1;
        }
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{challenge}", challenge.len())?;
    }
}
