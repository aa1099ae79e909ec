//! The output for programs agrees with the JSON Schema that is published for it (P16).
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::{Map, Value};

const SCHEMA: &str = include_str!("../schema/output.schema.json");
const PAGE: &str = include_str!("../../../docs/json.md");

fn definitions() -> Map<String, Value> {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    schema["$defs"].as_object().unwrap().clone()
}

/// Returns `true` if a value has a type of JSON Schema. An integer is also a number.
fn is_of(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        other => panic!("the schema has the type {other}"),
    }
}

fn allows(rule: &Value, value: &Value) -> bool {
    let by_type = match &rule["type"] {
        Value::Null => true,
        Value::String(kind) => is_of(value, kind),
        kinds => kinds.as_array().unwrap().iter().any(|kind| is_of(value, kind.as_str().unwrap())),
    };
    let by_enum = rule["enum"].as_array().is_none_or(|values| values.contains(value));
    by_type && by_enum && (rule["const"].is_null() || rule["const"] == *value)
}

/// Returns the name of the definition that a line follows exactly: it has all fields of the definition and no others.
fn definition(line: &Value) -> Option<String> {
    let object = line.as_object().unwrap();
    definitions().into_iter().find_map(|(name, definition)| {
        let properties = definition["properties"].as_object().unwrap();
        let has_all = properties.keys().all(|key| object.contains_key(key));
        let fits =
            object.iter().all(|(key, value)| properties.get(key).is_some_and(|rule| allows(rule, value)));
        (has_all && fits).then_some(name)
    })
}

/// Returns `true` if a line is valid by the rules of JSON Schema: required fields are present, further fields are
/// allowed.
fn validates(line: &Value) -> bool {
    let schema: Value = serde_json::from_str(SCHEMA).unwrap();
    let follows = |reference: &&Value| {
        let place = reference["$ref"].as_str().unwrap().trim_start_matches('#');
        let definition = schema.pointer(place).unwrap();
        let required = definition["required"].as_array().unwrap();
        let properties = definition["properties"].as_object().unwrap();
        required.iter().all(|key| line.get(key.as_str().unwrap()).is_some())
            && properties.iter().all(|(key, rule)| line.get(key).is_none_or(|value| allows(rule, value)))
    };
    let number = |key: &str| Some(schema[key].as_array()?.iter().filter(follows).count());
    number("oneOf").is_none_or(|number| number == 1) && number("anyOf").is_none_or(|number| number > 0)
}

#[test]
fn o121_a_line_with_all_fields_of_a_shorter_kind_is_valid_too() {
    let item = serde_json::json!({
        "type": "item", "letter": "+", "uri": "http://a.example/", "bytes": 1, "detail": null, "planned": false,
    });
    assert!(validates(&item));
    assert!(!validates(&serde_json::json!({ "type": "item", "letter": "?", "uri": "http://a.example/" })));
}

fn instep(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_instep"));
    command.args(arguments).arg("--json").current_dir(folder).env_clear().env("HOME", folder);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn p16_every_line_of_every_command_follows_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let (folder, data) = (folder.path(), folder.path().join("data"));
    fs::create_dir(&data).unwrap();
    fs::write(data.join("a.txt"), "a").unwrap();
    let mut seen = std::collections::BTreeSet::new();
    let mut check = |line: &str, arguments: &[&str]| {
        let value: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{arguments:?}: {line}"));
        assert!(validates(&value), "{arguments:?}: {line}");
        let name = definition(&value);
        seen.insert(name.unwrap_or_else(|| panic!("{arguments:?}: no definition fits {line}")));
        value
    };
    let base = "http://127.0.0.1/";
    let mut run = |arguments: &[&str]| {
        let output = instep(folder, arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(!text.is_empty(), "{arguments:?}");
        text.lines().for_each(|line| drop(check(line, arguments)));
    };
    run(&["publish", "data", "--base-url", base, "-n"]);
    run(&["publish", "data", "--base-url", base]);
    fs::write(folder.join("data/a.txt"), "changed").unwrap();
    run(&["publish", "data", "--base-url", base]);
    run(&["publish", "data", "--base-url", base, "--host-setup", "caddy"]);
    run(&["catalogue", "check", "data"]);
    run(&["catalogue", "compact", "data"]);
    run(&["catalogue", "backup", "data", "backup.zip"]);
    run(&["catalogue", "restore", "elsewhere", "backup.zip", "--state", "restored"]);
    run(&["catalogue", "check", "nowhere"]);
    run(&["change", "add", "http://127.0.0.1/b", "--dir", "data"]);
    run(&["init", "data"]);
    fs::remove_file(folder.join("instep.toml")).unwrap();
    run(&["explain", "RL-2"]);
    fs::write(folder.join("list.xml"), "<urlset/>").unwrap();
    run(&["validate", "list.xml"]);

    fs::create_dir(folder.join("served")).unwrap();
    fs::write(folder.join("served/a.txt"), "a").unwrap();
    let mut serving = instep(folder, &["serve", "served", "--listen", "127.0.0.1:0"]).spawn().unwrap();
    let mut lines = BufReader::new(serving.stdout.take().unwrap()).lines();
    let _server = Server(serving);
    let url = loop {
        let line = check(&lines.next().unwrap().unwrap(), &["serve"]);
        if line["type"] == "ready" {
            break line["url"].as_str().unwrap().to_owned();
        }
    };
    let mut run = |arguments: &[&str]| {
        let output = instep(folder, arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().for_each(|line| drop(check(line, arguments)));
    };
    run(&["sync", &url, "copy", "-n"]);
    run(&["sync", &url, "copy", "--events", "-"]);
    run(&["status", "copy"]);
    run(&["state", "export", "copy", "copy.state"]);
    run(&["state", "import", "moved", "copy.state"]);
    fs::write(folder.join("copy/a.txt"), "b").unwrap();
    run(&["audit", &url, "copy"]);
    run(&["explore", &url]);
    run(&["republish", "copy", "--base-url", base]);
    fs::write(folder.join("sources"), format!("{url}\n")).unwrap();
    run(&["source", "add", base, "--name", "a"]);
    run(&["source", "pause", "a"]);
    run(&["source", "import", "sources"]);
    run(&["source", "list"]);
    for name in [
        "change",
        "error",
        "finding",
        "host",
        "item of a catalogue",
        "item of a copy",
        "item of a publication",
        "plan",
        "ready",
        "rule",
        "source",
        "source action",
        "source added",
        "status",
        "summary of audit",
        "summary of catalogue restore",
        "summary of publish --dry-run",
        "summary of republish",
        "summary of source import",
        "summary of sync",
        "tree",
    ] {
        assert!(seen.contains(name), "{name} was not printed; seen: {seen:?}");
    }
}

#[test]
fn o896_the_objects_of_a_copy_have_the_fields_of_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let state =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../instep-destination/tests/golden/records/state.1.jsonl");
    assert!(instep(folder.path(), &["state", "import", "copy", state]).status().unwrap().success());
    let output = instep(folder.path(), &["status", "copy"]).output().unwrap();
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    let schema = definitions();
    let names = |object: &Value| object.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let expected = &schema["status"]["properties"]["objects"]["properties"];
    assert_eq!(names(&status["objects"]), names(expected));
}

#[test]
fn o898_the_preview_of_a_sitemap_follows_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let sitemap = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>\
        <url><loc>http://127.0.0.1/a</loc></url></urlset>";
    fs::write(folder.join("sitemap.xml"), sitemap).unwrap();
    let preview = ["upgrade-sitemap", "sitemap.xml", "--base-url", "http://127.0.0.1/", "--dry-run"];
    let output = instep(folder, &preview).output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().all(|line| validates(line) && definition(line).is_some()), "{lines:?}");
    assert_eq!(lines.last().unwrap()["dry_run"], true);
}

#[test]
fn p16_the_page_names_every_type_and_field() {
    for (name, definition) in definitions() {
        for (field, rule) in definition["properties"].as_object().unwrap() {
            let word = if field == "type" { rule["const"].as_str().unwrap() } else { field };
            if !["command", "dry_run"].contains(&word) {
                assert!(PAGE.contains(&format!("`{word}`")), "docs/json.md does not name {word} of {name}");
            }
        }
    }
}

#[test]
fn o225_a_standby_server_and_the_exit_codes_follow_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::create_dir(folder.join("data")).unwrap();
    fs::write(folder.join("data/a.txt"), "a").unwrap();
    let serve = ["serve", "data", "--listen", "127.0.0.1:0", "--base-url", "http://127.0.0.1/", "--standby"];
    let first = |kind: &str| {
        let mut server = Server(instep(folder, &serve).spawn().unwrap());
        let lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
        let mut values = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        let line = values.find(|line| line["type"] == kind).unwrap();
        std::thread::spawn(move || values.for_each(drop));
        assert!(validates(&line) && definition(&line).as_deref() == Some(kind), "{line}");
        server
    };
    let _holder = first("ready");
    let _standby = first("standby");
    let codes = String::from_utf8(instep(folder, &["exit-codes"]).output().unwrap().stdout).unwrap();
    let codes: Vec<Value> = codes.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(codes.iter().any(|line| line["exit_code"] == 20));
    assert!(codes.iter().all(validates));
}

#[test]
fn p16_the_lines_of_commands_that_run_for_long_follow_the_schema() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let check = |command: &mut Command, until: &str| {
        let mut child = Server(command.spawn().unwrap());
        let mut found = false;
        for line in BufReader::new(child.0.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            let value: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
            let name = definition(&value).unwrap_or_else(|| panic!("no definition fits {line}"));
            found |= name == until;
            if found && ["round", "look"].contains(&name.as_str()) {
                break;
            }
        }
        assert!(found, "{until} was not printed");
    };
    let simulate = ["simulate", "--resources", "5", "--rate", "20/s", "--listen", "127.0.0.1:0"];
    let mut ended = simulate.to_vec();
    ended.extend(["--duration", "2s"]);
    check(&mut instep(folder, &ended), "item of a publication");

    let mut lasting = instep(folder, &simulate).spawn().unwrap();
    let lines = BufReader::new(lasting.stdout.take().unwrap()).lines();
    let _lasting = Server(lasting);
    let mut lines = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let ready = lines.find(|line| line["type"] == "ready").unwrap();
    std::thread::spawn(move || lines.for_each(drop));
    let url = ready["url"].as_str().unwrap();
    check(&mut instep(folder, &["sync", url, "followed", "--follow", "--poll", "100ms"]), "round");
    assert!(instep(folder, &["source", "add", url]).status().unwrap().success());
    check(&mut instep(folder, &["run"]), "look");
    check(&mut instep(folder, &["demo"]), "summary of demo");
}
