//! The lag of a copy over time, computed from the times that it had reached after its runs, and its chart. PURE.

use std::time::Duration;

use instep_destination::ReachedPoint;
use maud::{Markup, html};
use resourcesync::DateTime;

use crate::{
    pages::chart::{ChartRange, plot},
    ui::format::elapsed,
};

/// The number of parts of the time that a chart covers. The greatest lag of each part is shown, so that no peak
/// vanishes.
const PARTS: usize = 240;

/// Returns the time at which the chart of a range begins.
pub(super) fn begin(range: ChartRange, now: DateTime) -> DateTime {
    DateTime::from_unix_micros(now.unix_micros() - length(range))
}

/// Draws the lag in a range, which ends now.
pub(super) fn chart(points: &[ReachedPoint], range: ChartRange, now: DateTime) -> Markup {
    let peaks = peaks(points, range, now);
    let Some(most) = peaks.iter().flatten().max().copied() else {
        return html! { p.soft { "Nothing is known yet." } };
    };
    let top = top(most);
    let last = peaks.last().copied().flatten().unwrap_or_default();
    let said = format!(
        "The copy is {} behind; the most in the last {} was {}",
        elapsed(last),
        range.label(),
        elapsed(most)
    );
    let labels = range.labels() as i64;
    let time = |number: i64| {
        let at = begin(range, now).unix_micros() + length(range) * number / labels;
        range.axis_label(&DateTime::from_unix_micros(at).to_string())
    };
    plot(&curve(&peaks, millis(top)), millis(top), &label, &said, &(0..labels).map(time).collect::<Vec<_>>())
}

/// Returns the value at the top of the axis: a round time not below the greatest lag, whose half is round, too (P26).
fn top(most: Duration) -> Duration {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    const STEPS: [u64; 15] = [
        2,
        10,
        20,
        MINUTE,
        2 * MINUTE,
        4 * MINUTE,
        10 * MINUTE,
        20 * MINUTE,
        HOUR,
        2 * HOUR,
        4 * HOUR,
        12 * HOUR,
        DAY,
        2 * DAY,
        4 * DAY,
    ];
    let days = || most.as_secs().div_ceil(10 * DAY).next_power_of_two() * 10 * DAY;
    let step = STEPS.into_iter().find(|step| Duration::from_secs(*step) >= most);
    Duration::from_secs(step.unwrap_or_else(days))
}

/// Writes a value of the axis.
fn label(millis: u64) -> String {
    match millis {
        ..60_000 => format!("{} s", millis / 1_000),
        millis => elapsed(Duration::from_millis(millis)),
    }
}

/// Returns the length of a range, in microseconds.
fn length(range: ChartRange) -> i64 {
    let (hours, bars) = range.bars();
    i64::from(hours) * bars as i64 * 3_600_000_000
}

/// Returns the greatest lag in each part of a range; `None` before the first run. Between two runs the lag grows with the
/// clock, and each run sets it back.
fn peaks(points: &[ReachedPoint], range: ChartRange, now: DateTime) -> Vec<Option<Duration>> {
    let lag = |at: i64, reached: i64| Duration::from_micros(u64::try_from(at - reached).unwrap_or(0));
    let mut points =
        points.iter().map(|point| (point.at.unix_micros(), point.reached.unix_micros())).peekable();
    let (begin, mut reached) = (begin(range, now).unix_micros(), None);
    while let Some((_, earlier)) = points.next_if(|(at, _)| *at <= begin) {
        reached = Some(earlier);
    }
    let peak = |part: usize| {
        let end = begin + length(range) * (part as i64 + 1) / PARTS as i64;
        let mut peak = Duration::ZERO;
        while let Some((at, next)) = points.next_if(|(at, _)| *at <= end) {
            peak = peak.max(lag(at, reached.unwrap_or(next)));
            reached = Some(next);
        }
        reached.map(|reached| peak.max(lag(end, reached)))
    };
    (0..PARTS).map(peak).collect()
}

/// Returns the points of the curve, each at the end of its part.
fn curve(peaks: &[Option<Duration>], top: u64) -> Vec<(f64, u64)> {
    let point = |(part, lag): (usize, &Option<Duration>)| {
        Some(((part + 1) as f64 / PARTS as f64, millis((*lag)?).min(top)))
    };
    peaks.iter().enumerate().filter_map(point).collect()
}

fn millis(lag: Duration) -> u64 {
    u64::try_from(lag.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000_000;

    fn at(seconds: i64) -> DateTime {
        DateTime::from_unix_seconds(seconds)
    }

    fn points(points: &[(i64, i64)]) -> Vec<ReachedPoint> {
        points.iter().map(|(seconds, lag)| ReachedPoint::new(at(*seconds), at(seconds - lag))).collect()
    }

    #[test]
    fn the_lag_grows_until_a_run_sets_it_back() {
        // A part of a day is six minutes.
        let points = points(&[(NOW - 100_000, 10), (NOW - 7_200, 10), (NOW - 3_600, 10), (NOW - 3_590, 20)]);
        let peaks: Vec<_> = peaks(&points, ChartRange::Day, at(NOW))
            .into_iter()
            .map(|peak| peak.map(|peak| peak.as_secs()))
            .collect();
        assert_eq!(peaks.len(), PARTS);
        // At the beginning of the day the lag is that since the last run before it.
        assert_eq!(peaks[0], Some(100_000 - 86_400 + 360 + 10));
        assert_eq!(peaks[PARTS - 21], Some(100_000 - 7_200 + 10));
        assert_eq!((peaks[PARTS - 20], peaks[PARTS - 11]), (Some(370), Some(3_610)));
        assert_eq!((peaks[PARTS - 10], peaks[PARTS - 1]), (Some(370), Some(3_610)));
    }

    #[test]
    fn p26_the_axis_of_a_lag_ends_at_a_round_time_with_a_round_half() {
        for (most, at_the_top, at_half) in [
            (1, "2 s", "1 s"),
            (14, "20 s", "10 s"),
            (116, "2 min", "1 min"),
            (900, "20 min", "10 min"),
            (4_000, "2 h", "1 h"),
            (90_000, "2 d", "1 d"),
            (400 * 86_400, "640 d", "320 d"),
        ] {
            let top = top(Duration::from_secs(most));
            assert_eq!((label(millis(top)), label(millis(top / 2))), (at_the_top.into(), at_half.into()));
        }
    }

    #[test]
    fn before_the_first_run_nothing_is_drawn() {
        assert!(chart(&[], ChartRange::Day, at(NOW)).into_string().contains("Nothing is known yet"));
        let drawn = chart(&points(&[(NOW - 30, 5)]), ChartRange::Day, at(NOW)).into_string();
        assert!(drawn.contains("points=\"980.0,417 1000.0,417\""), "{drawn}");
        assert!(
            drawn.contains("The copy is 35.0 s behind; the most in the last 24 hours was 35.0 s"),
            "{drawn}"
        );
    }
}
