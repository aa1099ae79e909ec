//! The program is killed during a delivery, at one request after the other.

use std::{
    fs,
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering::SeqCst},
        mpsc::{Sender, channel},
    },
    thread,
    time::Duration,
};

use instep_testkit::{Run, S3Server, peers};

use super::{Published, REFEREE};

/// More PUTs than any delivery of this test has.
const MANY: usize = 60;

/// The pause between two checks if a command has ended without reaching the PUT.
const BETWEEN_CHECKS: Duration = Duration::from_millis(20);

/// The moment at which a proxy cuts a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CutAt {
    /// The request never arrives.
    Request,
    /// The request is carried out, but its answer never arrives.
    Answer,
    /// Never; but each PUT is reported.
    Never,
}

/// Starts a proxy that passes connections on up to the PUT with a number. That PUT and later ones, or the answers to them,
/// never arrive, and each is reported to `reached`. Returns the port of the proxy.
pub(crate) fn cutting_proxy(to: u16, number: i64, at: CutAt, reached: Sender<()>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let left = Arc::new(AtomicI64::new(number));
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(("127.0.0.1", to)).unwrap();
            let (back, answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let withholds = Arc::new(AtomicBool::new(false));
            let (left, asked) = (Arc::clone(&left), reached.clone());
            let (withheld, answered) = (Arc::clone(&withholds), reached.clone());
            thread::spawn(move || pass_answers(answers, back, &withheld, &answered));
            thread::spawn(move || pass(client, server, at, &left, &withholds, &asked));
        }
    });
    port
}

/// Runs a command that uses a server, and kills it at the PUT with a number; `false` if it ended before.
pub(crate) fn is_killed_at_put(server: &S3Server, number: i64, at: CutAt, mut command: Command) -> bool {
    let (reached, reports) = channel();
    let port = cutting_proxy(server.port(), number, at, reached);
    command.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}"));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    loop {
        if reports.recv_timeout(BETWEEN_CHECKS).is_ok() {
            child.kill().unwrap();
            child.wait().unwrap();
            return true;
        }
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success(), "{status}");
            return false;
        }
    }
}

/// A proxy that counts the requests for objects.
pub(crate) struct RequestCounter {
    pub(crate) port: u16,
    gets: Arc<AtomicI64>,
}

impl RequestCounter {
    pub(crate) fn before(to: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, gets) = (listener.local_addr().unwrap().port(), Arc::new(AtomicI64::new(0)));
        let counted = Arc::clone(&gets);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let server = TcpStream::connect(("127.0.0.1", to)).unwrap();
                let (mut back, mut answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || std::io::copy(&mut answers, &mut back));
                let counted = Arc::clone(&counted);
                thread::spawn(move || count_gets(client, server, &counted));
            }
        });
        Self { port, gets }
    }

    /// Returns the number of requests so far.
    pub(crate) fn gets(&self) -> i64 {
        self.gets.load(SeqCst)
    }
}

/// Passes requests on. They have no bodies, so each begins a piece of the stream.
fn count_gets(mut client: TcpStream, mut server: TcpStream, counted: &AtomicI64) {
    let mut buffer = [0; 65_536];
    while let Ok(length @ 1..) = client.read(&mut buffer) {
        let gets = buffer[..length].windows(5).filter(|bytes| bytes == b"GET /").count();
        counted.fetch_add(i64::try_from(gets).unwrap(), SeqCst);
        if server.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
}

/// Passes requests on until the counted PUT.
fn pass(
    mut client: TcpStream,
    mut server: TcpStream,
    at: CutAt,
    left: &AtomicI64,
    withholds: &AtomicBool,
    reached: &Sender<()>,
) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read @ 1..) = client.read(&mut buffer) {
        // Each request begins with a separate write.
        if buffer.starts_with(b"PUT /") && left.fetch_sub(1, SeqCst) <= 1 {
            match at {
                CutAt::Request => {
                    let _ = (reached.send(()), server.shutdown(Shutdown::Both));
                    return;
                }
                CutAt::Answer => withholds.store(true, SeqCst),
                CutAt::Never => drop(reached.send(())),
            }
        }
        if server.write_all(&buffer[..read]).is_err() {
            return;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
}

/// Passes answers on, until they are to be withheld.
fn pass_answers(mut server: TcpStream, mut client: TcpStream, withholds: &AtomicBool, reached: &Sender<()>) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read @ 1..) = server.read(&mut buffer) {
        if withholds.load(SeqCst) {
            let _ = (reached.send(()), client.shutdown(Shutdown::Both));
            return;
        }
        if client.write_all(&buffer[..read]).is_err() {
            return;
        }
    }
    let _ = client.shutdown(Shutdown::Write);
}

#[test]
fn a_delivery_killed_at_any_put_leaves_no_reader_astray_and_goes_on() {
    let Some(server) = S3Server::s3s() else { return };
    let Some([python]) = peers::find(["python3"]) else { return };
    let published = Published::new();
    published.publish(&server, &[]);
    (0..5).for_each(|n| server.upload(&published.files.join(format!("f{n}.txt")), &format!("docs/f{n}.txt")));
    for (killed, step) in (1..MANY).enumerate() {
        fs::write(published.files.join("f1.txt"), "x".repeat(step)).unwrap();
        server.upload(&published.files.join("f1.txt"), "docs/f1.txt");
        let command = published.command(&server, &["--rotate-entries", "2"]);
        let is_killed = is_killed_at_put(&server, step as i64, CutAt::Request, command);
        // The resource is newer than a list that is not delivered yet, so only documents are checked now.
        let documents = REFEREE.replace("elif md is not None", "elif False");
        let _ = Run::of(Command::new(&python).args(["-c", &documents, &server.base_url()])).with_code(0);
        published.publish(&server, &["--rotate-entries", "2"]);
        published.assert_delivered(&server);
        let _ = Run::of(Command::new(&python).args(["-c", REFEREE, &server.base_url()])).with_code(0);
        if !is_killed {
            assert!(killed >= 3, "{killed}");
            return;
        }
    }
    panic!("more than {MANY} PUTs");
}
