//! The lag of the copy over time: samples of this process, and their chart.

use std::{collections::VecDeque, time::Duration};

use maud::{Markup, html};
use resourcesync::DateTime;

use crate::ui::format::elapsed;

/// The samples that are kept: a day, one each 30 s.
const MOST: usize = 2_880;
/// The time between two samples.
pub(super) const EVERY: Duration = Duration::from_secs(30);
/// Points of a chart.
const POINTS: usize = 240;
/// The height and width of the chart in its own units.
const HEIGHT: u128 = 1_000;
const WIDTH: usize = 1_000;

/// The lag at some times, the oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct LagHistory(VecDeque<(DateTime, Duration)>);

impl LagHistory {
    /// Adds a sample; the oldest one goes when there are too many.
    pub(super) fn add(&mut self, at: DateTime, lag: Duration) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back((at, lag));
    }

    /// Draws the samples. Of neighbours that share a point the largest is shown: a peak must not vanish.
    pub(super) fn chart(&self) -> Markup {
        let (Some((from, _)), Some((until, _))) = (self.0.front(), self.0.back()) else {
            return html! { p.soft { "Nothing is known yet." } };
        };
        let together = self.0.len().div_ceil(POINTS);
        let samples: Vec<_> = self.0.iter().map(|(_, lag)| *lag).collect();
        let peaks: Vec<_> =
            samples.chunks(together).filter_map(|chunk| chunk.iter().max().copied()).collect();
        let top = peaks.iter().max().copied().unwrap_or_default().max(Duration::from_secs(1));
        let last = samples.last().copied().unwrap_or_default();
        let said =
            format!("The copy is {} behind; the most in this time was {}", elapsed(last), elapsed(top));
        html! {
            figure.chart {
                div.plot {
                    div.y aria-hidden="true" { span { (elapsed(top)) } span { (elapsed(top / 2)) } span { "0" } }
                    svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img" aria-label=(said) {
                        @for y in [0, HEIGHT / 2, HEIGHT] {
                            line x1="0" x2=(WIDTH) y1=(y) y2=(y) vector-effect="non-scaling-stroke" {}
                        }
                        polyline points=(points(&peaks, top)) vector-effect="non-scaling-stroke" {}
                    }
                    div.x.of-2 aria-hidden="true" { span { (time(*from)) } span.last { (time(*until)) } }
                }
            }
        }
    }
}

fn points(lags: &[Duration], top: Duration) -> String {
    let step = WIDTH as f64 / (lags.len().saturating_sub(1)).max(1) as f64;
    let point = |(place, lag): (usize, &Duration)| {
        let y = HEIGHT - lag.as_millis() * HEIGHT / top.as_millis().max(1);
        format!("{:.1},{y}", place as f64 * step)
    };
    // One sample is a line too.
    let lags = if lags.len() == 1 { &[lags[0], lags[0]] } else { lags };
    lags.iter().enumerate().map(point).collect::<Vec<_>>().join(" ")
}

fn time(moment: DateTime) -> String {
    moment.to_string().get(11..16).unwrap_or_default().to_owned()
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
