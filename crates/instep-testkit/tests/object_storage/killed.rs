//! The program is killed while it delivers, at one request after another.

use std::{
    fs,
    io::{self, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::SeqCst},
        mpsc::{Sender, channel},
    },
    thread,
    time::Duration,
};

use instep_testkit::{Run, peers};

use super::{Published, REFEREE, servers::S3Server};

/// No delivery of this test has so many PUTs.
const MANY: usize = 60;

/// Starts a proxy that passes connections on, up to the PUT with a number: that one and later ones never arrive, and
/// `reached` is told. Returns its port.
fn cutting_proxy(to: u16, at: i64, reached: Sender<()>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let left = Arc::new(AtomicI64::new(at));
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let server = TcpStream::connect(("127.0.0.1", to)).unwrap();
            let (mut back, mut answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || io::copy(&mut answers, &mut back));
            let (left, reached) = (Arc::clone(&left), reached.clone());
            thread::spawn(move || pass(client, server, &left, &reached));
        }
    });
    port
}

/// Passes requests on until the counted PUT.
fn pass(mut client: TcpStream, mut server: TcpStream, left: &AtomicI64, reached: &Sender<()>) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read @ 1..) = client.read(&mut buffer) {
        // A request begins with a write of its own.
        if buffer.starts_with(b"PUT /") && left.fetch_sub(1, SeqCst) <= 1 {
            let _ = (reached.send(()), server.shutdown(Shutdown::Both));
            return;
        }
        if server.write_all(&buffer[..read]).is_err() {
            return;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
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
        let (reached, reports) = channel();
        let port = cutting_proxy(server.port(), step as i64, reached);
        let mut command = published.command(&server, &["--rotate-entries", "2"]);
        command.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", port));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let is_killed = loop {
            if reports.recv_timeout(Duration::from_millis(20)).is_ok() {
                child.kill().unwrap();
                child.wait().unwrap();
                break true;
            }
            if let Some(status) = child.try_wait().unwrap() {
                assert!(status.success(), "{status}");
                break false;
            }
        };
        // The resource is newer than a list that is not delivered yet: only documents are looked at now.
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
