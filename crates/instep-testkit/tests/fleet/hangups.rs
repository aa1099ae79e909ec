//! SIGHUP: a configuration that is gone, came from a pipe, names another place, or could not be used at first.

use std::{
    fs,
    io::{self, Write as _},
};

use crate::support::{FleetFolder, Running, get};

/// Returns a fleet with a configured Source `a` that is in step.
fn configured() -> (FleetFolder, Running, Running, String) {
    let fleet = FleetFolder::new();
    let served = Running::source(&fleet.data("data", 1));
    let text = format!("[[source]]\nname = \"a\"\nurl = \"{}\"\nevery = \"1h\"\n", served.url);
    fleet.configure(&text);
    let run = fleet.start(&[]);
    fleet.wait_for("a", "in-step");
    (fleet, served, run, text)
}

#[test]
fn o175_a_configuration_file_that_is_gone_takes_nothing_back() {
    let (fleet, _served, run, text) = configured();
    let looks = |run: &Running| get(run, "/api/v1/sources/a/looks").json()["looks"].as_array().unwrap().len();
    fs::remove_file(fleet.path("instep.toml")).unwrap();
    run.signal("-HUP");
    fleet.wait_for_message("the old configuration stays in use: instep.toml is gone", 1);
    assert_eq!(looks(&run), 1);
    // The file of somebody else is no replacement.
    fleet.configure(&format!("{text}priority = 1\n"));
    run.signal("-HUP");
    instep_testkit::wait_until("the file applies again", || {
        get(&run, "/api/v1/sources/a").json()["priority"] == 1
    });
    assert!(looks(&run) >= 1);
}

#[test]
fn o176_a_fleet_stays_in_its_place_until_it_is_started_again() {
    let (fleet, served, run, text) = configured();
    let other = text.replace("\"a\"", "\"b\"");
    fleet.configure(&format!("[run]\nfleet = \"elsewhere\"\nstore = \"s3://library/x\"\n{text}{other}"));
    run.signal("-HUP");
    fleet.wait_for_message("fleet, state and store stay as they are", 1);
    instep_testkit::wait_until("the new Source is copied", || {
        get(&run, "/api/v1/sources/b").json()["state"] == "in-step"
    });
    assert!(fleet.path("fleet/b/0.txt").is_file() && !fleet.path("elsewhere").exists());
    drop(served);
}

#[test]
fn o179_a_configuration_that_could_not_be_used_is_tried_again_also_unchanged() {
    let (fleet, served, run, text) = configured();
    fleet.ends(&["add", &served.url, "--name", "b"], 0);
    fleet.configure(&format!("{text}{}", text.replace("\"a\"", "\"b\"").replace("1h", "2h")));
    run.signal("-HUP");
    fleet.wait_for_message("There is a Source b already", 1);
    fleet.ends(&["remove", "b"], 0);
    run.signal("-HUP");
    instep_testkit::wait_until("the configuration is in use", || {
        get(&run, "/api/v1/sources/b").json()["every_seconds"] == 7_200
    });
}

#[test]
fn o306_after_a_hangup_without_a_change_nothing_is_said_to_be_read_that_is_not() {
    let quiet = FleetFolder::new();
    let messages = fs::File::create(quiet.path("messages")).unwrap();
    let mut command = quiet.command(&["run"]);
    let child = command.stdout(messages.try_clone().unwrap()).stderr(messages).spawn().unwrap();
    let unchanged = Running { child, url: String::new() };
    quiet.wait_for_message("Fleet in fleet", 1);
    unchanged.signal("-HUP");
    quiet.wait_for_message("SIGHUP: the configuration has not changed", 1);
    let (fleet, _served, run, text) = configured();
    // A file of certificates that cannot be used changes nothing, although no Source needs it.
    let with_file = format!("[run]\nca-file = \"none.pem\"\n{}", text.replace("\"a\"", "\"b\""));
    fleet.configure(&with_file);
    run.signal("-HUP");
    fleet.wait_for_message("Cannot use the certificates in none.pem", 1);
    assert_eq!(get(&run, "/api/v1/sources/a").status, 200);
    assert_eq!(get(&run, "/api/v1/sources/b").status, 404);
}

#[test]
fn o186_a_configuration_from_a_pipe_is_read_once_and_stays_in_use() {
    let fleet = FleetFolder::new();
    let served = Running::source(&fleet.data("data", 1));
    let (reader, mut writer) = io::pipe().unwrap();
    write!(writer, "[[source]]\nname = \"a\"\nurl = \"{}\"\nevery = \"1h\"\n", served.url).unwrap();
    drop(writer);
    let messages = fs::File::create(fleet.path("messages")).unwrap();
    let words = ["run", "--config", "/dev/stdin", "--listen", "127.0.0.1:0", "--json"];
    let run = Running::with_messages(fleet.command(&words).stdin(reader), messages.into());
    fleet.wait_for("a", "in-step");
    run.signal("-HUP");
    fleet.wait_for_message("/dev/stdin is a pipe, which can be read only once", 1);
    assert_eq!(get(&run, "/api/v1/sources/a").status, 200);
}
