//! The state of a moment, kept in a bucket.

use std::{fs, path::Path};

use instep_testkit::{FakeSource, Run, S3Server, instep};
use resourcesync::{Link, Relation, Uri};

/// Returns the files of a copy as an export writes them.
fn exported(server: &S3Server, state: &Path, to: &Path) -> Vec<(String, String)> {
    let _ = fs::remove_dir_all(to);
    let mut export = instep(["export"]);
    server.configure(export.arg(state).arg("--folder").arg(to));
    drop(Run::of(&mut export).with_code(0));
    let files = walkdir::WalkDir::new(to).sort_by_file_name().into_iter().map(Result::unwrap);
    let files = files.filter(|entry| entry.file_type().is_file());
    let name = |path: &Path| path.strip_prefix(to).unwrap().to_string_lossy().into_owned();
    files.map(|file| (name(file.path()), fs::read_to_string(file.path()).unwrap())).collect()
}

fn all(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn a_copy_in_a_bucket_takes_the_state_of_a_moment_and_goes_on_from_there() {
    let Some(server) = S3Server::moto() else { return };
    // First into a folder, as the reference for the bucket.
    for store in ["", "then", "then-named?layout=names"] {
        let room = tempfile::tempdir().unwrap();
        let source =
            FakeSource::start().with_resources([("a.txt", "one"), ("b.txt", "two"), ("d/c.txt", "three")]);
        let gate = Uri::parse(&source.url("gate/a")).unwrap();
        source.misstate("a.txt", move |entry| entry.links.push(Link::new(Relation::TimeGate, gate.clone())));
        source.serve("gate/a", "one");
        let moment = source.snapshot().to_string();
        source.put("a.txt", "newer");
        source.put("e.txt", "later");
        source.delete("b.txt");

        let (state, folder) = (room.path().join("state"), room.path().join("files"));
        let sync = |more: &[&str]| {
            let mut sync = instep(["sync", &source.capability_list_url(), "--delete"]);
            if !store.is_empty() {
                sync.args(["--store", &format!("s3://{}/{store}", S3Server::BUCKET)]);
            }
            server.configure(sync.args(["--max-delete", "100%"]).args(more).arg(&state));
            Run::of(&mut sync)
        };
        // `b.txt` was deleted since, and its old state is not kept anywhere. This is reported, and no later state is
        // used in its place.
        let then = sync(&["--as-of", &moment]).with_code(3);
        assert!(then.stderr.contains("b.txt"), "{}", then.stderr);
        assert_eq!(exported(&server, &state, &folder), all(&[("a.txt", "one"), ("d/c.txt", "three")]));
        let _ = sync(&[]).with_code(0);
        let now = all(&[("a.txt", "newer"), ("d/c.txt", "three"), ("e.txt", "later")]);
        assert_eq!(exported(&server, &state, &folder), now);
        let mut audit = instep(["audit"]);
        server.configure(audit.arg(&state));
        drop(Run::of(&mut audit).with_code(0));
    }
}
