//! The program exposes exactly the metrics that the reference lists. Dashboard and alerts are checked against the
//! reference.

use std::{collections::BTreeSet, fs, path::Path};

use crate::support::{Running, get, instep};

/// Returns the names of the metrics in a text in the format of Prometheus.
fn families(text: &str) -> BTreeSet<String> {
    let names = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    names.map(str::to_owned).collect()
}

/// Returns the names in the first column of the tables below a heading of the reference.
fn listed(reference: &str, heading: &str) -> BTreeSet<String> {
    let section = reference.split(heading).nth(1).unwrap().split("\n## ").next().unwrap();
    let cells = section.lines().filter_map(|line| line.strip_prefix("| `instep_"));
    let names = cells.flat_map(|cell| cell.split(" | ").next().unwrap().split(", `"));
    names
        .map(|name| {
            format!("instep_{}", name.trim_start_matches("instep_").split(['{', '`']).next().unwrap())
        })
        .collect()
}

fn reference() -> String {
    let reference = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/metrics.md");
    fs::read_to_string(reference).unwrap()
}

#[test]
fn the_reference_lists_each_metric_of_a_source_and_of_a_copy_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("data/a.txt"), "a").unwrap();
    let serve = ["serve", "data", "--listen", "127.0.0.1:0"];
    let mut server = Running::start(instep(folder.path(), &serve));
    let ready = server.ready();
    let sync = ["sync", ready["url"].as_str().unwrap(), "copy", "--quiet", "--metrics-file", "copy.prom"];
    assert!(instep(folder.path(), &sync).status().unwrap().success());
    let of_source = get(ready["address"].as_str().unwrap(), "/metrics");
    let reference = reference();
    assert_eq!(families(&of_source), listed(&reference, "## Of a Source"));
    let of_copy = fs::read_to_string(folder.path().join("copy.prom")).unwrap();
    assert_eq!(families(&of_copy), listed(&reference, "## Of a copy"));
}

#[test]
fn the_reference_lists_each_metric_of_a_fleet_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = Running::start(instep(folder.path(), &["run", "--listen", "127.0.0.1:0"]));
    let ready = run.ready();
    let address = ready["url"].as_str().unwrap().trim_start_matches("http://").trim_end_matches('/');
    assert_eq!(families(&get(address, "/metrics")), listed(&reference(), "## A fleet"));
}

#[test]
fn o300_a_copy_that_never_succeeded_shows_since_when_it_is_tried() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{nobody}/");
    let sync = ["sync", &url, "copy", "--retries", "0", "--metrics-file", "copy.prom"];
    let mut first = String::new();
    for _ in 0..2 {
        assert!(!instep(folder.path(), &sync).status().unwrap().success());
        let text = fs::read_to_string(folder.path().join("copy.prom")).unwrap();
        assert!(!text.contains("instep_last_success_timestamp_seconds"), "{text}");
        let line = text.lines().find(|line| line.starts_with("instep_first_run_timestamp_seconds{"));
        let line = line.unwrap().to_owned();
        assert!(first.is_empty() || first == line, "{first}, {line}");
        first = line;
    }
}
