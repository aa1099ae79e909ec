//! Publications by one machine after the other, and during failures of the database.

use std::{collections::BTreeMap, fs, path::Path, process::Stdio, thread};

use instep_testkit::{PostgresServer, Run, ended, free_port, instep, wait_for};
use serde_json::Value;

use super::source::SharedSource;

#[test]
fn a_publisher_that_is_killed_is_succeeded_on_another_machine_and_a_copy_goes_on() {
    let Some(source) = SharedSource::new() else { return };
    (0..20).for_each(|number| source.write(&format!("f{number}.txt"), "one"));
    let first = source.start("first", source.port, &[]);
    first.wait_for("ready");
    drop(source.sync().with_code(0));
    source.write("f0.txt", "two");
    wait_for(|| if first.changes().contains("f0.txt") { Ok(()) } else { Err("not published") });
    let second = source.start("second", source.port, &["--standby"]);
    second.wait_for("standby");
    drop(source.sync().with_code(0));
    first.signal("-9");
    source.write("f1.txt", "two");
    fs::remove_file(source.room.path().join("data/f2.txt")).unwrap();
    second.wait_for("ready");
    // The same Change List, with the changes that the first server wrote into it.
    wait_for(|| if second.changes().contains("f2.txt") { Ok(()) } else { Err("not published") });
    let changes = second.changes();
    assert_eq!(changes.matches("<url>").count(), 3, "{changes}");
    let synced = source.sync().with_code(0);
    let summary: Value = serde_json::from_str(synced.stdout.lines().last().unwrap()).unwrap();
    assert_eq!((summary["updated"].as_u64(), summary["deleted"].as_u64()), (Some(1), Some(1)), "{summary}");
    source.audits_clean();
}

#[test]
fn a_publisher_that_was_stopped_for_longer_than_its_lease_ends_and_writes_nothing_more() {
    let Some(source) = SharedSource::new() else { return };
    source.write("a.txt", "one");
    let first = source.start("first", source.port, &[]);
    first.wait_for("ready");
    let mut held = source.start("refused", free_port().unwrap(), &[]);
    assert_eq!(ended(&mut held.child).code(), Some(7));
    first.signal("-STOP");
    let second = source.start("second", free_port().unwrap(), &["--standby"]);
    second.wait_for("ready");
    // Nothing has changed meanwhile, but the server still notices that it has lost the right.
    first.signal("-CONT");
    let mut first = first;
    assert_eq!(ended(&mut first.child).code(), Some(7), "it has lost the right to publish");
    source.write("b.txt", "one");
    wait_for(|| if second.changes().contains("b.txt") { Ok(()) } else { Err("not published") });
    assert_eq!(second.changes().matches("<url>").count(), 1, "{}", second.changes());
}

/// Returns the text without numbers, digests and lengths, which depend on the time of writing.
fn timeless(text: &str) -> String {
    let mut timeless: String =
        text.chars().map(|character| if character.is_ascii_digit() { '#' } else { character }).collect();
    for attribute in [" hash=\"", " length=\""] {
        let mut parts = timeless.split(attribute);
        let first = parts.next().unwrap_or_default().to_owned();
        timeless = parts
            .fold(first, |all, part| all + attribute + part.split_once('"').map_or("", |(_, rest)| rest));
    }
    timeless
}

fn documents(folder: &Path, all: &mut BTreeMap<String, Vec<String>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            documents(&path, all);
            continue;
        }
        let text = fs::read(&path).map(|bytes| String::from_utf8(bytes).unwrap_or_default()).unwrap();
        all.entry(timeless(&path.file_name().unwrap().to_string_lossy())).or_default().push(timeless(&text));
    }
}

/// Publishes a folder several times, and returns the documents that are then in place.
fn published(room: &Path, catalogue: &[&str]) -> BTreeMap<String, Vec<String>> {
    let (data, out) = (room.join("data"), room.join("out"));
    fs::create_dir_all(data.join("d")).unwrap();
    let write = |name: &str, text: &str| fs::write(data.join(name), text).unwrap();
    let publish = |base: &[&str], code: i32| {
        let mut command = instep(["publish", "data", "--out", "out", "--state", "state", "--json"]);
        command.args(base).args(catalogue).current_dir(room);
        let options = [
            "--change-dump",
            "--dump",
            "always",
            "--patches",
            "--archives",
            "--archive-count",
            "3",
            "--sitemap",
            "--snapshot",
        ];
        drop(Run::of(command.args(options)).with_code(code));
    };
    let base = ["--base-url", "http://source.example/"];
    (0..30).for_each(|number| write(&format!("d/{number:02}.json"), r#"{"value": 1, "rest": [1, 2, 3]}"#));
    publish(&base, 0);
    for round in 2..5 {
        write("d/03.json", &format!("{{\"value\": {round}, \"rest\": [1, 2, 3]}}"));
        write(&format!("new{round}.txt"), "new");
        fs::remove_file(data.join(format!("d/1{round}.json"))).unwrap();
        publish(&base, 0);
    }
    publish(&["--rebase", "http://source.example/", "http://moved.example/data/"], 0);
    write("new2.txt", "newer");
    publish(&["--base-url", "http://moved.example/data/"], 0);
    // Nothing has changed, and another base URL is refused.
    publish(&["--base-url", "http://moved.example/data/"], 0);
    publish(&base, 6);
    let check = |code| {
        drop(
            Run::of(instep(["catalogue", "check", "data", "--state", "state"]).current_dir(room))
                .with_code(code),
        )
    };
    check(0);
    write("new3.txt", "unseen");
    check(20);
    let mut all = BTreeMap::new();
    documents(&out, &mut all);
    all.values_mut().for_each(|texts| texts.sort());
    all
}

#[test]
fn the_documents_are_the_same_whichever_engine_has_the_catalogue() {
    let Some(database) = PostgresServer::start() else { return };
    let [file, server] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let by_file = published(file.path(), &[]);
    let by_server = published(server.path(), &["--catalogue", &database.url()]);
    assert!(by_file.len() > 10, "{:?}", by_file.keys());
    assert!(by_file.keys().eq(by_server.keys()), "{:?}\n{:?}", by_file.keys(), by_server.keys());
    for (name, texts) in &by_file {
        assert_eq!(texts, &by_server[name], "{name}");
    }
    // Work that the database does itself is refused with a message that says so.
    for (words, part) in
        [(vec!["backup", "data", "file.zip"], "pg_dump"), (vec!["compact", "data"], "VACUUM FULL")]
    {
        let mut command = instep(["catalogue"]);
        let run =
            Run::of(command.args(words).args(["--state", "state"]).current_dir(server.path())).with_code(2);
        assert!(run.stderr.contains(part) && run.stderr.trim().lines().count() == 1, "{}", run.stderr);
    }
    let mut elsewhere =
        instep(["publish", "data", "--base-url", "http://moved.example/data/", "--state", "state"]);
    elsewhere.args(["--catalogue", "postgres://127.0.0.1:1/other"]).current_dir(server.path());
    let run = Run::of(&mut elsewhere).with_code(2);
    assert!(run.stderr.contains("name another folder for the state"), "{}", run.stderr);
}

#[test]
fn a_publication_outlives_its_server_and_one_that_is_killed_is_repaired() {
    let Some(source) = SharedSource::new() else { return };
    (0..3_000).for_each(|number| source.write(&format!("f{number:04}.txt"), "one"));
    let url = source.database.url();
    let publish = || {
        let words = ["publish", "data", "--base-url", &source.base_url, "--state", "state", "--out", "out"];
        let mut command = source.command(&words);
        command.args(["--catalogue", &url, "--json"]).stdout(Stdio::piped()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    for pause in [150, 400, 700, 1_000, 1_400] {
        let mut killed = publish();
        // Each is killed at another stage of its work; nothing shows from outside which stage that is.
        thread::sleep(std::time::Duration::from_millis(pause));
        let _ = killed.kill();
        let _ = killed.wait();
    }
    // The publication is under way once it has the right to publish.
    let token = || source.sql("SELECT COALESCE(token, '') FROM instep_source.source");
    let of_the_dead = token();
    let mut run = publish();
    wait_for(|| if token() == of_the_dead { Err("not begun") } else { Ok(()) });
    source.database.stop_at_once();
    source.database.begin();
    assert_eq!(ended(&mut run).code(), Some(0));
    let list = fs::read_to_string(source.room.path().join("out/resourcesync/resourcelist.xml")).unwrap();
    assert_eq!(list.matches("<url>").count(), 3_000);
    fs::remove_file(source.room.path().join("data/f0007.txt")).unwrap();
    assert_eq!(ended(&mut publish()).code(), Some(0));
    let changes =
        fs::read_to_string(source.room.path().join("out/resourcesync/changelist-000001.xml")).unwrap();
    assert_eq!(changes.matches("<url>").count(), 1, "{changes}");
    drop(Run::of(&mut source.command(&["catalogue", "check", "data", "--state", "state"])).with_code(0));
}
