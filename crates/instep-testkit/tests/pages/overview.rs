//! The first page, the state, and who is connected.

use std::fs;

use serde_json::Value;

use crate::{
    PROGRAM,
    serving::{PERSON, Serving, folder},
};

#[test]
fn p14_the_first_page_shows_how_much_there_is_how_it_changes_and_what_it_offers() {
    let folder = folder(&[("a/1.txt", "one"), ("a/2.txt", "two"), ("b/3.json", "{}"), ("4.txt", "four")]);
    let serving = Serving::start(folder.path(), &[]);
    fs::write(folder.path().join("a/1.txt"), "changed").unwrap();
    fs::write(folder.path().join("a/5.txt"), "new").unwrap();
    fs::remove_file(folder.path().join("4.txt")).unwrap();
    let all = ["1 created", "1 updated", "1 deleted"];
    // Changes are counted when they are recorded, which is before the documents are in place.
    let is_published =
        |page: &str| page.contains("3 changes in 1 document") && page.contains("resources\">4<");
    let page = serving.wait_for("", is_published);
    for part in all.iter().copied().chain([
        &*format!("instep sync {}", serving.base),
        "data-figure=\"resources\">4<",
        "aria-label=\"Changes in the last 24 hours: 1 created, 1 updated, 1 deleted\"",
        ">a/</a>",
        "text/plain",
        "application/json",
        "Resource List</a><small>",
        "Change List</a><small>3 changes in 1 document<",
        "Change Notification</a><small>0 connected<",
        "rel=\"resourcesync\"",
    ]) {
        assert!(page.contains(part), "{part}: {page}");
    }
    for (range, bars, table) in [("24h", 24, "Hour"), ("30d", 30, "Day"), ("1y", 52, "Week from")] {
        let page = serving.page(&format!("?range={range}"));
        assert!(page.contains(&format!("viewBox=\"0 0 {} 1000\"", bars * 10)), "{range}: {page}");
        assert!(page.contains(&format!("<th scope=\"col\">{table}</th>")), "{range}: {page}");
        assert!(all.iter().all(|kind| page.contains(kind)), "{range}: {page}");
    }
}

#[test]
fn p14_the_state_is_a_page_for_people_and_json_for_programs() {
    let folder = folder(&[("a.txt", "abc")]);
    let serving = Serving::start(folder.path(), &[]);
    let page = serving.page("status");
    assert!(page.contains("Everything is well.") && page.contains("All resources"), "{page}");
    for accept in [PROGRAM, "application/json"] {
        let answer = serving.get("status", accept);
        assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
        let state: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(state["sets"][0]["resources"], 1);
    }
    // A cache must not give one client the answer for the other.
    for accept in [PERSON, PROGRAM] {
        assert!(serving.get("status", accept).head.contains("vary: accept"));
    }
}

#[test]
fn p14_a_page_says_who_is_connected_and_channels_lead_there() {
    let folder = folder(&[("a.txt", "abc")]);
    let serving = Serving::start(folder.path(), &[]);
    let page = serving.page("resourcesync/connected");
    assert!(page.contains("data-figure=\"listeners\">0<"), "{page}");
    let host = serving.base.trim_start_matches("http://").trim_end_matches('/');
    let mut listener = std::net::TcpStream::connect(host).unwrap();
    let request = format!(
        "GET /resourcesync/change-notification HTTP/1.1\r\nHost: {host}\r\nAccept: text/event-stream\r\n\r\n"
    );
    std::io::Write::write_all(&mut listener, request.as_bytes()).unwrap();
    let page = serving
        .wait_for("resourcesync/change-notification", |page| page.contains("data-figure=\"listeners\">1<"));
    assert!(page.contains("resourcesync/framework-notification"), "{page}");
}

#[test]
fn p14_style_and_script_come_from_this_host_and_are_kept_by_browsers() {
    let folder = folder(&[("a.txt", "abc")]);
    let serving = Serving::start(folder.path(), &[]);
    let page = serving.page("");
    for (name, media_type) in
        [("style.css", "text/css"), ("live.js", "text/javascript"), ("icon.svg", "image/svg+xml")]
    {
        let address = page.split('"').find(|part| part.contains(name)).unwrap();
        let file = serving.get(address.trim_start_matches('/'), PROGRAM);
        assert_eq!(file.status, 200);
        assert!(file.head.contains(&format!("content-type: {media_type}")), "{}", file.head);
        assert!(file.head.contains("max-age="), "{}", file.head);
    }
}

#[test]
fn p14_a_set_has_a_page_with_what_it_offers() {
    let folder = folder(&[("a.txt", "abc")]);
    let serving = Serving::start(folder.path(), &[]);
    let page = serving.page("resourcesync/set?name=");
    for part in ["data-figure=\"set-resources\">1<", "instep sync", "capabilitylist.xml", "Resource List"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert_eq!(serving.get("resourcesync/set?name=absent", PERSON).status, 404);
}
