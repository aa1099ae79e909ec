//! URI to path: the threats D1 and D5 to D9 as tables, and rules that hold for every URI.

mod injective;
mod names;

use std::collections::BTreeSet;

use resourcesync::Uri;

use super::{CopyPath, ExplicitMap, MapBase, MapError, Mapper, explicit::ExplicitMapError};

fn uri(text: &str) -> Uri {
    Uri::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Reads `URI=PATH`.
fn explicit_map(text: &str) -> Result<ExplicitMap, ExplicitMapError> {
    let (prefix, path) = text.rsplit_once('=').unwrap();
    ExplicitMap::new(prefix, path)
}

fn mapper(base: &str, explicit: &[&str]) -> Mapper {
    let explicit = explicit.iter().map(|text| explicit_map(text).unwrap()).collect();
    Mapper::new(MapBase::of(&uri(base)).unwrap(), explicit)
}

fn path(mapper: &Mapper, text: &str) -> String {
    mapper.map(&uri(text)).unwrap_or_else(|error| panic!("{text}: {error}")).as_str().to_owned()
}

fn is_safe(path: &str) -> bool {
    path.split('/').all(|name| {
        let lower = name.to_lowercase();
        !name.is_empty()
            && name.len() <= 255
            && !matches!(name, "." | "..")
            && !matches!(lower.as_str(), ".instep" | "instep.toml" | ".git" | "con" | "nul" | "aux" | "prn")
            && !name.ends_with(['.', ' '])
            && !name.starts_with('-')
            && !name.chars().any(|char| char.is_control() || "<>:\"/\\|?*".contains(char))
    }) && CopyPath::from_state(path).is_some()
}

#[test]
fn what_lies_below_the_base_keeps_its_names() {
    let at_folder = mapper("https://example.org/data/", &[]);
    let at_page = mapper("https://example.org/data/index.html", &[]);
    for (text, below_folder, below_host) in [
        ("https://example.org/data/a.txt", "a.txt", "data/a.txt"),
        ("HTTPS://EXAMPLE.org:443/data/a.txt", "a.txt", "data/a.txt"),
        ("https://example.org/data/d/e/f.txt", "d/e/f.txt", "data/d/e/f.txt"),
        (
            "https://example.org/data/two%20words%20%26%20%C3%A9.txt",
            "two words & é.txt",
            "data/two words & é.txt",
        ),
        ("https://example.org/data/100%25.txt", "100%.txt", "data/100%.txt"),
        ("https://example.org/data/a(1),b;c=d@e!%24.txt", "a(1),b;c=d@e!$.txt", "data/a(1),b;c=d@e!$.txt"),
        ("https://example.org/data/", "%40index", "data/%40index"),
        ("https://example.org/data", "@example.org_443/data", "data"),
        ("https://example.org/", "@example.org_443/%40index", "%40index"),
        ("https://example.org", "@example.org_443/%40index", "%40index"),
        ("https://example.org/other/a", "@example.org_443/other/a", "other/a"),
        ("http://example.org/data/a.txt", "@example.org_80/data/a.txt", "@example.org_80/data/a.txt"),
        (
            "https://example.org:8443/data/a",
            "@example.org_8443_https/data/a",
            "@example.org_8443_https/data/a",
        ),
        ("http://cdn.example.org/x", "@cdn.example.org_80/x", "@cdn.example.org_80/x"),
        ("http://[::1]:8080/x", "@[%3A%3A1]_8080/x", "@[%3A%3A1]_8080/x"),
        ("https://example.org/data/@x_80/y", "%40%40x_80/y", "data/@x_80/y"),
    ] {
        assert_eq!(path(&at_folder, text), below_folder, "{text}");
        assert_eq!(path(&at_page, text), below_host, "{text}");
    }
}

/// A map that covers nothing makes the mapper take every URI apart.
#[test]
fn a_uri_that_is_not_taken_apart_gets_the_path_that_it_would_get() {
    let tails = [
        "",
        "a",
        "d/e/f.txt",
        "a//b",
        "a/",
        "/a",
        "con",
        "COM1.txt",
        "lpt9",
        "nul.a/b",
        "-x",
        ".git/x",
        ".well-known",
        ".instep/x",
        "a.",
        "a../b",
        "..",
        "a/../b",
        ".",
        "...",
        "@x_80/y",
        "%41",
        "a%2Fb",
        "x?y",
        "x?",
        "x#y",
        "~a",
        "a(1)",
        "_",
        "a_b-c.d",
    ];
    let long = "n".repeat(300);
    for base in
        ["http://h/", "http://h", "http://h/a/", "http://h/a/page?q", "http://h:8080/a%20b/", "http://u@h/"]
    {
        let (quick, thorough) = (mapper(base, &[]), mapper(base, &["http://elsewhere/=x"]));
        let starts =
            ["http://h/", "http://h", "http://h/a/", "http://h:8080/a%20b/", "http://u@h/", "http://H/"];
        for start in starts {
            for tail in tails.iter().chain([&&*long]).filter(|_| start.ends_with('/')).chain([&""]) {
                let text = format!("{start}{tail}");
                assert_eq!(path(&quick, &text), path(&thorough, &text), "{text} below {base}");
            }
        }
    }
}

#[test]
fn d5_a_uri_that_is_also_a_folder_has_a_place_of_its_own() {
    let mapper = mapper("http://h/", &[]);
    assert_eq!(path(&mapper, "http://h/a"), "a");
    assert_eq!(path(&mapper, "http://h/a/"), "a/%40index");
    assert_eq!(path(&mapper, "http://h/a/b"), "a/b");
    assert_eq!(mapper.map(&uri("http://h/a")).unwrap().body().as_str(), "a/%40body");
    for taken in [
        "http://h/a/@index",
        "http://h/a/%40index",
        "http://h/a/%2540index",
        "http://h/a/@body",
        "http://h/a/%2540body",
    ] {
        assert!(!["a/%40index", "a/%40body"].contains(&path(&mapper, taken).as_str()), "{taken}");
    }
    assert_eq!(path(&mapper, "http://h/a//b"), "a/%40/b");
}

#[test]
fn d6_scheme_port_user_and_query_tell_resources_apart_and_fragments_do_not() {
    let mapper = mapper("http://h/", &[]);
    let uris = [
        "http://h/p?q=1",
        "http://h/p?q=2",
        "http://h/p",
        "http://h/p?",
        "http://h/p;v=1",
        "http://h:8080/p",
        "https://h/p",
        "http://user@h/p",
        "http://h/p?q=1%262",
        "http://h/p?q=1&2",
        "http://h/p?q=1#x",
        "http://h/p#y",
    ];
    let paths: BTreeSet<_> = uris.iter().map(|text| path(&mapper, text)).collect();
    assert_eq!(paths.len(), 10, "{paths:#?}");
    assert_eq!(path(&mapper, "http://h/p?q=1"), "p%40q=1");
    assert_eq!(path(&mapper, "http://h/p?a/b=%C3%A9"), "p%40a%2Fb=é");
    assert!(!path(&mapper, "http://user:secret@h/p").contains("secret"));
    assert_ne!(path(&mapper, "http://h/p%3Fq=1"), path(&mapper, "http://h/p?q=1"));
}

#[test]
fn d26_other_schemes_have_no_place() {
    let mapper = mapper("http://h/", &[]);
    for text in ["ftp://h/x", "file:///etc/passwd", "urn:isbn:1", "data:,x", "javascript:x", "ws://h/x"] {
        assert!(matches!(mapper.map(&uri(text)), Err(MapError::Scheme { .. })), "{text}");
    }
    for text in ["http:///x", "http:x", "http://h:99999/x", "http://:80/x"] {
        // An earlier version may have recorded such URIs (C32).
        let uri = Uri::parse_recorded(text).unwrap();
        assert!(matches!(mapper.map(&uri), Err(MapError::Host { .. })), "{text}");
    }
}

#[test]
fn explicit_maps_come_first_in_their_order() {
    let mapper = mapper(
        "http://h/",
        &["http://h/img/=pictures", "http://h/img/raw/=never", "http://other/a=b/c", "http://m/=."],
    );
    assert_eq!(path(&mapper, "http://h/img/raw/x.png"), "pictures/raw/x.png");
    assert_eq!(path(&mapper, "http://h/img/"), "pictures/%40index");
    assert_eq!(path(&mapper, "http://h/img/../../x"), "pictures/.%2E/.%2E/x");
    assert_eq!(path(&mapper, "http://other/a"), "b/c");
    assert_eq!(path(&mapper, "http://other/a/d"), "b/c/d");
    assert_eq!(path(&mapper, "http://other/ab"), "@other_80/ab");
    assert_eq!(path(&mapper, "http://m/x/y"), "x/y");
    for wrong in ["http://h/=/abs", "http://h/=../x", "http://h/=.instep/x", "http://h/=a/../b"] {
        assert!(explicit_map(wrong).is_err(), "{wrong}");
    }
}
