//! Many Sources on one port, each at its own address: documents are computed from numbers, and each answer takes a
//! round trip.

use std::{
    fmt::Write as _,
    io::{BufReader, Write as _},
    net::{Ipv4Addr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use anyhow::Result;
use resourcesync::{Algorithm, Digest};

use super::read_target;

const AT: &str = "2026-01-01T00:00:00Z";

/// Answers with the number of requests for resources, and the most of them at the same time.
pub const COUNTED: &str = "/counted";

/// The time after which a connection without a request is closed: most of the Sources are requested only once.
const IDLE: Duration = Duration::from_secs(2);

/// Requests for resources.
#[derive(Debug, Default)]
struct CountedRequests {
    all: AtomicU64,
    running: AtomicU64,
    /// The most at the same time.
    most: AtomicU64,
}

impl CountedRequests {
    fn begin(&self) {
        self.all.fetch_add(1, Relaxed);
        self.most.fetch_max(self.running.fetch_add(1, Relaxed) + 1, Relaxed);
    }

    fn end(&self) {
        self.running.fetch_sub(1, Relaxed);
    }

    fn text(&self) -> String {
        format!("{} {}\n", self.all.load(Relaxed), self.most.load(Relaxed))
    }
}

/// Returns the address of a Source: any of 127.0.0.0/8 is this machine.
pub fn address(number: usize) -> Ipv4Addr {
    let [_, high, middle, low] = u32::try_from(number).unwrap_or_default().to_be_bytes();
    Ipv4Addr::new(127, 16 + high, middle, low)
}

/// Serves Sources with this number of resources, each answer with this delay.
pub fn serve(port: &str, resources: &str, milliseconds: &str) -> Result<u64> {
    let port: u16 = port.parse()?;
    let (resources, delay) = (resources.parse::<usize>()?, Duration::from_millis(milliseconds.parse()?));
    let entries = (0..resources).map(entry).collect::<Result<Vec<_>>>()?;
    let (entries, counted) = (Arc::new(entries), Arc::new(CountedRequests::default()));
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, port))?;
    for stream in listener.incoming().flatten() {
        let (entries, counted) = (Arc::clone(&entries), Arc::clone(&counted));
        // Disconnected clients are ignored.
        thread::spawn(move || drop(converse(&stream, port, &entries, &counted, delay)));
    }
    Ok(0)
}

fn text(number: usize) -> String {
    format!("Resource {number} of a Source like many others, {}", "of some length. ".repeat(30 + number % 60))
}

/// Returns the part of an entry that is the same for each Source.
fn entry(number: usize) -> Result<String> {
    let text = text(number);
    let hash = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
    let digest = Digest::new(Algorithm::Sha256, hash.as_ref());
    let digest = digest.map(|digest| digest.to_string()).unwrap_or_default();
    Ok(format!(
        "r/{number:06}.txt</loc><lastmod>{AT}</lastmod><rs:md hash=\"{digest}\" length=\"{}\" type=\"text/plain\"/></url>",
        text.len()
    ))
}

fn converse(
    stream: &TcpStream,
    port: u16,
    entries: &[String],
    counted: &CountedRequests,
    delay: Duration,
) -> Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(IDLE))?;
    let base = format!("http://{}:{port}/", stream.local_addr()?.ip());
    let (mut lines, mut stream) = (BufReader::new(stream), stream);
    while let Some(target) = read_target(&mut lines)? {
        let is_counted = target.starts_with("/r/");
        if is_counted {
            counted.begin();
        }
        thread::sleep(delay);
        let (status, kind, body) = match target.as_str() {
            COUNTED => ("200 OK", "text/plain", counted.text()),
            target => answer(target, &base, entries),
        };
        // Before the answer: a client that has it may send the next request at once.
        if is_counted {
            counted.end();
        }
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n");
        stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())?;
    }
    Ok(())
}

fn answer(target: &str, base: &str, entries: &[String]) -> (&'static str, &'static str, String) {
    let document = |root: &str, capability: &str, rest: &str| {
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
             xmlns:rs=\"http://www.openarchives.org/rs/terms/\"><rs:md capability=\"{capability}\"{rest}</{root}>"
        )
    };
    let number = target.strip_prefix("/r/").and_then(|name| name.strip_suffix(".txt")?.parse::<usize>().ok());
    match (target, number) {
        ("/capabilitylist.xml", _) => {
            let list =
                format!("/><url><loc>{base}resourcelist.xml</loc><rs:md capability=\"resourcelist\"/></url>");
            ("200 OK", "application/xml", document("urlset", "capabilitylist", &list))
        }
        ("/resourcelist.xml", _) => {
            let mut list = format!(" at=\"{AT}\"/><rs:ln rel=\"up\" href=\"{base}capabilitylist.xml\"/>");
            for entry in entries {
                let _ = write!(list, "<url><loc>{base}{entry}");
            }
            ("200 OK", "application/xml", document("urlset", "resourcelist", &list))
        }
        (_, Some(number)) if number < entries.len() => ("200 OK", "text/plain", text(number)),
        _ => ("404 Not Found", "text/plain", "nothing here\n".to_owned()),
    }
}
