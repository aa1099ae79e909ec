//! The lag of the copy over time: samples of this process, and their chart.

use std::{collections::VecDeque, time::Duration};

use maud::Markup;
use resourcesync::DateTime;

use crate::{pages::chart::line, ui::format::elapsed};

/// The samples that are kept: a day, one each 30 s.
const MOST: usize = 2_880;
/// The time between two samples.
pub(super) const EVERY: Duration = Duration::from_secs(30);

/// The lag at some times, the oldest first.
#[derive(Clone, Debug, Default)]
pub(crate) struct LagHistory(VecDeque<(DateTime, Duration)>);

impl LagHistory {
    /// Adds a sample; the oldest one goes when there are too many.
    pub(crate) fn add(&mut self, at: DateTime, lag: Duration) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back((at, lag));
    }

    /// Draws the samples.
    pub(crate) fn chart(&self) -> Markup {
        let samples: Vec<_> = self
            .0
            .iter()
            .map(|(at, lag)| (*at, u64::try_from(lag.as_millis()).unwrap_or(u64::MAX)))
            .collect();
        let lag = |millis| elapsed(Duration::from_millis(millis));
        let said =
            |last, top| format!("The copy is {} behind; the most in this time was {}", lag(last), lag(top));
        line(&samples, 1_000, &lag, &said)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_seen_among_many_samples() {
        let mut history = LagHistory::default();
        assert!(history.chart().into_string().contains("Nothing is known yet"));
        for second in 0..5_000 {
            let lag = if second == 4_000 { 90 } else { 3 };
            history.add(DateTime::from_unix_seconds(second), Duration::from_secs(lag));
        }
        assert_eq!(history.0.len(), MOST);
        let chart = history.chart().into_string();
        assert!(chart.contains("the most in this time was 1 min 30 s"), "{chart}");
        assert!(chart.contains(",0 ") && chart.contains(",967 "), "{chart}");
    }
}
