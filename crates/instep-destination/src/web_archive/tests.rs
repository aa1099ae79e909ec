//! Archives over runs, kills and damage.

use std::{fs, path::Path, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use instep_net::{BodyObserver, Exchange, ExchangeObserver as _};
use instep_warc::{WarcKind, WarcReader};
use resourcesync::Uri;

use super::*;

fn begin(observer: &ArchiveObserver, path: &str, status: u16) -> Box<dyn BodyObserver> {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert("transfer-encoding", HeaderValue::from_static("chunked"));
    observer.answered(Exchange {
        uri: &Uri::parse(&format!("http://example.com/{path}")).unwrap(),
        method: &Method::GET,
        request_headers: &HeaderMap::new(),
        status: StatusCode::from_u16(status).unwrap(),
        headers: &headers,
        at: SystemTime::UNIX_EPOCH,
    })
}

fn fetch(archive: &Arc<WebArchive>, path: &str, status: u16, body: &[u8], is_whole: bool) {
    let mut body_observer = begin(&archive.observer(), path, status);
    for piece in body.chunks(1_000) {
        body_observer.data(&Bytes::copy_from_slice(piece));
    }
    body_observer.ended(is_whole);
}

fn open(dir: &Path) -> Arc<WebArchive> {
    Arc::new(WebArchive::open(&ArchiveOptions::new(dir)).unwrap())
}

fn names(dir: &Path, ending: &str) -> Vec<String> {
    let names = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(ending)).collect();
    names.sort();
    names
}

/// Returns the kind, URI and length of each record, in the order of the files.
fn records(dir: &Path) -> Vec<(String, String, u64)> {
    let mut found = Vec::new();
    for name in names(dir, ".warc.gz") {
        let file = fs::read(dir.join(name)).unwrap();
        let mut reader = WarcReader::new(&file[..]);
        while reader
            .next(&mut |record| {
                let uri = record.head.target().unwrap_or_default().to_owned();
                found.push((record.head.kind.to_string(), uri, record.length));
                Ok(())
            })
            .unwrap()
        {}
    }
    found
}

fn kinds(dir: &Path) -> Vec<String> {
    records(dir).into_iter().map(|(kind, ..)| kind).collect()
}

#[test]
fn an_exchange_is_a_response_and_a_request_and_a_payload_that_is_known_a_revisit() {
    let folder = tempfile::tempdir().unwrap();
    let archive = open(folder.path());
    fetch(&archive, "a", 200, b"same", true);
    fetch(&archive, "b", 200, b"same", true);
    fetch(&archive, "a", 304, b"", true);
    fetch(&archive, "broken", 200, b"half", false);
    fetch(&archive, "gone", 404, b"", false);
    archive.close().unwrap();
    assert_eq!(
        kinds(folder.path()),
        [
            "warcinfo", "response", "request", "revisit", "request", "revisit", "request", "response",
            "request"
        ]
    );
    let [index] = &names(folder.path(), ".cdxj")[..] else { panic!("one index") };
    let index = fs::read_to_string(folder.path().join(index)).unwrap();
    let lines: Vec<_> = index.lines().map(|line| line.split(' ').next().unwrap()).collect();
    assert_eq!(lines, ["com,example)/a", "com,example)/a", "com,example)/b", "com,example)/gone"]);

    // The next run appends to the file, and knows the payloads of the archive.
    let archive = open(folder.path());
    fetch(&archive, "c", 200, b"same", true);
    archive.keep().unwrap();
    archive.close().unwrap();
    assert_eq!(names(folder.path(), ".warc.gz").len(), 1);
    assert_eq!(kinds(folder.path())[9..], ["revisit", "request"]);
}

#[test]
fn exchanges_that_end_at_the_same_time_have_each_their_whole_records() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = ArchiveOptions::new(folder.path());
    // Files end and begin while exchanges are written.
    options.file_bytes = 100_000;
    let archive = Arc::new(WebArchive::open(&options).unwrap());
    std::thread::scope(|scope| {
        for thread in 0..8_usize {
            let archive = &archive;
            scope.spawn(move || {
                for number in 0..100 {
                    // Small ones, ones that are compressed, and some that the task does not write itself.
                    let length = [20, 900, 9_000, 90_000][number % 4];
                    let body = format!("{thread} {number} ").repeat(length / 6);
                    fetch(archive, &format!("{thread}/{number}"), 200, body.as_bytes(), true);
                    if number % 25 == 0 {
                        archive.keep().unwrap();
                    }
                }
            });
        }
    });
    archive.close().unwrap();
    let of_kind = |kind: &str| {
        let records = records(folder.path()).into_iter().filter(|(is, ..)| is == kind);
        records.map(|(_, uri, _)| uri).collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!((of_kind("response"), of_kind("request")), (800, 800));
    let mut listed = 0;
    for name in names(folder.path(), ".cdxj") {
        for line in fs::read_to_string(folder.path().join(name)).unwrap().lines() {
            let fields = instep_warc::CdxjLine::parse(line).unwrap().fields().unwrap();
            let text = |name: &str| fields[name].as_str().unwrap().to_owned();
            let (from, length): (usize, usize) =
                (text("offset").parse().unwrap(), text("length").parse().unwrap());
            let file = fs::read(folder.path().join(text("filename"))).unwrap();
            let read = WarcReader::new(&file[from..from + length]).next(&mut |record| {
                assert_eq!(record.head.target(), Some(&*text("url")));
                Ok(())
            });
            assert!(read.unwrap());
            listed += 1;
        }
    }
    assert_eq!(listed, 800);
}

#[test]
fn what_is_kept_survives_a_kill_and_a_record_that_is_cut_off_goes() {
    let folder = tempfile::tempdir().unwrap();
    let archive = open(folder.path());
    for number in 0..4_u8 {
        fetch(&archive, &number.to_string(), 200, &vec![number; 3_000], true);
    }
    archive.keep().unwrap();
    let [left] = &names(folder.path(), ".open")[..] else { panic!("one open file") };
    let whole = fs::read(folder.path().join(left)).unwrap();
    let name = left.clone();
    archive.close().unwrap();
    for cut in [0, 1, 5, 40, 200] {
        let after = tempfile::tempdir().unwrap();
        fs::write(after.path().join(&name), &whole[..whole.len() - cut]).unwrap();
        let archive = open(after.path());
        fetch(&archive, "more", 200, b"more", true);
        archive.close().unwrap();
        let uris: Vec<_> =
            records(after.path()).into_iter().filter(|(kind, ..)| kind == "response").collect();
        assert!(uris.len() >= 4 && uris.last().unwrap().1.ends_with("/more"), "{cut}: {uris:?}");
        assert_eq!(names(after.path(), ".open"), [""; 0]);
        let index = fs::read_to_string(after.path().join(&names(after.path(), ".cdxj")[0])).unwrap();
        assert_eq!(index.lines().count(), uris.len(), "{cut}");
    }
}

#[test]
fn a_damaged_file_is_set_aside_and_nothing_of_it_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let archive = open(folder.path());
    fetch(&archive, "a", 200, b"one", true);
    archive.keep().unwrap();
    let [left] = &names(folder.path(), ".open")[..] else { panic!("one open file") };
    let mut bytes = fs::read(folder.path().join(left)).unwrap();
    archive.close().unwrap();
    let after = tempfile::tempdir().unwrap();
    bytes[0] = b'x';
    fs::write(after.path().join(left), &bytes).unwrap();
    open(after.path()).close().unwrap();
    let [aside] = &names(after.path(), ".damaged")[..] else { panic!("one damaged file") };
    assert_eq!(fs::read(after.path().join(aside)).unwrap(), bytes);
}

#[test]
fn o670_an_index_goes_with_the_file_that_it_is_of() {
    // A file without any complete record, and one with damage: both were indexed by an earlier run.
    for (bytes, left) in [(&b"\x1f\x8b"[..], 0), (&b"xxxx\n"[..], 1)] {
        let folder = tempfile::tempdir().unwrap();
        let archive = open(folder.path());
        fetch(&archive, "a", 200, b"one", true);
        archive.close().unwrap();
        let [name] = &names(folder.path(), ".warc.gz")[..] else { panic!("one file") };
        assert_eq!(names(folder.path(), ".cdxj").len(), 1);
        fs::remove_file(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(format!("{name}.open")), bytes).unwrap();
        open(folder.path()).close().unwrap();
        assert_eq!(names(folder.path(), ".damaged").len(), left);
        assert_eq!(names(folder.path(), ".cdxj"), [""; 0], "its lines name a file that is not there");
    }
}

#[test]
fn a_file_that_is_full_is_followed_by_another_and_one_run_at_a_time_writes() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = ArchiveOptions::new(folder.path());
    options.file_bytes = 1_000;
    let archive = Arc::new(WebArchive::open(&options).unwrap());
    assert!(matches!(WebArchive::open(&options), Err(StoreError::Locked { .. })));
    // A body that is large enough to wait in a file.
    let large: Vec<u8> = (0..600_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    fetch(&archive, "large", 200, &large, true);
    fetch(&archive, "small", 200, b"small", true);
    archive.close().unwrap();
    assert_eq!(names(folder.path(), ".warc.gz").len(), 2);
    assert_eq!(names(folder.path(), ".cdxj").len(), 2);
    let records = records(folder.path());
    let large_record =
        records.iter().find(|(kind, uri, _)| kind == "response" && uri.ends_with("large")).unwrap();
    assert!(large_record.2 > large.len() as u64);
    let is_response = |(kind, ..): &&(String, String, u64)| *kind == WarcKind::Response.to_string();
    assert_eq!(records.iter().filter(is_response).count(), 2);
}

#[test]
fn o679_a_file_with_a_large_index_is_followed_by_another_in_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = |path: &str| {
        let archive = open(folder.path());
        fetch(&archive, path, 200, path.as_bytes(), true);
        archive.close().unwrap();
        names(folder.path(), ".cdxj")
    };
    let [index] = &run("a")[..] else { panic!("one index") };
    let line = fs::read_to_string(folder.path().join(index)).unwrap();
    fs::write(folder.path().join(index), line.repeat(9_999)).unwrap();
    assert_eq!(run("b").len(), 1, "continued");
    assert_eq!(run("c").len(), 2, "its index has 10,000 lines");
}

#[test]
fn o684_only_a_run_with_a_new_body_reads_the_indexes_of_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let mut options = ArchiveOptions::new(folder.path());
    // Each run begins a file.
    options.file_bytes = 1;
    let run = |status: u16, body: &[u8]| {
        let archive = Arc::new(WebArchive::open(&options).unwrap());
        fetch(&archive, "a", status, body, true);
        archive.close()
    };
    run(200, b"one").unwrap();
    run(200, b"two").unwrap();
    let index = folder.path().join(&names(folder.path(), ".cdxj")[0]);
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    run(304, b"").unwrap();
    assert!(run(200, b"three").is_err());
}

#[test]
fn o685_a_damaged_index_of_an_archive_stays_as_it_is_and_fails_no_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = |body: &[u8]| {
        let archive = open(folder.path());
        fetch(&archive, "a", 200, body, true);
        archive.close().unwrap();
    };
    run(b"one");
    let index = folder.path().join(&names(folder.path(), ".cdxj")[0]);
    fs::write(&index, b"\xff\n").unwrap();
    run(b"two");
    run(b"three");
    assert_eq!(fs::read(&index).unwrap(), b"\xff\n");
    assert_eq!(names(folder.path(), ".warc.gz").len(), 2, "the second file is continued");
}

#[test]
fn a_member_of_a_package_is_a_resource() {
    let folder = tempfile::tempdir().unwrap();
    let archive = open(folder.path());
    let mut file = tempfile::tempfile().unwrap();
    io::Write::write_all(&mut file, b"member").unwrap();
    archive.member("http://example.com/m", Some("text/plain"), Ok(file));
    archive.close().unwrap();
    assert_eq!(records(folder.path())[1], ("resource".to_owned(), "http://example.com/m".to_owned(), 6));
}

#[test]
fn o407_a_large_body_waits_in_the_folder_of_the_archive_and_in_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let archive = open(folder.path());
    assert_eq!(archive.records.folder(), folder.path());
    archive.close().unwrap();
    // Nothing can wait in a folder that is not there.
    let used = ArchiveFolder::open(&ArchiveOptions::new(folder.path())).unwrap();
    let records = Arc::new(ArchiveRecords::new(&folder.path().join("gone"), used));
    let mut body_observer = begin(&ArchiveObserver::new(Arc::clone(&records)), "large", 200);
    body_observer.data(&Bytes::from(vec![7_u8; 2 << 20]));
    body_observer.ended(true);
    let waiting = records.orders.take();
    let [ArchiveOrder::Failed(error)] = &waiting[..] else { panic!("a body waits elsewhere") };
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
}

#[test]
fn o585_a_member_whose_file_cannot_be_opened_fails_the_archive_and_is_not_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let archive = open(folder.path());
    archive.keep().unwrap();
    archive.member("http://example.com/a", None, Err(StoreError::io("open", "a", io::ErrorKind::Other)));
    assert!(archive.keep().is_err());
}

#[test]
fn o784_an_archive_that_cannot_be_written_is_not_named_as_a_folder_of_the_copy() {
    let folder = tempfile::tempdir().unwrap();
    let to_root: PathBuf = std::env::current_dir().unwrap().components().skip(1).map(|_| "..").collect();
    let archive = open(&to_root.join(folder.path().strip_prefix("/").unwrap()));
    let error = crate::Error::from(archive.failed(io::Error::other("full"))).below(Path::new("the copy"));
    assert!(!error.to_string().contains("the copy"), "{error}");
}
