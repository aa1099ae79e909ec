//! The work of an operator on a copy: audits, logins, and links that an attacker placed.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use instep_testkit::{FakeSource, Run, instep};
use serde_json::Value;
use tempfile::TempDir;

struct Kept {
    source: FakeSource,
    folder: TempDir,
}

impl Kept {
    fn of(count: usize) -> Self {
        let resources = (0..count).map(|number| (format!("n/{number}.txt"), format!("text {number}")));
        let source = FakeSource::start().with_resources(resources);
        let kept = Self { source, folder: TempDir::new().unwrap() };
        let _ = kept.sync(&[]).with_code(0);
        kept
    }

    fn copy(&self) -> PathBuf {
        self.folder.path().join("copy")
    }

    fn sync(&self, more: &[&str]) -> Run {
        self.run(&["sync", &self.source.url("")], more)
    }

    fn audit(&self, what: &[&str], more: &[&str]) -> (Run, Value) {
        let run = self.run(&[&["audit"], what].concat(), &[more, &["--json"]].concat());
        let summary = run.stdout.lines().last().map(|line| serde_json::from_str(line).unwrap());
        (run, summary.unwrap())
    }

    fn run(&self, verb: &[&str], more: &[&str]) -> Run {
        let copy = self.copy().display().to_string();
        Run::of(instep([verb, &[&copy], more].concat()).current_dir(self.folder.path()))
    }

    fn damage(&self, path: &str) {
        fs::write(self.copy().join(path), "text X").unwrap();
    }
}

#[test]
fn d44_an_audit_without_the_network_finds_what_the_state_does_not_say() {
    let kept = Kept::of(20);
    kept.damage("n/7.txt");
    fs::remove_file(kept.copy().join("n/8.txt")).unwrap();
    kept.source.forget_requests();
    let (run, summary) = kept.audit(&["--offline"], &[]);
    let run = run.with_code(20);
    assert_eq!(
        (&summary["differing"], &summary["missing"], &summary["same"]),
        (&1.into(), &1.into(), &18.into())
    );
    assert!(run.stdout.contains("n/7.txt") && run.stdout.contains("n/8.txt"));
    assert!(kept.source.requests().is_empty());
    let _ = kept.sync(&["--repair"]).with_code(0);
    let _ = kept.audit(&["--offline"], &[]).0.with_code(0);
}

#[test]
fn d44_a_sample_hashes_its_share() {
    let kept = Kept::of(300);
    let url = kept.source.url("");
    let (_, all) = kept.audit(&[&url], &[]);
    let (run, part) = kept.audit(&[&url], &["--sample", "10%"]);
    let _ = run.with_code(0);
    let (all, part) = (all["bytes"].as_u64().unwrap(), part["bytes"].as_u64().unwrap());
    assert!(part > 0 && part < all / 2, "{part} of {all} bytes");
}

#[test]
fn d3_links_that_were_planted_in_the_copy_are_not_followed() {
    let kept = Kept::of(3);
    let outside = kept.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("theirs"), "theirs").unwrap();
    let plant = |target: &Path, at: &str| {
        let at = kept.copy().join(at);
        let _ = fs::remove_file(&at);
        symlink(target, at).unwrap();
    };
    plant(&outside.join("theirs"), "n/1.txt");
    plant(&outside, "new");
    kept.source.put("n/1.txt", "changed");
    kept.source.put("new/file.txt", "below a link");
    kept.source.put("n/2.txt", "changed too");
    let _ = kept.sync(&[]).with_code(3);
    assert_eq!(fs::read_to_string(outside.join("theirs")).unwrap(), "theirs");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "nothing is written outside");
    assert_eq!(fs::read_to_string(kept.copy().join("n/2.txt")).unwrap(), "changed too");
    fs::remove_file(kept.copy().join("new")).unwrap();
    let _ = kept.sync(&[]).with_code(0);
    assert_eq!(fs::read_to_string(kept.copy().join("new/file.txt")).unwrap(), "below a link");
    assert_eq!(fs::read_to_string(kept.copy().join("n/1.txt")).unwrap(), "changed");
}

#[test]
fn d25_a_login_of_netrc_goes_to_its_host_only() {
    let kept = Kept::of(1);
    let netrc = kept.folder.path().join("logins");
    let authorization = |machine: &str| {
        fs::write(&netrc, format!("machine {machine} login me password secret\n")).unwrap();
        kept.source.forget_requests();
        let _ = kept.sync(&["--netrc-file", "logins"]).with_code(0);
        let requests = kept.source.requests();
        assert!(!requests.is_empty());
        let sent: Vec<_> =
            requests.iter().map(|request| request.header("authorization").map(str::to_owned)).collect();
        sent
    };
    let basic = "Basic bWU6c2VjcmV0".to_owned();
    assert!(authorization("127.0.0.1").iter().all(|sent| sent.as_ref() == Some(&basic)));
    assert!(authorization("other.example").iter().all(Option::is_none));
}

#[test]
fn figures_are_written_after_each_run() {
    let kept = Kept::of(5);
    let copy = format!("copy=\"{}\"", kept.copy().display());
    let figures = || {
        let text = fs::read_to_string(kept.folder.path().join("figures.prom")).unwrap();
        let without_name = text.replace(&format!("{{{copy}}}"), "").replace(&format!("{copy},"), "");
        assert!(!without_name.contains("copy=") && without_name != text, "{copy}\n{text}");
        without_name
    };
    let value = |name: &str| {
        let found = figures().lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
        found.unwrap_or_else(|| panic!("no {name} in\n{}", figures()))
    };
    kept.source.put("n/1.txt", "changed");
    let _ = kept.sync(&["--metrics-file", "figures.prom"]).with_code(0);
    assert_eq!(value("instep_resources_total{state=\"held\"}"), 5.0);
    assert_eq!(value("instep_changes_total{change=\"updated\"}"), 1.0);
    let success = value("instep_last_success_timestamp_seconds");
    kept.source.put("n/2.txt", "never there");
    kept.source.fail_always("n/2.txt", instep_testkit::Fault::Status(404));
    let _ = kept.sync(&["--metrics-file", "figures.prom"]).with_code(3);
    assert_eq!(value("instep_last_run_exit_code"), 3.0);
    assert_eq!(value("instep_resources_total{state=\"owed\"}"), 1.0);
    assert_eq!(value("instep_problems_total{kind=\"missing\"}"), 1.0);
    assert_eq!(value("instep_last_success_timestamp_seconds"), success);
    let of_host =
        |name: &str, more: &str| value(&format!("{name}{{host=\"http://{}\"{more}}}", kept.source.host()));
    assert_eq!(of_host("instep_fetch_total", ",code=\"404\""), of_host("instep_fetch_errors_total", ""));
    assert!(of_host("instep_fetch_errors_total", "") >= 1.0);
    assert!(of_host("instep_received_bytes_total", "") > 0.0);
    assert!(of_host("instep_fetch_seconds_count", "") >= of_host("instep_fetch_total", ",code=\"200\""));
    assert_eq!(of_host("instep_retry_total", ""), 0.0);
    assert_eq!(of_host("instep_transfers", ""), 0.0);
    assert!(value("instep_disk_free_bytes") > 0.0);
}

#[test]
fn d10_what_a_source_writes_does_not_drive_the_terminal() {
    let kept = Kept::of(1);
    kept.source.put("n/0.txt", "changed");
    let hostile = "<url><loc>http://h/\u{9b}31m\u{202e}gpj.exe</loc><rs:md change='created'/></url></urlset>";
    kept.source.rewrite("changelist-000001.xml", |text| text.replace("</urlset>", hostile));
    let run = kept.sync(&["-v"]).with_code(3);
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(said.contains("31m"), "it is told: {said}");
    assert!(!said.contains(['\u{9b}', '\u{202e}']), "{said:?}");
}
