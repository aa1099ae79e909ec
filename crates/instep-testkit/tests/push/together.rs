//! Our subscriber at our own hub: `sync --follow --callback-url` and `serve`, behind a server that passes no WebSockets on.

use std::{
    fs,
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use instep_destination::Outcome;
use instep_testkit::{Server, free_port, instep};
use tempfile::TempDir;

use super::support::Following;

/// A proxy that passes on everything except WebSockets, as many do.
fn front(to: u16) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || pass_on(client, to));
        }
    });
    port
}

fn pass_on(mut client: TcpStream, to: u16) -> std::io::Result<()> {
    let mut head = vec![0; 16 * 1024];
    let read = client.read(&mut head)?;
    if String::from_utf8_lossy(&head[..read]).to_ascii_lowercase().contains("upgrade: websocket") {
        return client.write_all(b"HTTP/1.1 400 x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
    let mut server = TcpStream::connect(("127.0.0.1", to))?;
    server.write_all(&head[..read])?;
    for (mut from, mut into) in [(client.try_clone()?, server.try_clone()?), (server, client)] {
        thread::spawn(move || {
            let _ = std::io::copy(&mut from, &mut into);
            let _ = into.shutdown(Shutdown::Write);
        });
    }
    Ok(())
}

/// A Source with a hub, and its subscribers.
struct Serving {
    files: TempDir,
    url: String,
    _server: Server,
}

impl Serving {
    fn start() -> Self {
        let files = TempDir::new().unwrap();
        for name in ["a.txt", "b.txt"] {
            fs::write(files.path().join(name), name).unwrap();
        }
        let port = free_port().unwrap();
        let (url, listen) = (format!("http://127.0.0.1:{}/", front(port)), format!("127.0.0.1:{port}"));
        let mut command = instep(["serve", "--interval", "50ms", "--listen", &listen, "--base-url", &url]);
        let server = Server::start(command.arg(files.path()), port).unwrap();
        Self { files, url, _server: server }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.files.path().join(name)
    }
}

#[test]
fn our_subscriber_is_verified_told_with_a_signature_and_gone_at_the_end() {
    let serving = Serving::start();
    let mut following = Following::at(serving.url.clone(), &[]).with_callbacks();
    following.options.callbacks.iter_mut().for_each(|callbacks| callbacks.lease = Duration::from_secs(7_200));
    let report = following.during(|| {
        following.wait_until(|heard| {
            let subscribed = heard.notes.iter().filter(|note| note.ends_with("at its hub for 7200 s"));
            subscribed.count() == 2 && heard.leases.len() == 2
        });
        let left = following.heard().leases[0].1;
        assert!(left <= Duration::from_secs(7_200) && left > Duration::from_secs(7_000), "{left:?}");
        fs::write(serving.path("a.txt"), "changed").unwrap();
        fs::write(serving.path("new.txt"), "new").unwrap();
        fs::remove_file(serving.path("b.txt")).unwrap();
        for line in ["~ ", "+ ", "- "].iter().zip(["a.txt", "new.txt", "b.txt"]) {
            let line = format!("{}{}{}", line.0, serving.url, line.1);
            following.wait_until(|heard| heard.committed.contains(&line));
        }
    });
    assert_eq!(report.outcome, Outcome::Interrupted);
    for name in ["a.txt", "new.txt"] {
        assert_eq!(fs::read(serving.path(name)).unwrap(), fs::read(following.copy().join(name)).unwrap());
    }
    assert!(!following.copy().join("b.txt").exists());

    // The hub has forgotten it: whoever has the address now hears nothing of the next change, but of its own.
    let again = Following::at(serving.url.clone(), &[]).with_callbacks();
    let callbacks = following.options.callbacks.as_ref().unwrap().url.clone();
    let former = callbacks.trim_start_matches("http://").trim_end_matches("/push").to_owned();
    let former = TcpListener::bind(former).unwrap();
    former.set_nonblocking(true).unwrap();
    let _ = again.during(|| {
        again.wait_until(|heard| heard.leases.len() == 2);
        fs::write(serving.path("a.txt"), "changed again").unwrap();
        again.wait_until(|heard| heard.committed.iter().any(|line| line.starts_with("~ ")));
    });
    assert!(former.accept().is_err(), "nobody calls there any more");
}
