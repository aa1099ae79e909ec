//! Several servers that show one Source, of which one publishes.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use instep_testkit::{Run, ended, free_port, wait_for, wait_until};

use super::source::{Answer, Node, SharedSource, asked};

const CHANGES: &str = "resourcesync/changelist-000001.xml";

/// Returns the names of the documents of a server below its folder.
fn names(node: &Node) -> Vec<String> {
    let entries = fs::read_dir(&node.documents).unwrap().map(|entry| entry.unwrap());
    let files = entries.filter(|entry| entry.path().is_file());
    let mut names: Vec<_> =
        files.map(|entry| format!("resourcesync/{}", entry.file_name().to_string_lossy())).collect();
    names.extend([".well-known/resourcesync".to_owned(), "robots.txt".to_owned()]);
    names.sort();
    names
}

/// Waits until a server has a name in its open Change List.
fn lists(port: u16, name: &str) {
    wait_for(|| match Answer::of(port, CHANGES) {
        Ok(answer) if answer.text().contains(name) => Ok(()),
        other => Err(format!("{other:?}")),
    });
}

/// Asserts that two servers give the same answers, and that each accepts the validators of the other.
fn answer_alike(first: u16, second: u16, names: &[String]) {
    for name in names {
        let (one, other) = (Answer::of(first, name).unwrap(), Answer::of(second, name).unwrap());
        assert_eq!((one.status, other.status), (200, 200), "{name}");
        assert_eq!(one.body, other.body, "{name}");
        for header in ["etag", "last-modified", "content-type", "cache-control"] {
            assert_eq!(one.header(header), other.header(header), "{header} of {name}");
            assert!(!one.header(header).is_empty(), "{header} of {name}");
        }
        let known = format!("If-None-Match: {}\r\n", one.header("etag"));
        assert_eq!(Answer::with(second, name, &known).unwrap().status, 304, "{name}");
    }
}

#[test]
fn two_servers_answer_with_the_same_bytes_and_validators() {
    let Some(source) = SharedSource::new() else { return };
    (0..20).for_each(|number| source.write(&format!("f{number}.txt"), "one"));
    let options = ["--gzip", "--dump", "always"];
    let (first, second, port) = source.start_two(&options);
    for round in 0..3 {
        let name = format!("new{round}.txt");
        source.write(&name, "new");
        source.write("f0.txt", &format!("{round}"));
        lists(source.port, &name);
        lists(port, &name);
        // A publication may write further documents later, such as a dump that was built meanwhile.
        wait_until("both have the same documents", || names(&first) == names(&second));
        answer_alike(source.port, port, &names(&first));
        // Each server also serves the resources.
        let (one, other) = (Answer::of(source.port, &name).unwrap(), Answer::of(port, &name).unwrap());
        assert_eq!((one.status, &one.body, one.header("etag")), (200, &other.body, other.header("etag")));
    }
    assert!(names(&first).iter().any(|name| name.ends_with(".zip")), "{:?}", names(&first));
    assert!(names(&first).iter().any(|name| name.ends_with(".xml.gz")), "{:?}", names(&first));
}

#[test]
fn no_document_goes_back_when_the_publisher_is_killed_and_another_server_takes_over() {
    let Some(source) = SharedSource::new() else { return };
    (0..20).for_each(|number| source.write(&format!("f{number}.txt"), "one"));
    let (first, second, port) = source.start_two(&[]);
    source.write("a.txt", "one");
    lists(port, "a.txt");
    let described = Answer::of(port, ".well-known/resourcesync").unwrap();
    // A reader requests the list all the time, also while another server becomes the publisher.
    let stop = Arc::new(AtomicBool::new(false));
    let looks = thread::spawn({
        let stop = Arc::clone(&stop);
        move || {
            let mut most = 0;
            while !stop.load(Ordering::Acquire) {
                let answer = Answer::of(port, CHANGES).unwrap();
                assert_eq!(answer.status, 200, "{answer:?}");
                let changes = answer.text().matches("<url>").count();
                assert!(changes >= most, "{changes} changes after {most}");
                most = changes;
                // Only a pause between two requests: the test waits for nothing here.
                thread::sleep(Duration::from_millis(20));
            }
        }
    });
    (0..5).for_each(|number| {
        source.write(&format!("b{number}.txt"), "one");
        lists(source.port, &format!("b{number}.txt"));
    });
    // Killed at once after a reader has seen the last change there.
    let seen = Answer::of(source.port, CHANGES).unwrap();
    first.signal("-9");
    wait_for(|| match Answer::of(port, CHANGES) {
        Ok(answer) if answer.body == seen.body && answer.header("etag") == seen.header("etag") => Ok(()),
        other => Err(format!("{other:?}")),
    });
    second.wait_for("ready");
    // A document without changes is the same. The publisher may have been killed before it recorded that all
    // documents are in place; then they are written again.
    let same = Answer::of(port, ".well-known/resourcesync").unwrap();
    assert_eq!((same.text(), same.header("etag")), (described.text(), described.header("etag")));
    source.write("c.txt", "one");
    lists(port, "c.txt");
    stop.store(true, Ordering::Release);
    looks.join().unwrap();
    // The killed server starts again, and shows what the other one publishes.
    let back = source.start("first", source.port, &["--standby"]);
    back.wait_for("standby");
    lists(source.port, "c.txt");
    wait_until("both have the same documents", || names(&back) == names(&second));
    answer_alike(source.port, port, &names(&back));
}

#[test]
fn a_listener_of_a_server_that_stands_by_hears_a_change_whose_documents_it_can_fetch() {
    let Some(source) = SharedSource::new() else { return };
    source.write("a.txt", "one");
    let (first, mut second, port) = source.start_two(&[]);
    let topic = "resourcesync/change-notification";
    wait_until("the server that stands by has the topic", || {
        Answer::of(port, topic).is_ok_and(|answer| answer.status == 204)
    });
    let mut hears = BufReader::new(asked(port, topic, "Accept: text/event-stream\r\n").unwrap());
    for name in ["b.txt", "c.txt"] {
        source.write(name, "one");
        let mut heard = String::new();
        while !heard.contains(name) {
            assert!(hears.read_line(&mut heard).unwrap() > 0, "{heard}");
        }
        assert!(Answer::of(port, CHANGES).unwrap().text().contains(name));
        // A late listener gets the last message.
        let last = Answer::of(port, topic).unwrap();
        assert!(last.text().contains(name), "{last:?}");
        assert_eq!(last.body, Answer::of(source.port, topic).unwrap().body);
    }
    // A standby server ends at once, although it has a listener.
    second.signal("-TERM");
    assert_eq!(ended(&mut second.child).code(), Some(143));
    assert!(hears.read_to_end(&mut Vec::new()).is_ok());
    drop(first);
}

#[test]
fn a_server_that_has_no_documents_yet_asks_clients_to_wait() {
    let Some(source) = SharedSource::new() else { return };
    source.write("a.txt", "one");
    let first = source.start("first", source.port, &[]);
    first.wait_for("ready");
    first.signal("-STOP");
    // As during the first publication.
    source.sql("DELETE FROM instep_source.document");
    source.sql("UPDATE instep_source.source SET documents = 0");
    let port = free_port().unwrap();
    let _second = source.start("second", port, &["--standby"]);
    let answer = wait_for(|| Answer::of(port, ".well-known/resourcesync"));
    assert_eq!((answer.status, answer.header("retry-after")), (503, "2"), "{answer:?}");
    assert_eq!(Answer::of(port, "healthz").unwrap().status, 200);
    first.signal("-CONT");
}

#[test]
fn a_folder_that_has_older_documents_is_brought_up_to_date_before_it_is_published_from() {
    let Some(source) = SharedSource::new() else { return };
    let publish = |machine: &str| {
        let out = format!("{machine}/documents");
        let words = ["publish", "data", "--base-url", &source.base_url, "--state", machine, "--out", &out];
        let mut command = source.command(&words);
        drop(Run::of(command.args(["--catalogue", &source.database.url(), "--json"])).with_code(0));
        fs::read_to_string(source.room.path().join(out).join(CHANGES)).unwrap()
    };
    source.write("a.txt", "one");
    publish("first");
    source.write("b.txt", "one");
    publish("first");
    source.write("c.txt", "one");
    let by_second = publish("second");
    assert_eq!(by_second.matches("<url>").count(), 2, "{by_second}");
    // Nothing has changed: the documents in place must be those that the other machine wrote.
    assert_eq!(publish("first"), by_second);
    // An earlier version of the program does not share documents, so the next run shares them.
    source.sql("DELETE FROM instep_source.document");
    source.sql("UPDATE instep_source.source SET documents = 0");
    source.sql("DELETE FROM instep_source.meta WHERE name = 'shared'");
    source.write("d.txt", "one");
    let by_first = publish("first");
    assert_eq!(by_first.matches("<url>").count(), 3, "{by_first}");
    assert_eq!(publish("third"), by_first);
}

#[test]
fn o305_a_server_that_stands_by_applies_a_new_configuration_before_it_knows_if_the_publisher_lives() {
    let Some(source) = SharedSource::new() else { return };
    source.write("a.txt", "one");
    let first = source.start("first", source.port, &[]);
    first.wait_for("ready");
    let [before, after] = [free_port().unwrap(), free_port().unwrap()];
    let listen = |port: u16| {
        let text = format!("[serve]\nlisten = \"127.0.0.1:{port}\"\n");
        fs::write(source.room.path().join("second.toml"), text).unwrap();
    };
    listen(before);
    let second = source.spawn("second", &["--standby", "--config", "second.toml"]);
    second.wait_for("standby");
    let holder = || source.sql("SELECT token FROM instep_source.source");
    let known = holder();
    // From now on it takes twenty seconds to know that the publisher is gone.
    first.signal("-STOP");
    listen(after);
    second.signal("-HUP");
    wait_for(|| match Answer::of(after, CHANGES) {
        Ok(answer) if answer.status == 200 => Ok(()),
        other => Err(format!("{other:?}")),
    });
    assert_eq!(holder(), known, "it answers while the other one still has the right to publish");
    first.signal("-CONT");
}

#[test]
fn o631_a_standby_server_shows_the_documents_although_its_first_look_failed_midway() {
    let Some(source) = SharedSource::new() else { return };
    source.write("a.txt", "one");
    let first = source.start("first", source.port, &[]);
    first.wait_for("ready");
    source.write("b.txt", "one");
    wait_until("a message is shared", || source.sql("SELECT count(*) > 0 FROM instep_source.message") == "t");
    source.sql("ALTER TABLE instep_source.message RENAME TO aside");
    let port = free_port().unwrap();
    let second = source.start("second", port, &["--standby"]);
    second.wait_for("problem");
    source.sql("ALTER TABLE instep_source.aside RENAME TO message");
    wait_until("the documents are shown", || {
        Answer::of(port, ".well-known/resourcesync").is_ok_and(|answer| answer.status == 200)
    });
}

#[test]
fn o973_a_standby_server_shows_the_sets_that_the_catalogue_has_by_now() {
    let Some(source) = SharedSource::new() else { return };
    fs::create_dir(source.room.path().join("data/texts")).unwrap();
    source.write("texts/a.txt", "one");
    let sets = "[[set]]\nname = \"first\"\ncontent = \"texts\"\n";
    fs::write(source.room.path().join("sets.toml"), sets).unwrap();
    let first = source.start("first", source.port, &["--config", "sets.toml"]);
    first.wait_for("ready");
    let port = free_port().unwrap();
    let second = source.start("second", port, &["--standby", "--config", "sets.toml"]);
    second.wait_for("standby");
    let has_topic_of = |set: &str| {
        let topic = format!("resourcesync/{set}/change-notification");
        wait_until("the topic of the set is there", || {
            Answer::of(port, &topic).is_ok_and(|answer| answer.status == 204)
        });
    };
    has_topic_of("first");
    // As the server that publishes records it when its configuration has another name.
    source.sql(
        "UPDATE instep_source.meta SET value = convert_to(replace(convert_from(value, 'UTF8'), 'first', 'other'), 'UTF8')
         WHERE name = 'sets'",
    );
    has_topic_of("other");
}
