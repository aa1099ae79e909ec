//! The Prometheus text format.

use std::fmt::{Display, Write as _};

/// Lines in the Prometheus text format.
#[derive(Debug, Default)]
pub(super) struct Text(String);

impl Text {
    /// Adds a metric without labels.
    pub(super) fn one(&mut self, name: &str, kind: &str, value: f64) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}\n{name} {value}");
    }

    /// Adds a metric with a value per set of labels.
    pub(super) fn family<const N: usize, V: Display>(
        &mut self,
        name: &str,
        kind: &str,
        values: impl IntoIterator<Item = ([(&'static str, String); N], V)>,
    ) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
        for (labels, value) in values {
            self.value(name, &labels, value);
        }
    }

    /// Adds a histogram: counts of values up to each bound and above them, and their sum.
    pub(super) fn histogram(
        &mut self,
        name: &str,
        label: (&'static str, &str),
        bounds: &[f64],
        (counts, sum): (&[u64], f64),
    ) {
        let label = (label.0, label.1.to_owned());
        let mut seen = 0;
        let bounds = bounds.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(counts) {
            seen += count;
            self.value(&format!("{name}_bucket"), &[label.clone(), ("le", bound)], seen);
        }
        self.value(&format!("{name}_sum"), std::slice::from_ref(&label), sum);
        self.value(&format!("{name}_count"), &[label], seen);
    }

    /// Adds the type of the values that follow.
    pub(super) fn kind(&mut self, name: &str, kind: &str) {
        let _ = writeln!(self.0, "# TYPE {name} {kind}");
    }

    fn value(&mut self, name: &str, labels: &[(&'static str, String)], value: impl Display) {
        let labels = labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text)));
        let _ = writeln!(self.0, "{name}{{{}}} {value}", labels.collect::<Vec<_>>().join(","));
    }

    /// Returns the text.
    pub(super) fn into_string(self) -> String {
        self.0
    }
}

/// Escapes the value of a label, which may come from the network.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_cumulative_and_labels_cannot_break_out() {
        let mut text = Text::default();
        text.histogram("t", ("host", "a\"}\nb"), &[0.1, 1.0], (&[2, 1, 1], 3.5));
        let lines: Vec<_> = text.0.lines().collect();
        assert_eq!(lines[0], r#"t_bucket{host="a\"}\nb",le="0.1"} 2"#);
        assert_eq!(lines[2], r#"t_bucket{host="a\"}\nb",le="+Inf"} 4"#);
        assert_eq!(lines[4], r#"t_count{host="a\"}\nb"} 4"#);
    }
}
