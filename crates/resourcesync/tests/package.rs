//! Packages: what is written reads back, and what is unsafe is refused (ZIP-3 to ZIP-7, THREATS D2, D3, D19, D20).
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    fs,
    io::{Cursor, Read},
    path::PathBuf,
};

use resourcesync::{
    Document, MediaType, PackagePath, ReadOptions,
    package::{Package, PackageError, PackageLimits, PackageWriter},
};

const MANIFEST: &[u8] = b"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'/>";

fn package(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = PackageWriter::new(Cursor::new(Vec::new()), MANIFEST).unwrap();
    for (path, bytes) in members {
        writer
            .add(&PackagePath::new(path), Some(&MediaType::new("text/plain")), bytes.len() as u64, *bytes)
            .unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn problem(zip: &[u8]) -> Option<(&'static str, String)> {
    problem_within(zip, PackageLimits::new())
}

fn problem_within(zip: &[u8], limits: PackageLimits) -> Option<(&'static str, String)> {
    match Package::open(Cursor::new(zip), limits) {
        Ok(_) => None,
        Err(PackageError::Refused(problem)) => Some((problem.rule, problem.what)),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn what_is_written_reads_back_and_is_reproducible() {
    let large = vec![7; 3 << 20];
    let members: [(&str, &[u8]); 3] = [("/a", b"alpha"), ("/s/b", b""), ("/large", &large)];
    let zip = package(&members);
    assert_eq!(zip, package(&members));
    let mut limits = PackageLimits::new();
    limits.ratio = 2_000;
    let mut package = Package::open(Cursor::new(zip), limits).unwrap();
    for (path, bytes) in members {
        let mut read = Vec::new();
        package.bitstream(&PackagePath::new(path)).unwrap().read_to_end(&mut read).unwrap();
        assert_eq!(read, bytes, "{path}");
    }
    assert!(matches!(package.bitstream(&PackagePath::new("/none")), Err(PackageError::NoMember { .. })));
    assert!(matches!(package.bitstream(&PackagePath::new("/../a")), Err(PackageError::Path { .. })));
}

#[test]
fn o845_a_package_that_lacks_its_last_bytes_is_cut_off() {
    let zip = package(&[("/a", b"alpha")]);
    for missing in 1..22 {
        let (rule, what) = problem(&zip[..zip.len() - missing]).unwrap();
        assert!(rule == "ZIP-7" && what.contains("cut off"), "{missing}: {rule} {what}");
    }
    let (_, what) = problem(&[&zip[..], b"more"].concat()).unwrap();
    assert!(what.contains("bytes after"), "{what}");
}

#[test]
fn members_are_found_by_name_in_a_directory_of_many_blocks() {
    let names: Vec<String> =
        (0..3_000).map(|n| format!("/{}/{n:05}", "x".repeat(if n % 100 == 7 { 4_000 } else { 9 }))).collect();
    let members: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, name.as_bytes())).collect();
    let mut package = Package::open(Cursor::new(package(&members)), PackageLimits::new()).unwrap();
    for name in names.iter().rev() {
        let member = package.member(&PackagePath::new(name.as_str())).unwrap().unwrap();
        assert!(package.has(&member).unwrap());
        let mut text = String::new();
        package.bitstream(&PackagePath::new(name.as_str())).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(&text, name);
    }
    assert_eq!(package.member(&PackagePath::new("/x/00000")).unwrap(), None);
    let in_order: Vec<_> = package.members().map(|member| format!("/{}", member.unwrap().name)).collect();
    assert_eq!(in_order[1..], names);
}

#[test]
fn the_packages_of_the_fixtures_are_judged_as_their_names_say() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../instep-testkit/data/constructed/zip");
    for (name, rule) in [
        ("valid_change_dump.zip", None),
        ("valid_resource_dump.zip", None),
        ("ZIP-3_manifest_in_folder.zip", Some("ZIP-3")),
    ] {
        let zip = fs::read(folder.join(name)).unwrap();
        assert_eq!(problem(&zip).map(|(rule, _)| rule), rule, "{name}");
        if rule.is_none() {
            let mut package = Package::open(Cursor::new(zip), PackageLimits::new()).unwrap();
            let manifest = package.read_manifest(ReadOptions::new()).unwrap();
            for path in manifest.entries().iter().filter_map(|entry| entry.metadata.path.as_ref()) {
                std::io::copy(&mut package.bitstream(path).unwrap(), &mut std::io::sink()).unwrap();
            }
        }
    }
}

#[test]
fn d2_a_member_that_leads_out_of_its_package_is_not_used() {
    let file = "../instep-testkit/data/constructed/zip/ZIP-7_path_traversal.zip";
    let zip = fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let mut package = Package::open(Cursor::new(zip), PackageLimits::new()).unwrap();
    assert_eq!(package.unusable().0, 1);
    let names: Vec<_> = package.members().map(|member| member.unwrap().name).collect();
    assert_eq!(names.iter().map(|name| &**name).collect::<Vec<_>>(), ["manifest.xml", "resources/res2"]);
    for path in ["/../../evil", "../../evil", "/evil", "evil"] {
        assert!(package.bitstream(&PackagePath::new(path)).is_err(), "{path}");
    }
}

/// Replaces bytes wherever they stand: in the member's own header, in the directory, or in both.
fn replaced(zip: &[u8], from: &[u8], to: &[u8], which: fn(usize) -> bool) -> Vec<u8> {
    let mut zip = zip.to_vec();
    let places: Vec<usize> = (0..zip.len()).filter(|at| zip[*at..].starts_with(from)).collect();
    for (_, at) in places.into_iter().enumerate().filter(|(index, _)| which(*index)) {
        zip[at..at + to.len()].copy_from_slice(to);
    }
    zip
}

fn directory_entry(zip: &[u8], index: usize) -> usize {
    (0..zip.len()).filter(|at| zip[*at..].starts_with(b"PK\x01\x02")).nth(index).unwrap()
}

fn with(zip: &[u8], at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut zip = zip.to_vec();
    zip[at..at + bytes.len()].copy_from_slice(bytes);
    zip
}

#[test]
fn d20_what_readers_would_read_differently_is_refused() {
    let zip = package(&[("/aaaa", b"hello hello"), ("/bbbb", b"world world")]);
    let entry = directory_entry(&zip, 1);
    let other = directory_entry(&zip, 2);
    let end = zip.len() - 22;
    let stored = stored_package();
    let entry_of_stored = directory_entry(&stored, 1);
    let local = (0..stored.len()).filter(|at| stored[*at..].starts_with(b"PK\x03\x04")).nth(1).unwrap();
    assert_eq!((problem(&zip), problem(&stored)), (None, None));
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("data after the end", [&zip[..], b"x"].concat(), "after the end"),
        ("data before the start", [b"x", &zip[..]].concat(), "directory"),
        ("a second end record", [&zip[..], &zip[end..]].concat(), "end"),
        ("cut off", zip[..zip.len() - 3].to_vec(), "end record"),
        ("another name locally", replaced(&zip, b"aaaa", b"aaab", |nth| nth == 0), "another name"),
        ("another checksum locally", with(&zip, entry + 16, &[0, 0, 0, 0]), "another checksum"),
        ("another size locally", with(&zip, entry + 24, &[9, 0, 0, 0]), "other sizes"),
        ("fewer entries", with(&zip, end + 8, &[2, 0, 2, 0]), "more entries"),
        ("more entries", with(&zip, end + 8, &[4, 0, 4, 0]), "fewer entries"),
        ("two parts", with(&zip, end + 4, &[1, 0]), "parts"),
        ("overlap", with(&zip, other + 42, &zip[entry + 42..entry + 46]), "overlaps"),
        ("another form locally", with(&zip, entry + 8, &[1, 0]), "another form"),
        ("another method locally", with(&zip, entry + 10, &[14, 0]), "another form"),
        ("two lengths", with(&with(&stored, entry_of_stored + 24, &[9]), local + 22, &[9]), "two lengths"),
        ("not a ZIP file", b"<html>".to_vec(), "not a ZIP"),
        ("nothing", Vec::new(), "not a ZIP"),
    ];
    for (name, damaged, expected) in cases {
        let found = problem(&damaged);
        assert!(found.as_ref().is_some_and(|(_, what)| what.contains(expected)), "{name}: {found:?}");
        assert!(Package::open(Cursor::new(damaged), PackageLimits::new()).is_err(), "{name}");
    }
}

/// Returns a package with members of a type that is not compressed.
fn stored_package() -> Vec<u8> {
    let mut writer = PackageWriter::new(Cursor::new(Vec::new()), MANIFEST).unwrap();
    for path in ["/aaaa", "/bbbb"] {
        writer.add(&PackagePath::new(path), Some(&MediaType::new("image/png")), 5, &b"bytes"[..]).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn o338_a_member_that_cannot_be_used_costs_no_other() {
    let zip = package(&[("/aaaa", b"hello hello"), ("/bbbb", b"world world"), ("/cccc", b"other")]);
    let both = |from: &[u8], to: &[u8]| replaced(&zip, from, to, |_| true);
    let (entry, local) = (directory_entry(&zip, 1), zip.windows(4).position(|four| four == b"aaaa").unwrap());
    let marked = |at: usize, local_at: usize, bytes: &[u8]| {
        with(&with(&zip, entry + at, bytes), local - 30 + local_at, bytes)
    };
    let cases = [
        ("encrypted", marked(8, 6, &[1, 0]), "encrypted", "aaaa"),
        ("an unknown method", marked(10, 8, &[93, 0]), "method", "aaaa"),
        ("a link", with(&zip, entry + 41, &[0xa1]), "link", "aaaa"),
        ("a drive", both(b"aaaa", b"C:aa"), "leads out", "C:aa"),
        ("a backslash", both(b"aaaa", b"a\\aa"), "leads out", "a\\aa"),
        ("dots", both(b"aaaa", b"../a"), "leads out", "../a"),
        ("an absolute name", both(b"aaaa", b"/aaa"), "leads out", "/aaa"),
        ("a control character", both(b"aaaa", b"a\0aa"), "leads out", "a\0aa"),
        ("the same name twice", both(b"cccc", b"aaaa"), "two members", "aaaa"),
    ];
    for (name, damaged, expected, member) in cases {
        let mut package = Package::open(Cursor::new(damaged), PackageLimits::new()).unwrap();
        let (count, reasons) = package.unusable();
        assert_eq!((count, reasons.len(), reasons[0].rule), (1, 1, "ZIP-7"), "{name}");
        assert!(reasons[0].what.contains(expected), "{name}: {reasons:?}");
        let path = PackagePath::new(member);
        assert_eq!(package.member(&path).unwrap(), None, "{name}");
        let opened = package.bitstream(&path).map(drop);
        let is_refused = |error: &PackageError| {
            matches!(
                error,
                PackageError::Unusable(_) | PackageError::Path { .. } | PackageError::NoMember { .. }
            )
        };
        assert!(opened.as_ref().is_err_and(is_refused), "{name}: {opened:?}");
        let mut text = String::new();
        package.bitstream(&PackagePath::new("/bbbb")).unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(text, "world world", "{name}");
    }
    let other = package(&[("/manifest.xmx", b"<urlset/>")]);
    let two_manifests = replaced(&other, b"manifest.xmx", b"manifest.xml", |_| true);
    assert!(problem(&two_manifests).unwrap().1.contains("two members are named \"manifest.xml\""));
}

#[test]
fn d19_a_bomb_is_not_unpacked() {
    let zeros = vec![0; 8 << 20];
    let bomb = package(&[("/zeros", &zeros), ("/a", b"alpha")]);
    let mut opened = Package::open(Cursor::new(&bomb), PackageLimits::new()).unwrap();
    assert!(opened.unusable().1[0].what.contains("200 times"));
    let unpacked = opened.bitstream(&PackagePath::new("/zeros")).map(drop);
    assert!(matches!(unpacked, Err(PackageError::Unusable(_))), "{unpacked:?}");
    let mut limits = PackageLimits::new();
    (limits.ratio, limits.bytes) = (10_000, 1 << 20);
    assert!(problem_within(&bomb, limits).unwrap().1.contains("1048576 bytes"));
    limits.members = 1;
    assert!(problem_within(&bomb, limits).unwrap().1.contains("1 members"));
}

#[test]
fn a_damaged_bitstream_is_an_error_at_its_end() {
    let mut writer = PackageWriter::new(Cursor::new(Vec::new()), MANIFEST).unwrap();
    writer.add(&PackagePath::new("/a"), None, 11, &b"hello hello"[..]).unwrap();
    let zip = replaced(&writer.finish().unwrap().into_inner(), b"hello hello", b"hellO hello", |_| true);
    let mut package = Package::open(Cursor::new(zip), PackageLimits::new()).unwrap();
    let error = std::io::copy(&mut package.bitstream(&PackagePath::new("a")).unwrap(), &mut std::io::sink());
    assert_eq!(error.unwrap_err().kind(), std::io::ErrorKind::InvalidData);
}

#[test]
fn content_of_another_length_is_refused() {
    for length in [4, 6, 2 << 20] {
        let mut writer = PackageWriter::new(Cursor::new(Vec::new()), MANIFEST).unwrap();
        let added = writer.add(&PackagePath::new("/a"), None, length, &b"hello"[..]);
        assert!(matches!(added, Err(PackageError::Length { .. })), "{length}");
    }
}

/// Returns a package whose `manifest.xml` is an index of two manifests, as section 5 of the D-Lib paper allows.
fn in_parts(index: &str) -> Package<Cursor<Vec<u8>>> {
    let of = |root: &str, inner: &str| {
        format!(
            "<{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
             xmlns:rs=\"http://www.openarchives.org/rs/terms/\">\
             <rs:md capability=\"resourcedump-manifest\" at=\"2013-01-03T09:00:00Z\"/>{inner}</{root}>"
        )
    };
    let part = |name: &str| {
        let entry = format!("<url><loc>http://example.com/{name}</loc><rs:md path=\"/res/{name}\"/></url>");
        of("urlset", &entry)
    };
    let (one, two) = (part("a"), part("b"));
    let members = [("/parts/1.xml", &one), ("/parts/2.xml", &two)];
    let mut writer =
        PackageWriter::new(Cursor::new(Vec::new()), of("sitemapindex", index).as_bytes()).unwrap();
    for (path, text) in members {
        writer.add(&PackagePath::new(path), None, text.len() as u64, text.as_bytes()).unwrap();
    }
    for name in ["a", "b"] {
        writer.add(&PackagePath::new(&format!("/res/{name}")), None, 1, name.as_bytes()).unwrap();
    }
    Package::open(writer.finish().unwrap(), PackageLimits::new()).unwrap()
}

#[test]
fn a8_a_manifest_in_parts_names_the_bitstreams_of_all_its_parts() {
    let by_path = "<sitemap><loc>http://example.com/x</loc><rs:md path=\"/parts/1.xml\"/></sitemap>\
                   <sitemap><loc>http://example.com/y</loc><rs:md path=\"/parts/2.xml\"/></sitemap>";
    let by_loc = "<sitemap><loc>http://example.com/dump/parts/1.xml</loc></sitemap>\
                  <sitemap><loc>http://example.com/dump/parts/2.xml</loc></sitemap>";
    for index in [by_path, by_loc] {
        let mut package = in_parts(index);
        let whole = package.read_manifest(ReadOptions::new()).unwrap();
        assert!(matches!(whole, Document::ResourceDumpManifestIndex(_)), "{whole:?}");
        let mut found = Vec::new();
        for part in package.manifests(ReadOptions::new()).unwrap() {
            let mut reader = package.manifest_at(&part, ReadOptions::new()).unwrap();
            found.extend(reader.entries().map(|entry| entry.unwrap().metadata.path.unwrap().to_string()));
        }
        assert_eq!(found, ["/res/a", "/res/b"]);
    }
}

#[test]
fn a8_a_part_that_is_missing_or_an_index_itself_is_refused() {
    let missing = "<sitemap><loc>http://example.com/parts/3.xml</loc></sitemap>";
    assert!(matches!(in_parts(missing).manifests(ReadOptions::new()), Err(PackageError::NoMember { .. })));
    let itself = "<sitemap><loc>http://example.com/manifest.xml</loc></sitemap>";
    let refused = in_parts(itself).manifests(ReadOptions::new());
    assert!(matches!(refused, Err(PackageError::Refused(problem)) if problem.rule == "GEN-9"));
}
