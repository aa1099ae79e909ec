//! OAI-PMH both ways with the program: sickle harvests what we serve, and a harvest outlives `kill -9`.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use instep_testkit::{
    FakeRecord, FakeRepository, FakeSource, Fault, RepositoryFault, Run, Server, free_port, instep, peers,
    wait_until,
};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("data/oai").join(name)
}

/// Serves a folder with OAI-PMH.
fn serve(folder: &Path, options: &[&str]) -> Server {
    let port = free_port().unwrap();
    let mut command = instep(["serve", "--quiet", "--oai", "--oai-part", "20", "--listen"]);
    command.arg(format!("127.0.0.1:{port}")).args(options).arg(folder);
    Server::start(&mut command, port).unwrap()
}

fn records(folder: &Path) -> usize {
    fs::read_dir(folder.join("records/oai_dc")).map_or(0, Iterator::count)
}

#[test]
fn sickle_harvests_what_we_serve_and_each_response_is_valid() {
    let Some([python]) = peers::find(["python"]) else { return };
    if peers::file("sickle/app.py").is_none() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("data");
    fs::create_dir(&folder).unwrap();
    let fake = FakeRepository::with_records(50);
    fake.edit(|layout| {
        let record = layout.record("oai:fake:000001");
        record.sets = vec!["papers:physics".to_owned()];
        record.metadata = record.metadata.replace("Title 1", "A &amp; B &lt; \u{1f600}");
        layout.record("oai:fake:000002").identifier = "oai:fake:a/b?c&d".replace('&', "&amp;");
    });
    let server = serve(&folder, &["--from", &fake.url("metadataPrefix=oai_dc"), "--oai-name", "A & B"]);
    let run = Run::of(
        Command::new(python)
            .arg(data("harvest.py"))
            .arg(format!("{}oai", server.url()))
            .arg(data(""))
            .arg(folder.join("records/oai_dc")),
    )
    .with_code(0);
    let lines = |begin: &str| lines(&run, begin);
    assert_eq!(lines("identify "), ["YYYY-MM-DDThh:mm:ssZ persistent"]);
    assert_eq!(lines("formats "), ["oai_dc"]);
    assert_eq!(lines("sets"), ["papers papers:physics"]);
    let harvested = lines("record oai_dc ");
    assert_eq!(harvested.len(), 50);
    assert!(
        harvested
            .iter()
            .any(|line| line.starts_with("oai:fake:000001 ") && line.ends_with(" papers:physics"))
    );
    assert!(harvested.iter().any(|line| line.starts_with("oai:fake:a/b?c&d ")));
    // What sickle got is, canonically, what lies in the files.
    let digests: BTreeSet<&str> = harvested.iter().filter_map(|line| line.split(' ').nth(1)).collect();
    assert_eq!(digests, lines("file ").into_iter().collect());
    assert_eq!(
        lines("error "),
        [
            "badVerb",
            "badVerb",
            "badArgument",
            "badArgument",
            "cannotDisseminateFormat",
            "badResumptionToken",
            "idDoesNotExist",
            "noRecordsMatch",
            "noRecordsMatch",
            "idDoesNotExist",
        ]
    );
}

/// Returns the rests of the lines that begin so.
fn lines<'a>(run: &'a Run, begin: &str) -> Vec<&'a str> {
    run.stdout.lines().filter_map(|line| line.strip_prefix(begin)).map(str::trim).collect()
}

#[test]
fn sickle_harvests_files_of_any_kind_in_dublin_core_that_is_valid() {
    let Some([python]) = peers::find(["python"]) else { return };
    if peers::file("sickle/app.py").is_none() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("data");
    fs::create_dir(&folder).unwrap();
    for name in ["a & b <c>.pdf", "\u{e9}\u{1f600}.png", "table.csv", "unknown", "letter.xml"] {
        fs::write(folder.join(name), "<letter/>").unwrap();
    }
    let server = serve(&folder, &[]);
    let none = place.path().join("none");
    fs::create_dir(&none).unwrap();
    let run = Run::of(
        Command::new(python)
            .arg(data("harvest.py"))
            .arg(format!("{}oai", server.url()))
            .arg(data(""))
            .arg(none),
    )
    .with_code(0);
    assert_eq!(lines(&run, "formats "), ["letter oai_dc"]);
    assert_eq!(lines(&run, "record oai_dc ").len(), 5, "{}", run.stdout);
    assert_eq!(lines(&run, "record letter ").len(), 1, "{}", run.stdout);
}

#[test]
fn a_harvest_that_is_killed_goes_on_where_it_was() {
    let place = tempfile::tempdir().unwrap();
    let fake = FakeRepository::with_records(45);
    fake.fail("0!20!", [RepositoryFault::Status(503, "Retry-After: 3000")]);
    let publish = || {
        let mut command = instep(["publish", "--base-url", "https://example.org/", "--from"]);
        command.arg(fake.url("metadataPrefix=oai_dc")).arg(place.path()).stderr(Stdio::piped());
        command
    };
    let mut child = publish().spawn().unwrap();
    wait_until("the part that is not answered is asked for", || {
        assert!(child.try_wait().unwrap().is_none(), "it ended by itself");
        fake.take_requests().iter().any(|request| request.contains("0%2120%21"))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(records(place.path()), 20);
    drop(Run::of(&mut publish()).with_code(0));
    assert_eq!(records(place.path()), 45);
    let requests = fake.take_requests();
    assert!(requests.iter().all(|request| !request.contains("metadataPrefix=")), "{requests:?}");
}

#[test]
fn sets_of_the_configuration_come_from_repositories_each_below_its_name() {
    let place = tempfile::tempdir().unwrap();
    let fake = FakeRepository::with_records(12);
    fake.edit(|layout| {
        layout.record("oai:fake:000003").sets = vec!["one".to_owned()];
        layout.records.push(FakeRecord {
            metadata: "<broken>".to_owned(),
            ..FakeRecord::new("oai:bad", "2026-01-02", "")
        });
    });
    let config = place.path().join("instep.toml");
    let tables = format!(
        "[[set]]\nname = \"all\"\nfrom = \"{}\"\n[[set]]\nname = \"one\"\nfrom = \"{}\"\nfull-text = true\n",
        fake.url("metadataPrefix=oai_dc"),
        fake.url("set=one")
    );
    fs::write(&config, tables).unwrap();
    let folder = place.path().join("data");
    fs::create_dir(&folder).unwrap();
    let mut command = instep(["publish", "--base-url", "https://example.org/", "--config"]);
    let run = Run::of(command.arg(&config).arg(&folder)).with_code(3);
    assert!(
        run.stderr.contains("oai:bad in http") && run.stderr.contains("cannot be read"),
        "{}",
        run.stderr
    );
    assert_eq!((records(&folder.join("all")), records(&folder.join("one"))), (12, 1));
    let list = fs::read_to_string(folder.join("resourcesync/one/resourcelist.xml")).unwrap();
    assert!(list.contains("<loc>https://example.org/one/records/oai_dc/oai:fake:000003.xml</loc>"), "{list}");
}

#[test]
fn c37_a_repository_that_cannot_be_reached_is_told_by_the_exit_code_also_by_a_dry_run() {
    let place = tempfile::tempdir().unwrap();
    let publish = |repository: &str, more: &[&str]| {
        let mut command = instep(["publish", "--base-url", "http://x.example/", "--from", repository]);
        Run::of(command.args(more).arg(place.path()))
    };
    let nowhere = FakeSource::start();
    nowhere.fail_always("oai", Fault::Status(404));
    let nothing = format!("oai+{}", nowhere.url("oai"));
    for more in [&[][..], &["--dry-run"]] {
        let run = publish(&nothing, more).with_code(4);
        let said = format!("Cannot read the resources of {}: ", nowhere.url("oai"));
        assert!(run.stderr.contains(&said) && run.stderr.contains("404 Not Found"), "{}", run.stderr);
    }
    let fake = FakeRepository::with_records(3);
    let there = fake.url("metadataPrefix=oai_dc");
    let run = publish(&there, &["--dry-run"]).with_code(3);
    assert!(run.stderr.contains("has not been harvested yet"), "{}", run.stderr);
    let _ = publish(&there, &[]).with_code(0);
    assert!(publish(&there, &["--dry-run"]).with_code(0).stdout.contains("Would publish: +0 ~0 -0"));
}
