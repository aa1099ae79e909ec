//! Alerts and dashboard: they can be read, and name only metrics that the program has.

use std::{collections::BTreeSet, fs};

use super::{are_there, bash};
use crate::run::root;

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
