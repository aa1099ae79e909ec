//! The rules of ARCHITECTURE.md that reading the sources can check.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

#[path = "architecture/circles.rs"]
mod circles;
#[path = "architecture/ids.rs"]
mod ids;
#[path = "architecture/imports.rs"]
mod imports;
#[path = "architecture/language.rs"]
mod language;
#[path = "architecture/names.rs"]
mod names;
#[path = "architecture/sources.rs"]
mod sources;

use std::{collections::BTreeSet, process::Command};

use sources::{root, sources};

/// Rooms that are pure beside those whose `//!` says PURE: they are given everything that they decide on, and use no
/// clock, no files and no sockets, and wait for nothing.
const PURE: [&str; 6] = [
    "resourcesync/src",
    "instep-destination/src/listen/hub_request",
    "instep-destination/src/listen/offered",
    "instep-destination/src/listen/signature",
    "instep-net/src/origin",
    "instep-net/src/validators",
];

/// Each crate, and the crates of this workspace that it may be built from: the drawing of ARCHITECTURE, section 1.
const LAYERS: [(&str, &[&str]); 11] = [
    ("resourcesync", &[]),
    ("instep-store", &[]),
    ("instep-warc", &[]),
    ("instep-postgres", &[]),
    ("instep-net", &["resourcesync"]),
    ("instep-objects", &["instep-net", "instep-store", "resourcesync"]),
    ("instep-source", &["instep-net", "instep-objects", "instep-postgres", "instep-store", "resourcesync"]),
    (
        "instep-destination",
        &["instep-net", "instep-objects", "instep-postgres", "instep-store", "instep-warc", "resourcesync"],
    ),
    (
        "instep-fleet",
        &[
            "instep-destination",
            "instep-net",
            "instep-objects",
            "instep-postgres",
            "instep-store",
            "instep-warc",
            "resourcesync",
        ],
    ),
    (
        "instep-oai",
        &["instep-net", "instep-objects", "instep-postgres", "instep-source", "instep-store", "resourcesync"],
    ),
    (
        "instep",
        &[
            "instep-destination",
            "instep-fleet",
            "instep-net",
            "instep-oai",
            "instep-objects",
            "instep-postgres",
            "instep-source",
            "instep-store",
            "instep-warc",
            "resourcesync",
        ],
    ),
];

/// The most lines of a file without its tests.
const LONGEST: usize = 300;

/// Lines of code that hold one of these words, outside of comments, in the files that `within` accepts.
fn lines_with(words: &[&str], within: impl Fn(&str) -> bool) -> Vec<String> {
    let sources = sources();
    let files = sources.iter().filter(|(name, _)| within(name));
    let found = files.flat_map(|(name, text)| {
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        let lines = lines.filter(|(_, line)| words.iter().any(|word| line.contains(word)));
        lines.map(move |(number, line)| format!("{name}:{}: {}", number + 1, line.trim()))
    });
    found.collect()
}

fn assert_none(found: &[String], rule: &str) {
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

/// Returns the crates that a crate's library is built from.
fn dependencies(package: &str) -> BTreeSet<String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["tree", "--quiet", "--edges", "normal", "--prefix", "none", "--format", "{p}", "-p", package]);
    let output = cargo.current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect()
}

fn is_in(name: &str, room: &str) -> bool {
    name.strip_prefix(room).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || rest == ".rs")
}

/// Returns the rooms that must be pure: those of [`PURE`], and each file whose `//!` says so, with everything below it.
fn pure_rooms() -> Vec<String> {
    let says_so = |text: &str| {
        text.lines().take_while(|line| line.starts_with("//!")).any(|line| line.contains("PURE"))
    };
    let files = sources().into_iter().filter(|(_, text)| says_so(text));
    let rooms = files.map(|(name, _)| name.strip_suffix(".rs").unwrap_or(&name).to_owned());
    rooms.chain(PURE.map(str::to_owned)).collect()
}

#[test]
fn the_standard_is_built_without_runtime_network_files_or_clock() {
    let tree = dependencies("resourcesync");
    let kept_out = [
        "tokio",
        "futures-util",
        "hyper",
        "http",
        "axum",
        "reqwest",
        "rustls",
        "socket2",
        "mio",
        "rusqlite",
        "notify",
        "tempfile",
        "walkdir",
        "jiff",
        "chrono",
        "time",
        "tracing",
        "log4rs",
        "clap",
    ];
    let found: Vec<_> = kept_out.into_iter().filter(|name| tree.contains(*name)).collect();
    assert_eq!(found, Vec::<&str>::new());
    assert!(tree.contains("quick-xml"));
}

#[test]
fn pure_rooms_wait_for_nothing_and_touch_nothing() {
    let words = [
        "async ",
        ".await",
        "std::fs",
        "std::net",
        "tokio::",
        "now()",
        "std::env",
        "std::process",
        "rusqlite",
    ];
    let rooms = pure_rooms();
    assert!(rooms.len() > 40, "files whose `//!` says PURE are found: {rooms:?}");
    assert_none(&lines_with(&words, |name| rooms.iter().any(|room| is_in(name, room))), "a pure room does");
}

#[test]
fn printing_and_arguments_are_the_programs_alone() {
    let words = ["println!", "print!(", "stdout()", "stderr()", "clap::", "indicatif"];
    assert_none(&lines_with(&words, |name| !name.starts_with("instep/")), "only the program prints");
}

#[test]
fn html_is_written_where_pages_are_made() {
    let rooms = ["instep-source/src/serve", "instep-source/src/render/about", "instep/src"];
    let elsewhere = |name: &str| !rooms.iter().any(|room| is_in(name, room));
    assert_none(&lines_with(&["maud", "<!DOCTYPE html"], elsewhere), "HTML elsewhere");
}

#[test]
fn text_from_the_network_becomes_a_path_in_one_place() {
    let elsewhere =
        |name: &str| name.starts_with("instep-destination/src") && !is_in(name, "instep-destination/src/map");
    let from_text = lines_with(&["Path::new(", "PathBuf::from(", ".join("], elsewhere);
    let remote = ["uri", "url", "loc", "href", "package_path", "member"];
    let argument = |line: &String| {
        let call = ["Path::new(", "PathBuf::from(", ".join("].iter().find_map(|call| line.split_once(call));
        call.and_then(|(_, rest)| rest.split(')').next().map(str::to_lowercase)).unwrap_or_default()
    };
    let found: Vec<_> = from_text
        .into_iter()
        .filter(|line| {
            let argument = argument(line);
            argument.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| remote.contains(&word))
        })
        .collect();
    assert_none(&found, "only map.rs maps");
    let decoders = lines_with(&["percent_decode"], |name| {
        // The selection compares paths with the operator's patterns, and opens nothing.
        elsewhere(name)
            && !is_in(name, "instep-destination/src/listen")
            && !is_in(name, "instep-destination/src/plan/selection")
    });
    assert_none(&decoders, "only map.rs decodes");
}

#[test]
fn each_crate_is_built_only_from_crates_drawn_below_it() {
    for (package, below) in LAYERS {
        let is_ours = |name: &String| name.starts_with("instep") || name == "resourcesync";
        let used = dependencies(package).into_iter().filter(|name| name != package && is_ours(name));
        let other: Vec<_> = used.filter(|name| !below.contains(&name.as_str())).collect();
        assert_eq!(other, Vec::<String>::new(), "{package} is built from crates that are not drawn below it");
    }
    assert!(!dependencies("instep-store").contains("tokio"), "files on a disk need no runtime");
}

#[test]
fn every_public_document_type_names_its_clause() {
    let names_a_clause = |doc: &str| {
        let rule = |word: &str| {
            word.split_once('-').is_some_and(|(area, number)| {
                let area_is_upper =
                    (2..=4).contains(&area.len()) && area.bytes().all(|c| c.is_ascii_uppercase());
                area_is_upper && number.starts_with(|digit: char| digit.is_ascii_digit())
            })
        };
        let mut words = doc.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '§');
        doc.contains("Table 3") || words.any(|word| word.contains('§') || rule(word))
    };
    let mut without = Vec::new();
    for (name, text) in sources().iter().filter(|(name, _)| name.starts_with("resourcesync/src/document/")) {
        let mut doc = String::new();
        for line in text.lines() {
            match line.strip_prefix("///") {
                Some(rest) => doc.push_str(rest),
                None if line.starts_with("#[") => {}
                None => {
                    let public = ["pub struct ", "pub enum "].iter().find_map(|item| line.strip_prefix(item));
                    if public.is_some() && !names_a_clause(&doc) {
                        without.push(format!("{name}: {line}"));
                    }
                    doc.clear();
                }
            }
        }
    }
    assert_none(&without, "no clause named");
}

#[test]
fn files_can_be_held_in_the_head() {
    let sources = sources();
    let mut lengths: Vec<_> = sources.iter().map(|(_, text)| text.lines().count()).collect();
    let long = sources.iter().map(|(name, text)| (name, text.lines().count()));
    let long = long.filter(|(_, lines)| *lines > LONGEST);
    let long: Vec<_> = long.map(|(name, lines)| format!("{name}: {lines}")).collect();
    assert_none(&long, "too long");
    lengths.sort_unstable();
    let median = lengths[lengths.len() / 2];
    assert!(median <= 250, "the median file has {median} lines");
}

#[test]
fn a_room_is_a_file_and_a_folder_of_its_name() {
    let found: Vec<_> =
        sources().into_iter().map(|(name, _)| name).filter(|name| name.ends_with("/mod.rs")).collect();
    assert_none(&found, "mod.rs");
}

/// There is one table of addresses, one connector and one client: everything that opens a connection to a server does it there.
#[test]
fn connections_are_opened_in_one_place() {
    let elsewhere = |name: &str| {
        !is_in(name, "instep-net/src")
            && !name.starts_with("instep-testkit/")
            && !name.starts_with("instep/src")
    };
    let words = ["TcpStream::connect", "lookup_host", "HttpConnector::new", "hyper_rustls"];
    assert_none(&lines_with(&words, elsewhere), "a connection is opened outside of instep-net");
}
