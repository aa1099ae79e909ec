//! Keys of every kind: those that a URI can express are published and can be synced, and the others are reported.

use std::{collections::BTreeSet, fs};

use instep_testkit::{Run, S3Server, instep};

/// Keys that are resources, and the same keys as they are written in URIs.
const RESOURCES: [(&str, &str); 9] = [
    ("plain.txt", "plain.txt"),
    ("a b.txt", "a%20b.txt"),
    ("100%.txt", "100%25.txt"),
    ("a%2Fb.txt", "a%252Fb.txt"),
    ("what?.txt", "what%3F.txt"),
    ("a#b.txt", "a%23b.txt"),
    ("one+two.txt", "one+two.txt"),
    ("caf%E9.txt", "caf%25E9.txt"),
    ("d/caf\u{e9}/\u{fffd}.txt", "d/caf%C3%A9/%EF%BF%BD.txt"),
];

/// Keys that no URI can express.
const UNUSABLE: [&str; 5] = ["a//b", "/a", "a/./b", "a/../b", "d/"];

#[test]
fn what_is_published_can_be_synced_and_what_cannot_be_published_is_named() {
    let Some(server) = S3Server::moto() else { return };
    let room = tempfile::tempdir().unwrap();
    let put = |key: &str, bytes: &str| {
        let file = room.path().join("upload");
        fs::write(&file, bytes).unwrap();
        server.upload(&file, &format!("names/{key}"));
    };
    RESOURCES.iter().for_each(|(key, _)| put(key, &format!("bytes of {key}")));
    UNUSABLE.iter().for_each(|key| put(key, "no resource"));
    // The marker of a folder and a hidden object are left out on purpose.
    put("folder/", "");
    put(".hidden", "no resource");

    let place = format!("s3://{}/names", S3Server::BUCKET);
    let base = format!("{}names/", server.bucket_url());
    let mut command = instep(["publish", &place, "--base-url", &base, "--out", &place, "--json", "--state"]);
    server.configure(command.arg(room.path().join("state")));
    let published = Run::of(&mut command).with_code(3);
    let summary = published.stdout.lines().find(|line| line.contains("\"type\":\"summary\"")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(summary).unwrap();
    assert_eq!(summary["resources"], RESOURCES.len(), "{summary}");
    assert_eq!(summary["skipped"], UNUSABLE.len(), "{summary}");
    let problem = published.stdout.lines().find(|line| line.contains("\"type\":\"problem\"")).unwrap();
    assert!(problem.contains("so it is not published; 5 in all"), "{problem}");
    let objects = server.objects(room.path(), "names/resourcesync/");
    let list = String::from_utf8(objects["resourcelist.xml"].clone()).unwrap();
    for (_, uri) in RESOURCES {
        assert!(list.contains(&format!("<loc>{base}{uri}</loc>")), "{uri}: {list}");
    }
    // A second run finds nothing new, although the documents of the Source are among the objects.
    assert!(Run::of(&mut command).with_code(3).stdout.contains("\"created\":0"));

    // The server answers everybody who gives a name.
    let (copy, name) = (room.path().join("copy"), room.path().join("name"));
    fs::write(&name, "anybody").unwrap();
    let mut sync = instep(["sync", &format!("{base}.well-known/resourcesync")]);
    drop(Run::of(sync.arg(&copy).arg("--bearer-file").arg(&name)).with_code(0));
    // The names of their files are tested elsewhere.
    let is_own = |entry: &walkdir::DirEntry| entry.file_name() == ".instep";
    let files = walkdir::WalkDir::new(&copy).into_iter().filter_entry(|entry| !is_own(entry));
    let files = files.map(Result::unwrap).filter(|entry| entry.file_type().is_file());
    let held: BTreeSet<String> = files.map(|file| fs::read_to_string(file.path()).unwrap()).collect();
    assert_eq!(held, RESOURCES.iter().map(|(key, _)| format!("bytes of {key}")).collect());
}
