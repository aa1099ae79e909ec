//! Random data from a fixed seed: the same in every run.

use std::{fs, io, path::Path};

use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use resourcesync::{
    Algorithm, Capability, Change, DateTime, Digest, Entry, Form, Header, Link, MediaType, Relation, Uri,
};

/// Returns a generator of random numbers with the seed that all tests share.
pub fn seeded(stream: u64) -> StdRng {
    StdRng::seed_from_u64(0x1257_0e39_9920_1711 ^ stream)
}

/// Writes `count` files of `sizes` bytes below a folder, a hundred in each folder, and returns the sum of their
/// bytes.
///
/// # Errors
/// If a file cannot be written.
pub fn tree(folder: &Path, count: usize, sizes: std::ops::Range<usize>, stream: u64) -> io::Result<u64> {
    let mut random = seeded(stream);
    let mut total = 0;
    for number in 0..count {
        let directory = folder.join(format!("d{:04}", number / 100));
        if number.is_multiple_of(100) {
            fs::create_dir_all(&directory)?;
        }
        let bytes = text(&mut random, sizes.clone());
        total += bytes.len() as u64;
        fs::write(directory.join(format!("f{number:07}.txt")), bytes)?;
    }
    Ok(total)
}

/// Returns words of a small vocabulary: text that compresses as text does.
pub fn text(random: &mut impl Rng, sizes: std::ops::Range<usize>) -> Vec<u8> {
    const WORDS: [&str; 12] = [
        "resource", "list", "change", "dump", "source", "in", "step", "of", "the", "\n", "digest", "interval",
    ];
    let length = random.random_range(sizes);
    let mut text = String::with_capacity(length + 12);
    while text.len() < length {
        text.push_str(WORDS.choose(random).unwrap_or(&""));
        text.push(' ');
    }
    text.truncate(length);
    text.into_bytes()
}

/// Returns a path of one to four segments, of any characters that a URI path may have, escaped where it must.
pub fn uri_path(random: &mut impl Rng) -> String {
    const PIECES: [&str; 28] = [
        "a", "b", "A", "index", "%20", "%C3%A9", "e%CC%81", "%2e", "%2F", "%5C", "~", "-", "_", ".", ":",
        "@", "!", "$", "'", "(", ")", "*", "+", ",", ";", "=", "&", "CON",
    ];
    let segments = random.random_range(1..=4);
    let segment = |random: &mut dyn rand::RngCore| -> String {
        (0..random.random_range(1..=6)).map(|_| *PIECES.choose(random).unwrap_or(&"x")).collect()
    };
    (0..segments).map(|_| segment(random)).collect::<Vec<_>>().join("/")
}

/// Returns an absolute URI on one of a few hosts, sometimes with a port, a query or a final slash.
pub fn uri(random: &mut impl Rng) -> Uri {
    let host =
        ["example.com", "data.example.com", "EXAMPLE.com", "[2001:db8::1]"].choose(random).unwrap_or(&"h");
    let port = ["", "", ":80", ":8080"].choose(random).unwrap_or(&"");
    let tail = ["", "", "/", "?q=1", "?q=2&r=%26", "/?", "#f"].choose(random).unwrap_or(&"");
    let scheme = if random.random_bool(0.5) { "http" } else { "https" };
    let path = uri_path(random);
    Uri::parse(&format!("{scheme}://{host}{port}/{path}{tail}")).expect("generated as RFC 3986 has it")
}

/// Returns a document of any kind that is not a package's manifest, with up to `entries` entries: all that a writer can
/// write and a reader must read to an equal value.
pub fn document(random: &mut impl Rng, entries: usize) -> (Header, Vec<Entry>) {
    const KINDS: [Capability; 5] = [
        Capability::CapabilityList,
        Capability::ResourceList,
        Capability::ResourceDump,
        Capability::ChangeList,
        Capability::ChangeDump,
    ];
    let capability = KINDS.choose(random).expect("not empty").clone();
    let changes = matches!(capability, Capability::ChangeList | Capability::ChangeDump);
    let mut header = Header::new(Form::List, capability.clone());
    header.links.push(Link::new(Relation::Up, uri(random)));
    let start = datetime(random);
    if let Some(metadata) = &mut header.metadata {
        match &capability {
            Capability::CapabilityList => {}
            _ if changes => metadata.from = Some(start),
            _ => metadata.at = Some(start),
        }
    }
    let count = random.random_range(0..=entries);
    let entries = (0..count).map(|number| entry(random, &capability, start, number)).collect();
    (header, entries)
}

fn entry(random: &mut impl Rng, capability: &Capability, start: DateTime, number: usize) -> Entry {
    let mut entry = Entry::new(uri(random));
    let after = DateTime::from_unix_micros(start.unix_micros() + 1_000_000 * number as i64);
    match capability {
        Capability::CapabilityList => entry.metadata.capability = Some(Capability::ResourceList),
        Capability::ChangeList => {
            let change = [Change::Created, Change::Updated, Change::Deleted].choose(random).cloned();
            entry.metadata.change = change;
            entry.metadata.datetime = Some(after);
        }
        Capability::ResourceDump | Capability::ChangeDump => {
            entry.metadata.media_type = Some(MediaType::new("application/zip"));
        }
        _ => {}
    }
    let gone = entry.metadata.change == Some(Change::Deleted);
    if !gone && *capability != Capability::CapabilityList {
        entry.lastmod = Some(datetime(random));
        entry.metadata.length = random.random_bool(0.8).then(|| random.random_range(0..1 << 40));
        for (algorithm, length) in [(Algorithm::Md5, 16), (Algorithm::Sha256, 32)] {
            let bytes: Vec<u8> = (0..length).map(|_| random.random()).collect();
            Digest::new(algorithm, &bytes).into_iter().for_each(|digest| entry.metadata.hash.insert(digest));
        }
    }
    if random.random_bool(0.2) {
        let mut link = Link::new(Relation::Duplicate, uri(random));
        link.pri = Some(random.random_range(1..1000));
        entry.links.push(link);
    }
    entry
}

/// Returns a time in the years 2001 to 2033.
pub fn datetime(random: &mut impl Rng) -> DateTime {
    DateTime::from_unix_micros(random.random_range(1_000_000_000_000_000..2_000_000_000_000_000))
}
