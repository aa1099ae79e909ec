//! No two resources get the same path, and no path leads out of the copy, whatever their URIs are (D1).

use std::collections::BTreeMap;

use proptest::{prelude::*, strategy::ValueTree as _};

use super::*;

#[test]
fn d1_no_uri_leads_out_of_the_copy_and_none_meets_another() {
    let mapper = mapper("http://h/", &[]);
    let tails = [
        "..",
        "../",
        "../x",
        "../../etc/passwd",
        "./x",
        ".",
        "./",
        "a/../b",
        "a/./b",
        "%2e%2e/x",
        "%2E%2e/y",
        ".%2e/z",
        "%2e./w",
        "..%2fx",
        "..%2Fy",
        "%2e%2e%2fx",
        "..%5cx",
        "%5c..%5cx",
        "%5cx",
        "%5c%5chost%5cshare",
        "c:%5cx",
        "c:/x",
        "C%3A/x",
        "%252e%252e/x",
        "%252e%252e%252fx",
        "%25252e/x",
        "%2fetc/passwd",
        "//etc/passwd",
        "/etc/passwd",
        "%00",
        "a%00b",
        "a%00.txt",
        "~/x",
        "~root/x",
        "%7e%2fx",
        "...",
        "....",
        ".. ./x".trim(),
        "..%20/x",
        "..%09/x",
        "%c0%ae%c0%ae/x",
        "%c0%af",
        "%e0%80%ae",
        "..%c0%afx",
        "..%ef%bc%8fx",
        "%ef%bc%8e%ef%bc%8e/x",
        "..;/x",
        "..%3b/y",
        "a/..;/b",
        "x/%2e%2e/y",
        ".instep/state.sqlite",
        ".INSTEP/state.sqlite",
        "%2einstep/lock",
        ".instep%2fstate",
        ".inst%C2%ADep/x",
        ".in%E2%80%8Bstep/x",
        ".in%C5%BFtep/x",
        ".git/config",
        "a/.git/hooks/x",
        "-rf",
        "@h_80/x",
    ];
    let mut seen = BTreeMap::new();
    for tail in tails.iter().filter(|tail| !tail.contains(' ')) {
        let path = path(&mapper, &format!("http://h/{tail}"));
        assert!(is_safe(&path), "{tail} -> {path}");
        if let Some(other) = seen.insert(path.clone(), tail) {
            let decoded = |text: &str| percent_encoding::percent_decode_str(text).collect::<Vec<_>>();
            assert_eq!(decoded(other), decoded(tail), "{other} and {tail} -> {path}");
        }
    }
    assert!(seen.len() >= 55, "{}", seen.len());
}

/// Returns URIs that are likely to get the same path: few hosts, few octets, many ways to write them.
fn any_uri() -> impl Strategy<Value = String> {
    const HOSTS: [&str; 7] =
        ["http://h", "http://h:80", "https://h", "http://h:8080", "http://u@h", "http://H", "http://h.x"];
    const PIECES: &str = "a A b index body con .git e%CC%81 %C3%A9 x / / / . .. - @ ? & ; %25 %2F %40 %2E %3F %26 %2d : * \
                          ~ %7E + ( %28 $ ! %20 %00 %FF %5C 4 0 3F 40 F";
    let pieces: Vec<&str> = PIECES.split_whitespace().collect();
    let weighted = pieces.len() * 8;
    (0..HOSTS.len(), prop::collection::vec(0..weighted + 256, 0..12)).prop_map(move |(host, picks)| {
        let mut uri = format!("{}/", HOSTS[host]);
        for pick in picks {
            match pick.checked_sub(weighted) {
                Some(octet) => uri.push_str(&format!("%{octet:02X}")),
                None => uri.push_str(pieces[pick % pieces.len()]),
            }
        }
        uri
    })
}

/// Returns the parts that make two URIs one resource here: authority, octets of each segment, and the query without
/// needless escapes.
fn identity(text: &str) -> (String, Vec<Vec<u8>>, Option<Vec<u8>>) {
    let (scheme, rest) = text.split_once("://").unwrap();
    let (authority, rest) = rest.split_once('/').unwrap();
    let authority = authority.to_lowercase();
    let port = if scheme == "https" { ":443" } else { ":80" };
    let authority = if authority.contains(':') { authority } else { format!("{authority}{port}") };
    let (path, query) = rest.split_once('?').map_or((rest, None), |(path, query)| (path, Some(query)));
    let decode = |text: &str| percent_encoding::percent_decode_str(text).collect::<Vec<u8>>();
    let query = query.map(|query| {
        let mut octets = Vec::new();
        let mut rest = query.as_bytes();
        while let Some((first, after)) = rest.split_first() {
            let octet = (*first == b'%').then(|| decode(std::str::from_utf8(&rest[..3]).unwrap())[0]);
            match octet {
                Some(octet) if !b"%:/?#[]@!$&'()*+,;=".contains(&octet) => {
                    octets.extend([1, octet]);
                    rest = &rest[3..];
                }
                Some(octet) => {
                    octets.extend([2, octet]);
                    rest = &rest[3..];
                }
                None => {
                    octets.extend([1, *first]);
                    rest = after;
                }
            }
        }
        octets
    });
    (format!("{scheme}://{authority}"), path.split('/').map(decode).collect(), query)
}

#[test]
fn a_hundred_thousand_uris_map_injectively_and_inside() {
    let mapper = mapper("http://h/", &[]);
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = any_uri();
    let mut seen: BTreeMap<String, (String, _)> = BTreeMap::new();
    let mut mapped = 0;
    while mapped < 100_000 {
        let text = strategy.new_tree(&mut runner).unwrap().current();
        let Ok(uri) = Uri::parse(&text) else { continue };
        mapped += 1;
        let path = mapper.map(&uri).unwrap().as_str().to_owned();
        assert!(is_safe(&path), "{text} -> {path}");
        let identity = identity(&text);
        match seen.get(&path) {
            Some((other, theirs)) => assert_eq!(*theirs, identity, "{other} and {text} -> {path}"),
            None => {
                seen.insert(path, (text, identity));
            }
        }
    }
}
