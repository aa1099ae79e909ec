//! Writes metrics in the text format of Prometheus.

use std::fmt::{Display, Write as _};

/// Lines in the Prometheus text format about one copy or fleet.
#[derive(Debug)]
pub(crate) struct Text {
    lines: String,
    /// A label of every value: the folder of the copy or fleet. A machine may have several, each with its file, and a
    /// collector refuses files with the same names and labels.
    about: (&'static str, String),
}

impl Text {
    /// Returns an empty text about the copy in a folder.
    pub(crate) fn about(copy: impl Into<String>) -> Self {
        Self { lines: String::new(), about: ("copy", copy.into()) }
    }

    /// Returns an empty text about the fleet in a folder.
    pub(crate) fn about_fleet(fleet: impl Into<String>) -> Self {
        Self { lines: String::new(), about: ("fleet", fleet.into()) }
    }

    /// Adds a metric without labels.
    pub(crate) fn one(&mut self, name: &str, kind: &str, value: f64) {
        self.kind(name, kind);
        self.value(name, &[], value);
    }

    /// Adds a metric with a value per set of labels.
    pub(crate) fn family<const N: usize, V: Display>(
        &mut self,
        name: &str,
        kind: &str,
        values: impl IntoIterator<Item = ([(&'static str, String); N], V)>,
    ) {
        self.kind(name, kind);
        for (labels, value) in values {
            self.value(name, &labels, value);
        }
    }

    /// Adds a histogram: counts of values up to each bound and above them, and their sum.
    pub(crate) fn histogram(
        &mut self,
        name: &str,
        label: (&'static str, &str),
        bounds: &[f64],
        counts: &[u64],
        sum: f64,
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
    pub(crate) fn kind(&mut self, name: &str, kind: &str) {
        let _ = writeln!(self.lines, "# TYPE {name} {kind}");
    }

    fn value(&mut self, name: &str, labels: &[(&'static str, String)], value: impl Display) {
        let (about, folder) = &self.about;
        let _ = write!(self.lines, "{name}{{{about}=\"{}\"", escaped(folder));
        for (label, text) in labels {
            let _ = write!(self.lines, ",{label}=\"{}\"", escaped(text));
        }
        let _ = writeln!(self.lines, "}} {value}");
    }

    /// Returns the text.
    pub(crate) fn into_string(self) -> String {
        self.lines
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
        let mut text = Text::about("/srv/copy");
        text.histogram("t", ("host", "a\"}\nb"), &[0.1, 1.0], &[2, 1, 1], 3.5);
        let lines: Vec<_> = text.lines.lines().collect();
        assert_eq!(lines[0], r#"t_bucket{copy="/srv/copy",host="a\"}\nb",le="0.1"} 2"#);
        assert_eq!(lines[2], r#"t_bucket{copy="/srv/copy",host="a\"}\nb",le="+Inf"} 4"#);
        assert_eq!(lines[4], r#"t_count{copy="/srv/copy",host="a\"}\nb"} 4"#);
    }
}
