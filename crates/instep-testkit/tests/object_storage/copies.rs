//! Copies whose bytes are in object storage, with both servers. A referee that shares no code with us compares
//! bucket, state and Source.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::mpsc::channel,
};

use instep_testkit::{Run, S3Server, Server, instep, peers};
use tempfile::TempDir;

use super::killed::{CutAt, RequestCounter, cutting_proxy, is_killed_at_put};

/// The bucket of each server.
const BUCKET: &str = S3Server::BUCKET;

/// Reads every pack as a web archive and checks its digests. Reads every resource that the state records as held,
/// which must equal that of the Source. Nothing else may be in the bucket. Prints the number of resources and of
/// packs.
const REFEREE: &str = r#"
import gzip, io, os, sqlite3, sys, urllib.request
from warcio.archiveiterator import ArchiveIterator
objects, state = sys.argv[1], sqlite3.connect(sys.argv[2])
def read(key):
    with open(os.path.join(objects, key), "rb") as file: return file.read()
keys = {os.path.relpath(os.path.join(at, name), objects) for at, _, names in os.walk(objects) for name in names}
packs = [key for key in keys if key.startswith("packs/")]
for key in packs:
    for record in ArchiveIterator(io.BytesIO(read(key)), check_digests="raise"):
        assert record.rec_type == "resource" and record.rec_headers.get_header("WARC-Payload-Digest"), key
        record.content_stream().read()
led, held = set(), 0
rows = state.execute('SELECT uri, path, p.key, "offset", packed FROM held LEFT JOIN pack AS p ON p.id = held.pack')
for uri, path, key, offset, length in rows.fetchall():
    led.add(key or path)
    data = read(key)[offset:offset + length] if key else read(path)
    if key and key.startswith("packs/"):
        record = next(iter(ArchiveIterator(io.BytesIO(data))))
        assert record.rec_headers.get_header("WARC-Target-URI") == uri
        data = record.content_stream().read()
    assert data == urllib.request.urlopen(uri).read(), uri
    held += 1
assert led == keys, (led - keys, keys - led)
print(held, len(packs))
"#;

/// A Source, and a copy of it in object storage.
pub(crate) struct Kept<'s> {
    server: &'s S3Server,
    pub(crate) room: TempDir,
    pub(crate) files: PathBuf,
    web: Server,
    pub(crate) python: PathBuf,
    prefix: &'static str,
    layout: &'static str,
}

impl<'s> Kept<'s> {
    /// `None` if a peer is missing.
    pub(crate) fn new(server: &'s S3Server, prefix: &'static str, layout: &'static str) -> Option<Self> {
        let [python, _] = peers::find(["python", "warcio"])?;
        let room = tempfile::tempdir().unwrap();
        let files = room.path().join("files");
        fs::create_dir_all(files.join("d")).unwrap();
        (0..20).for_each(|number| fs::write(files.join(format!("d/f{number}.txt")), "one").unwrap());
        let noise = (0..9_u32 << 18).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes());
        fs::write(files.join("large.bin"), noise.collect::<Vec<_>>()).unwrap();
        fs::write(files.join("empty"), "").unwrap();
        let web = Server::python(&python, &files).unwrap();
        let kept = Self { server, room, files, web, python, prefix, layout };
        kept.publish();
        Some(kept)
    }

    pub(crate) fn publish(&self) {
        let url = self.web.url();
        let _ = Run::of(instep(["publish"]).arg(&self.files).args(["--base-url", &url])).with_code(0);
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.room.path().join("state")
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = instep(arguments);
        self.server.configure(&mut command);
        command
    }

    fn sync(&self, more: &[&str]) -> Command {
        let mut command = self.command(&["sync", &self.web.url()]);
        let store = format!("s3://{BUCKET}/{}{}", self.prefix, self.layout);
        command.arg(self.state()).args(["--store", &store, "--delete", "--max-delete", "100%"]).args(more);
        command
    }

    pub(crate) fn synced(&self) -> Run {
        Run::of(&mut self.sync(&[])).with_code(0)
    }

    fn audit(&self, more: &[&str], code: i32) -> Run {
        let mut audit = self.command(&["audit"]);
        Run::of(audit.args(more).arg(self.state())).with_code(code)
    }

    /// Returns the numbers of resources and of packs that the referee found correct.
    pub(crate) fn judged(&self) -> (u32, u32) {
        let objects = self.room.path().join("objects");
        let _ = fs::remove_dir_all(&objects);
        fs::create_dir(&objects).unwrap();
        for (name, bytes) in self.server.objects(self.room.path(), &format!("{}/", self.prefix)) {
            let to = objects.join(name);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::write(to, bytes).unwrap();
        }
        let state = self.state().join(".instep/state.sqlite");
        let judged =
            Run::of(Command::new(&self.python).args(["-c", REFEREE]).arg(&objects).arg(state)).with_code(0);
        let mut numbers = judged.stdout.split_whitespace().map(|number| number.parse().unwrap());
        (numbers.next().unwrap(), numbers.next().unwrap())
    }

    pub(crate) fn files_of(&self, folder: &Path) -> BTreeSet<Vec<u8>> {
        let files = walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap);
        files.filter(|entry| entry.file_type().is_file()).map(|file| fs::read(file.path()).unwrap()).collect()
    }
}

/// Asserts the contract of a copy with a server.
fn is_kept_in(server: &S3Server) {
    for (prefix, layout) in [("packed", ""), ("named", "?layout=names")] {
        let Some(kept) = Kept::new(server, prefix, layout) else { return };
        kept.synced();
        assert_eq!(kept.judged().0, 22);
        let again = kept.synced();
        assert!(again.stdout.contains("+0 ~0 -0"), "{}", again.stdout);

        for number in 0..15 {
            fs::write(kept.files.join(format!("d/f{number}.txt")), format!("two {number}")).unwrap();
        }
        fs::remove_file(kept.files.join("d/f19.txt")).unwrap();
        fs::write(kept.files.join("new"), "new").unwrap();
        kept.publish();
        kept.synced();
        let (held, packs) = kept.judged();
        assert_eq!(held, 22);
        assert!(packs <= 2, "what is left of a dead pack is packed anew: {packs}");
        let audit = kept.audit(&[&kept.web.url()], 0);
        assert!(audit.stdout.contains("22 same"), "{}", audit.stdout);

        let bag = kept.room.path().join("bag");
        let mut export = kept.command(&["export"]);
        let _ = Run::of(export.arg(kept.state()).arg("--bagit").arg(&bag)).with_code(0);
        let exported = kept.files_of(&bag.join("data"));
        assert!(exported.contains(&b"two 7"[..]) && exported.len() == 19, "{}", exported.len());
        let status = Run::of(kept.command(&["status", "--json"]).arg(kept.state())).with_code(0);
        assert!(status.stdout.contains(&format!("s3://{BUCKET}/{prefix}{layout}")), "{}", status.stdout);
    }
}

#[test]
fn a_copy_is_kept_in_moto() {
    let Some(server) = S3Server::moto() else { return };
    is_kept_in(&server);
}

#[test]
fn a_copy_is_kept_in_s3s() {
    let Some(server) = S3Server::s3s() else { return };
    is_kept_in(&server);
}

/// Kills a run at one PUT after the other: before the PUT arrives, or when it is carried out but not answered.
fn is_killed_at_each_put(server: &S3Server) {
    for (prefix, layout) in [("packs-killed", ""), ("names-killed", "?layout=names")] {
        let Some(kept) = Kept::new(server, prefix, layout) else { return };
        let mut kills = 0;
        for step in 1.. {
            let large = kept.files.join("large.bin");
            let mut bytes = fs::read(&large).unwrap();
            bytes[7] = bytes[7].wrapping_add(1);
            fs::write(large, bytes).unwrap();
            for name in ["d/f0.txt", "new"] {
                fs::write(kept.files.join(name), "x".repeat(step)).unwrap();
            }
            kept.publish();
            let at = if step % 2 == 0 { CutAt::Answer } else { CutAt::Request };
            let is_killed = is_killed_at_put(server, step.div_ceil(2) as i64, at, kept.sync(&[]));
            // Whatever the state records as held is in the bucket.
            let _ = kept.audit(&["--offline"], 0);
            kept.synced();
            kept.judged();
            if !is_killed {
                break;
            }
            kills += 1;
        }
        assert!(kills >= 4, "{kills} kills with {layout:?}");
    }
}

#[test]
fn a_copy_in_moto_killed_at_any_put_holds_what_is_there_and_goes_on() {
    let Some(server) = S3Server::moto() else { return };
    is_killed_at_each_put(&server);
}

#[test]
fn a_copy_in_s3s_killed_at_any_put_holds_what_is_there_and_goes_on() {
    let Some(server) = S3Server::s3s() else { return };
    is_killed_at_each_put(&server);
}

#[test]
fn a_thousand_small_resources_cost_one_put_at_most() {
    let Some(server) = S3Server::moto() else { return };
    let Some(kept) = Kept::new(&server, "many", "") else { return };
    fs::remove_file(kept.files.join("large.bin")).unwrap();
    (20..2_998).for_each(|number| fs::write(kept.files.join(format!("d/f{number}.txt")), "one").unwrap());
    kept.publish();
    let (reached, reports) = channel();
    let port = cutting_proxy(server.port(), 1, CutAt::Never, reached);
    let mut command = kept.sync(&[]);
    let _ = Run::of(command.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}"))).with_code(0);
    let puts = reports.try_iter().count();
    assert!((1..=3).contains(&puts), "{puts} PUTs for 2,999 resources");
    assert_eq!(kept.judged(), (2_999, u32::try_from(puts).unwrap()));

    // An audit does not request each object either.
    let counter = RequestCounter::before(server.port());
    let mut audit = kept.command(&["audit", "--offline"]);
    audit.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{}", counter.port));
    let audited = Run::of(audit.arg(kept.state())).with_code(0);
    assert!(audited.stdout.contains("2,999 same"), "{}", audited.stdout);
    let gets = counter.gets();
    assert!((1..=10).contains(&gets), "{gets} GETs for 2,999 resources");
}

#[test]
fn o274_a_run_asks_once_for_a_list_of_objects() {
    let Some(server) = S3Server::moto() else { return };
    let Some(kept) = Kept::new(&server, "asked", "") else { return };
    for run in ["new", "the same", "changed"] {
        if run == "changed" {
            fs::write(kept.files.join("d/f1.txt"), "another one").unwrap();
            kept.publish();
        }
        let counter = RequestCounter::before(server.port());
        let mut sync = kept.sync(&[]);
        let endpoint = format!("http://127.0.0.1:{}", counter.port);
        let _ = Run::of(sync.env("AWS_ENDPOINT_URL", endpoint)).with_code(0);
        assert_eq!(counter.gets(), 1, "{run}");
    }
}

#[test]
fn damage_in_a_bucket_is_found_and_repaired() {
    let Some(server) = S3Server::s3s() else { return };
    let Some(kept) = Kept::new(&server, "damaged", "") else { return };
    kept.synced();
    let objects = server.objects(kept.room.path(), "damaged/");
    let (pack, bytes) = objects.iter().find(|(name, _)| name.starts_with("packs/")).unwrap();
    let file = kept.room.path().join("damaged");
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    server.upload(&file, &format!("damaged/{pack}"));
    let audit = kept.audit(&["--offline"], 20);
    assert!(audit.stdout.contains("differ"), "{}", audit.stdout);
    let _ = Run::of(&mut kept.sync(&["--repair"])).with_code(0);
    assert_eq!(kept.judged().0, 22);
}

#[test]
fn what_cannot_be_is_one_line_and_nothing_begins() {
    let Some(server) = S3Server::s3s() else { return };
    let Some(kept) = Kept::new(&server, "refused", "?layout=names") else { return };
    let refused = |more: &[&str], environment: (&str, &str), code, expected: &str| {
        let mut command = kept.sync(more);
        let run = Run::of(command.env(environment.0, environment.1)).with_code(code);
        assert!(run.stderr.contains(expected), "{}", run.stderr);
        assert!(!format!("{}{}", run.stdout, run.stderr).contains("7391"), "{}", run.stderr);
        assert_eq!(server.objects(kept.room.path(), "refused/").len(), 0);
    };
    let none = ("UNUSED", "");
    refused(&[], ("AWS_SECRET_ACCESS_KEY", "wrong-7391"), 8, "check AWS_SECRET_ACCESS_KEY");
    refused(&["--adopt"], none, 2, "cannot adopt files");
    refused(&["--backup-dir", "b"], none, 2, "cannot keep what it replaces");
    refused(&["--follow", "--republish"], none, 2, "export it first");
    let missing = ["--store", "s3://no-such-bucket-7/x"];
    let mut command = kept.command(&["sync", &kept.web.url()]);
    let run = Run::of(command.arg(kept.state()).args(missing)).with_code(8);
    assert!(run.stderr.contains("there is no bucket no-such-bucket-7"), "{}", run.stderr);

    kept.synced();
    let mut other = kept.command(&["sync", &kept.web.url()]);
    let store = format!("s3://{BUCKET}/refused?layout=names");
    let run = Run::of(other.arg(kept.room.path().join("other")).args(["--store", &store])).with_code(6);
    assert!(run.stderr.contains("is not a copy and has objects"), "{}", run.stderr);
    let mut moved = kept.command(&["sync", &kept.web.url()]);
    let elsewhere = ["--store", "s3://elsewhere/x"];
    let run = Run::of(moved.arg(kept.state()).args(elsewhere)).with_code(2);
    assert!(run.stderr.contains(&format!("are in {store}")), "{}", run.stderr);
    let mut republish = kept.command(&["republish", "--base-url", "http://h/"]);
    let run = Run::of(republish.arg(kept.state())).with_code(2);
    assert!(run.stderr.contains("cannot be published from there"), "{}", run.stderr);
}
