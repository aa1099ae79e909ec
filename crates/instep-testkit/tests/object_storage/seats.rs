//! The limit of a host holds over all workers: the server counts its simultaneous requests.

use std::time::Duration;

use instep_testkit::{FakeSource, Fault, wait_for, wait_until};

use crate::workers::SharedFleet;

/// The limit of simultaneous transfers at the host.
const LIMIT: usize = 4;

/// Returns a host with slow answers, so that simultaneous requests are seen.
fn slow_host(resources: usize) -> FakeSource {
    let files = (0..resources).map(|number| (format!("n/{number:05}.txt"), format!("resource {number}")));
    let source = FakeSource::start().with_resources(files);
    for number in 0..resources {
        source.fail_always(&format!("n/{number:05}.txt"), Fault::Delay(Duration::from_millis(40)));
    }
    source
}

/// Waits until Sources are in step.
fn wait_in_step(fleet: &SharedFleet, names: &[&str]) {
    wait_for(|| {
        let states = fleet.states();
        let name = |source: &serde_json::Value| source["name"].as_str().unwrap_or_default().to_owned();
        let behind: Vec<_> = states
            .iter()
            .filter(|(state, source)| state != "in-step" && names.contains(&&*name(source)))
            .collect();
        if behind.is_empty() { Ok(()) } else { Err(format!("not in step: {behind:?}")) }
    });
}

fn number(fleet: &SharedFleet, sql: &str) -> usize {
    fleet.sql(sql).parse().unwrap_or_default()
}

#[test]
fn three_workers_share_what_a_host_bears_and_the_seats_of_one_that_is_killed_come_back() {
    let Some(fleet) = SharedFleet::new() else { return };
    // The first worker must not be ready before the last one takes a Source that fell to another one.
    let host = slow_host(600);
    // Three copies of one Source: each worker has one, and room for no other.
    let names = ["a", "b", "c"];
    names.iter().for_each(|name| fleet.add_url(name, &host.capability_list_url()));
    let limit = LIMIT.to_string();
    let options = ["--runs", "1", "--runs-per-host", "3", "--per-host", &limit, "--transfers", "16"];
    let workers = ["one", "two", "three"].map(|folder| fleet.work(folder, &options));
    let served = "SELECT count(*) FROM instep_fleet.seat WHERE held > 0";
    wait_until("each of the three has a seat", || number(&fleet, served) == 3);
    let killed = fleet.worker_of("a", &workers);
    workers[killed].signal("-KILL");
    wait_in_step(&fleet, &["b", "c"]);
    let most = host.most_at_once();
    assert!(most <= LIMIT, "{most} requests at a time");

    // The worker that takes over needs the seats of the dead one.
    host.forget_requests();
    wait_in_step(&fleet, &names);
    assert_eq!(host.most_at_once(), LIMIT);
    wait_until("every seat is given back", || fleet.sql("SELECT count(*) FROM instep_fleet.seat") == "0");
}

#[test]
fn three_workers_look_at_no_more_sources_of_a_host_than_it_may_have() {
    let Some(fleet) = SharedFleet::new() else { return };
    let host = slow_host(100);
    let names = ["a", "b", "c", "d", "e"];
    names.iter().for_each(|name| fleet.add_url(name, &host.capability_list_url()));
    // A pause that the host requests from one worker is recorded for the others, and removed when it is over.
    host.fail("n/00050.txt", [Fault::RetryAfter(503, "1".to_owned())]);
    let _workers = ["one", "two", "three"].map(|folder| fleet.work(folder, &["--runs-per-host", "2"]));
    let mut most = 0;
    wait_until("all Sources are in step", || {
        most = most.max(number(&fleet, "SELECT count(*) FROM instep_fleet.source WHERE worker IS NOT NULL"));
        fleet.states().iter().all(|(state, _)| state == "in-step")
    });
    assert_eq!(most, 2);
    let rested = "SELECT count(*) FROM instep_fleet.lane WHERE rest_number <> 0 AND rest = 0";
    wait_until("the host has rested", || fleet.sql(rested) == "1");
}
