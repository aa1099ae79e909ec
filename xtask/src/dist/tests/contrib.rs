//! Files for other systems, read by those: alerts and dashboard, which name only metrics that the program has, manifests for
//! Kubernetes, and workflows of the forge.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use instep_testkit::peers;

use super::{are_there, bash};
use crate::run::root;

/// A server in Kubernetes, as the book describes it; the probes of the book follow.
const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: { name: letters }
spec:
  replicas: 1
  strategy: { type: Recreate }
  selector: { matchLabels: { app: letters } }
  template:
    metadata: { labels: { app: letters } }
    spec:
      containers:
        - name: serve
          image: registry.example.org/instep:0.1.0
";

/// A workflow of the forge with one job; its steps follow.
const WORKFLOW: &str = "\
on: push
jobs:
  publish:
    runs-on: ubuntu-latest
";

/// Returns the blocks of a page that are YAML, each indented by a number of spaces.
fn blocks(page: &str, indent: usize) -> Vec<String> {
    let text = fs::read_to_string(root().join(page)).unwrap();
    let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let indented = |line: &str| format!("{}{line}\n", " ".repeat(indent));
    blocks.map(|block| block.lines().map(indented).collect()).collect()
}

/// Writes a file, and returns its path.
fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let file = folder.join(name);
    fs::write(&file, text).unwrap();
    file
}

/// Returns `true` if a referee accepts these files.
fn accepts(referee: &Path, arguments: &[&str], files: &[PathBuf]) -> bool {
    let output = Command::new(referee).args(arguments).args(files).output().unwrap();
    print!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    output.status.success()
}

#[test]
fn the_manifests_of_the_book_are_accepted_by_kubernetes() {
    let Some([referee]) = peers::find(["kubernetes-validate"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| written(folder.path(), name, text);
    let cron_job = &blocks("docs/how-to/container.md", 0)[0];
    let probes = &blocks("docs/how-to/container.md", 10)[1];
    let manifests =
        [file("cron-job.yaml", cron_job), file("deployment.yaml", &format!("{DEPLOYMENT}{probes}"))];
    assert!(accepts(&referee, &["--strict"], &manifests));
    for wrong in [cron_job.replace("schedule:", "times:"), format!("{DEPLOYMENT}          probe: {{}}\n")] {
        assert!(!accepts(&referee, &["--strict"], &[file("wrong.yaml", &wrong)]), "{wrong}");
    }
}

#[test]
fn the_workflows_are_accepted_by_the_forge() {
    let Some([referee]) = peers::find(["check-jsonschema"]) else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| written(folder.path(), name, text);
    let own = fs::read_dir(root().join(".github/workflows")).unwrap();
    let mut workflows: Vec<PathBuf> = own.map(|workflow| workflow.unwrap().path()).collect();
    for (number, steps) in blocks("docs/how-to/static-hosting.md", 4).iter().enumerate() {
        workflows.push(file(&format!("book-{number}.yml"), &format!("{WORKFLOW}{steps}")));
    }
    assert!(workflows.len() >= 4, "{workflows:?}");
    let schema = ["--builtin-schema", "vendor.github-workflows"];
    assert!(accepts(&referee, &schema, &workflows));
    let wrong = file("wrong.yml", &format!("{WORKFLOW}    steps: [{{ use: actions/checkout@v4 }}]\n"));
    assert!(!accepts(&referee, &schema, &[wrong]));
}

#[test]
fn o301_the_alerts_fire_when_they_should_and_only_then() {
    if are_there(["promtool"]) {
        let check =
            "promtool check rules prometheus-alerts.yml && promtool test rules prometheus-alerts-test.yml";
        bash(check, &root().join("contrib"));
    }
}

#[test]
fn each_alert_is_tested_and_explained() {
    let read = |name: &str| fs::read_to_string(root().join(name)).unwrap();
    let rules = read("contrib/prometheus-alerts.yml");
    let (tests, page) = (read("contrib/prometheus-alerts-test.yml"), read("docs/how-to/monitoring.md"));
    let alerts: Vec<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(alerts.len() >= 8, "{alerts:?}");
    for alert in alerts {
        let tested = format!("alertname: {alert}\n");
        let fires = tests.split(&tested).skip(1).any(|rest| rest.trim_start().starts_with("exp_alerts:\n"));
        assert!(fires, "no test in which {alert} fires");
        assert!(page.contains(&format!("| `{alert}` |")), "{alert} is not in docs/how-to/monitoring.md");
    }
}

/// Returns the names in a text that begin as those of our metrics do.
fn metrics(text: &str) -> BTreeSet<String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = text.split(|letter| !is_part(letter)).filter(|word| word.starts_with("instep_"));
    words.filter(|word| *word != "instep_").map(str::to_owned).collect()
}

#[test]
fn the_metrics_of_dashboard_and_alerts_are_in_the_reference() {
    let reference = metrics(&fs::read_to_string(root().join("docs/reference/metrics.md")).unwrap());
    for file in ["grafana-dashboard.json", "prometheus-alerts.yml", "prometheus-alerts-test.yml"] {
        for metric in metrics(&fs::read_to_string(root().join("contrib").join(file)).unwrap()) {
            let family = metric.trim_end_matches("_bucket").to_owned();
            assert!(reference.contains(&family), "{file}: {metric} is not in docs/reference/metrics.md");
        }
    }
}
