//! The metrics that the program exposes are those of the reference, which dashboard and alerts are held against.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::{
    collections::BTreeSet,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::Value;

/// A server that ends with the test.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn instep(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_instep"));
    command.args(arguments).current_dir(folder).env_clear().env("HOME", folder).stdin(Stdio::null());
    command
}

/// The names of the families in a text of Prometheus.
fn families(text: &str) -> BTreeSet<String> {
    let names = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    names.map(str::to_owned).collect()
}

/// The names in the first column of the tables below a heading of the reference.
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

fn metrics(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn the_reference_lists_each_metric_of_a_source_and_of_a_copy_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    fs::write(folder.path().join("data/a.txt"), "a").unwrap();
    let mut server = instep(folder.path(), &["serve", "data", "--json", "--listen", "127.0.0.1:0"]);
    let mut server = Served(server.stdout(Stdio::piped()).spawn().unwrap());
    let mut lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
    let ready = lines.find_map(|line| {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        (line["type"] == "ready").then_some(line)
    });
    let ready = ready.unwrap();
    let sync = ["sync", ready["url"].as_str().unwrap(), "copy", "--quiet", "--metrics-file", "copy.prom"];
    assert!(instep(folder.path(), &sync).status().unwrap().success());
    let of_source = metrics(ready["address"].as_str().unwrap());
    let reference = reference();
    assert_eq!(families(&of_source), listed(&reference, "## Of a Source"));
    let of_copy = fs::read_to_string(folder.path().join("copy.prom")).unwrap();
    assert_eq!(families(&of_copy), listed(&reference, "## Of a copy"));
}

#[test]
fn the_reference_lists_each_metric_of_a_fleet_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = instep(folder.path(), &["run", "--json", "--listen", "127.0.0.1:0"]);
    let mut run = Served(run.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut lines = BufReader::new(run.0.stdout.take().unwrap()).lines();
    let ready = lines.find_map(|line| {
        let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
        (line["type"] == "ready").then_some(line)
    });
    let ready = ready.unwrap();
    let address = ready["url"].as_str().unwrap().trim_start_matches("http://").trim_end_matches('/');
    assert_eq!(families(&metrics(address)), listed(&reference(), "## A fleet"));
}
