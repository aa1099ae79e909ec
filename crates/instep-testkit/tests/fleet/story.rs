//! A fleet from its first Source on: configured, added, imported, paused, failing, reloaded, killed.

use std::fs;

use instep_testkit::{FakeSource, Fault, Run, compare, free_port, wait_for, wait_until};

use crate::support::{FleetFolder, Running, get};

#[test]
fn many_sources_are_kept_current_whatever_happens_to_one_of_them() {
    let fleet = FleetFolder::new();
    let data = ["one", "two", "three", "late"].map(|name| fleet.data(name, 4));
    let [one, two, three, late] = [0, 1, 2, 3].map(|place: usize| Running::source(&data[place]));
    let nobody = format!("http://127.0.0.1:{}/", free_port().unwrap());
    let configured =
        format!("[[source]]\nname = \"one\"\nurl = \"{}\"\nevery = \"1s\"\ndelete = true\n", one.url);
    fleet.configure(&configured);
    fleet.ends(&["add", &two.url, "--name", "two"], 0);
    fleet.ends(&["add", &nobody, "--name", "nobody"], 0);
    fleet.ends(&["add", &three.url, "--name", "paused"], 0);
    fleet.ends(&["pause", "paused"], 0);
    fs::write(fleet.path("list.csv"), format!("name,url\nthree,{}\nagain,{}\n", three.url, two.url)).unwrap();
    let imported = fleet.source(&["import", "list.csv"]).with_code(0);
    assert!(imported.stdout.contains("0 Sources added; 2 URLs there already"), "{}", imported.stdout);
    fleet.ends(&["remove", "two"], 0);
    let imported = fleet.source(&["import", "list.csv"]).with_code(0);
    assert!(imported.stdout.contains("1 Source added; 1 URL there already"), "{}", imported.stdout);

    let run = fleet.start(&[]);
    for (name, data) in [("one", &data[0]), ("again", &data[1])] {
        fleet.wait_for(name, "in-step");
        assert_eq!(compare(data, &fleet.path("fleet").join(name)), Vec::<String>::new());
    }
    let failing = fleet.wait_for("nobody", "failing");
    assert_eq!(failing["exit_code"], 4, "{failing}");
    assert!(!fleet.path("fleet/paused").exists());
    fleet.ends(&["resume", "paused"], 0);
    fleet.wait_for("paused", "in-step");

    // SIGHUP adds one more Source; a file that cannot be used changes nothing.
    let more = format!("{configured}[[source]]\nname = \"late\"\nurl = \"{}\"\n", late.url);
    fleet.configure(&format!("{more}[[source]]\nname = \"late\"\nurl = \"{}\"\n", late.url));
    run.signal("-HUP");
    fleet.configure(&more);
    run.signal("-HUP");
    fleet.wait_for("late", "in-step");

    // After a kill the fleet continues: copied resources stay, and changes made meanwhile are applied.
    run.signal("-KILL");
    assert_eq!(run.ended(), None);
    fs::write(data[0].join("new.txt"), "new\n").unwrap();
    fs::remove_file(data[0].join("0.txt")).unwrap();
    let run = fleet.start(&[]);
    let copy = fleet.path("fleet/one");
    wait_for(|| {
        if copy.join("new.txt").exists() && !copy.join("0.txt").exists() {
            Ok(())
        } else {
            Err(fleet.source(&["show", "one", "--json"]).stdout)
        }
    });
    assert_eq!(get(&run, "/api/v1/fleet").json()["states"]["in-step"], 4);
    run.signal("-TERM");
    assert_eq!(run.ended(), Some(143));
    for name in ["one", "again", "paused", "late"] {
        let audit = Run::of(&mut fleet.command(&["audit", "--offline", &format!("fleet/{name}")]));
        assert_eq!(audit.code, Some(0), "{name}: {}{}", audit.stdout, audit.stderr);
    }
    let listed = fleet.source(&["list"]).with_code(0).stdout;
    assert_eq!(listed.lines().count(), 5, "{listed}");
}

#[test]
fn a_source_in_quarantine_recovers_when_an_operator_asks() {
    let fleet = FleetFolder::new();
    let source = FakeSource::start();
    source.put("a.txt", "abc");
    source.snapshot();
    source.fail_always("capabilitylist.xml", Fault::Status(404));
    fleet.ends(&["add", &source.capability_list_url(), "--name", "a"], 0);
    let _run = fleet.start(&["--quarantine-after", "1"]);
    let shown = fleet.wait_for("a", "quarantined");
    assert_eq!(shown["failures"], 1, "{shown}");
    source.heal();
    fleet.ends(&["run", "a"], 0);
    let shown = fleet.wait_for("a", "in-step");
    assert_eq!((&shown["held"], &shown["failures"]), (&1.into(), &0.into()), "{shown}");
}

#[test]
fn a_new_source_is_sized_and_waits_for_approval() {
    let fleet = FleetFolder::new();
    let source = Running::source(&fleet.data("data", 3));
    fleet.ends(&["add", &source.url, "--name", "a", "--approve"], 0);
    let _run = fleet.start(&[]);
    let shown = fleet.wait_for("a", "waiting");
    assert_eq!((&shown["sized_resources"], &shown["held"]), (&3.into(), &0.into()), "{shown}");
    assert!(!fleet.path("fleet/a").exists());
    fleet.ends(&["approve", "a"], 0);
    fleet.wait_for("a", "in-step");
}

#[test]
fn a_followed_source_is_looked_at_when_it_announces_something() {
    let fleet = FleetFolder::new();
    let data = fleet.data("data", 1);
    let source = Running::source(&data);
    // Without channels it would be visited once a day.
    fleet.ends(&["add", &source.url, "--name", "a", "--follow", "--every", "24h"], 0);
    let _run = fleet.start(&[]);
    fleet.wait_for("a", "in-step");
    let copy = fleet.path("fleet/a/new.txt");
    // A change that is announced before the channel is open is found by the run that follows its opening.
    fs::write(data.join("new.txt"), "new").unwrap();
    wait_until("the change has come", || copy.exists());
}
