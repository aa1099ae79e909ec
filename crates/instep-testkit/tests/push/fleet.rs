//! A fleet that follows several Sources, with one callback address for all hubs.

use std::{fs, process::Stdio};

use instep_testkit::{Server, free_port, instep, wait_until};

use super::{
    destination::publish,
    framework::Channel,
    support::{Peer, TOPIC, topical, topical_at},
};

#[test]
fn hubs_of_many_sources_call_one_address_and_each_wakes_its_own_source() {
    let Some((hub, url)) = Peer::hub(&[]) else { return };
    let sources = ["one", "two"].map(|name| (name, topical(Some(&url), &[])));
    let home = tempfile::tempdir().unwrap();
    let tables = sources.each_ref().map(|(name, source)| {
        let at = source.url("");
        format!("[[source]]\nname = \"{name}\"\nurl = \"{at}\"\nfollow = true\nevery = \"24h\"\nallow-origin = [\"{url}\"]\n")
    });
    fs::write(home.path().join("instep.toml"), tables.concat()).unwrap();
    let (callbacks, port) = (free_port().unwrap(), free_port().unwrap());
    let callback = format!("http://127.0.0.1:{callbacks}/push");
    let mut run = instep(["run", "--listen", &format!("127.0.0.1:{port}"), "--callback-url", &callback]);
    let server = Server::start(run.current_dir(home.path()).stdout(Stdio::null()), port).unwrap();
    let subscribed = [hub.next("subscribe"), hub.next("subscribe")];
    assert!(subscribed.iter().all(|one| one["callback"].as_str().unwrap().starts_with(&callback)));
    assert_ne!(subscribed[0]["topic"], subscribed[1]["topic"]);
    for (name, source) in &sources {
        let copy = home.path().join("fleet").join(name).join("a.txt");
        wait_until("the first copy", || copy.exists());
        // The runs that followed the subscriptions have ended, or find this change.
        source.put("a.txt", *name);
        publish(&url, &source.url(TOPIC), "<whatever>it is a hint</whatever>");
        wait_until("the change", || fs::read_to_string(&copy).is_ok_and(|text| text == *name));
    }
    let signalled = std::process::Command::new("kill").arg(server.id().to_string()).status().unwrap();
    assert!(signalled.success());
    let mut ended = [hub.next("unsubscribe"), hub.next("unsubscribe")].map(|one| one["topic"].clone());
    let mut topics = sources.each_ref().map(|(_, source)| serde_json::Value::from(source.url(TOPIC)));
    ended.sort_by_key(ToString::to_string);
    topics.sort_by_key(ToString::to_string);
    assert_eq!(ended, topics, "CN-19");
}

#[test]
fn o747_a_channel_that_moves_is_listened_to_in_its_new_place() {
    let (mut first, mut second) = (Channel::open(), Channel::open());
    let source = topical(None, &[("change", &first.socket())]);
    let home = tempfile::tempdir().unwrap();
    let (at, origins) = (source.url(""), [first.origin(), second.origin()]);
    let table = format!(
        "[[source]]\nname = \"one\"\nurl = \"{at}\"\nfollow = true\nevery = \"24h\"\nallow-origin = {origins:?}\n"
    );
    fs::write(home.path().join("instep.toml"), table).unwrap();
    let port = free_port().unwrap();
    let mut run = instep(["run", "--listen", &format!("127.0.0.1:{port}")]);
    let _server = Server::start(run.current_dir(home.path()).stdout(Stdio::null()), port).unwrap();
    first.opened.blocking_recv().unwrap();
    let _source = topical_at(source, None, &[("change", &second.socket())]);
    drop(first);
    second.opened.blocking_recv().unwrap();
}
