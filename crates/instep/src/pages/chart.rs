//! The chart of changes over time, as markup that fits any width. PURE.

mod line;

use instep_source::catalogue::ChangeCounts;
use maud::{Markup, html};
use resourcesync::DateTime;

use crate::ui::format::count;
pub(crate) use line::{line, plot};

/// The height of a chart in its own units.
const HEIGHT: u64 = 1_000;
/// The width of a bar with the space beside it, in the same units.
const SLOT: u64 = 10;

/// The time that a chart covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChartRange {
    /// 24 hours, by the hour.
    Day,
    /// 30 days, by the day.
    Month,
    /// 52 weeks, by the week.
    Year,
}

impl ChartRange {
    /// All of them, the shortest first.
    pub(crate) const ALL: [Self; 3] = [Self::Day, Self::Month, Self::Year];

    /// Returns the range with a name; one day if there is no such range.
    pub(crate) fn parse(name: &str) -> Self {
        Self::ALL.into_iter().find(|range| range.name() == name).unwrap_or(Self::Day)
    }

    /// Returns its name, as used in addresses.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Day => "24h",
            Self::Month => "30d",
            Self::Year => "1y",
        }
    }

    /// Returns its name for people.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Day => "24 hours",
            Self::Month => "30 days",
            Self::Year => "1 year",
        }
    }

    /// Returns the length of a bar in hours, and the number of bars.
    pub(crate) fn bars(self) -> (u32, usize) {
        match self {
            Self::Day => (1, 24),
            Self::Month => (24, 30),
            Self::Year => (7 * 24, 52),
        }
    }

    /// Returns the number of bars from one label of the axis to the next.
    fn label_every(self) -> usize {
        match self {
            Self::Day | Self::Month => 6,
            Self::Year => 13,
        }
    }

    /// Returns the number of labels of the axis.
    pub(crate) fn labels(self) -> usize {
        self.bars().1 / self.label_every()
    }

    /// Returns the links to all ranges, this one as the current one.
    pub(crate) fn links(self, address: impl Fn(Self) -> String) -> Markup {
        html! {
            nav.ranges aria-label="Time that the chart covers" {
                @for choice in Self::ALL {
                    a href=(address(choice)) aria-current=[(choice == self).then_some("true")] { (choice.label()) }
                }
            }
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Day => "Hour",
            Self::Month => "Day",
            Self::Year => "Week from",
        }
    }

    /// Returns a time as a label of the axis.
    pub(crate) fn axis_label(self, begin: &str) -> String {
        const MONTHS: [&str; 12] =
            ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        if self == Self::Day {
            return begin.get(11..16).unwrap_or_default().to_owned();
        }
        let month = begin.get(5..7).and_then(|month| month.parse::<usize>().ok()).unwrap_or(1);
        let day = begin.get(8..10).unwrap_or_default().trim_start_matches('0');
        format!("{day} {}", MONTHS.get(month - 1).unwrap_or(&""))
    }

    fn row_label(self, begin: &str) -> String {
        let end = if self == Self::Day { 16 } else { 10 };
        begin.get(..end).unwrap_or_default().replace('T', " ")
    }
}

/// Draws the changes of a range as stacked bars, with axes, a legend, and all figures as a table.
pub(crate) fn activity(range: ChartRange, now: DateTime, counts: &[ChangeCounts]) -> Markup {
    let begins: Vec<_> = (0..counts.len()).map(|bar| begin(range, now, counts.len(), bar)).collect();
    let top = nice_top(counts.iter().map(ChangeCounts::total).max().unwrap_or(0));
    let sum = |kind: fn(&ChangeCounts) -> u64| counts.iter().map(kind).sum::<u64>();
    let sums = [
        ("created", sum(|counts| counts.created)),
        ("updated", sum(|counts| counts.updated)),
        ("deleted", sum(|counts| counts.deleted)),
    ];
    let said: Vec<_> = sums.iter().map(|(kind, number)| format!("{} {kind}", count(*number))).collect();
    let said = format!("Changes in the last {}: {}", range.label(), said.join(", "));
    html! {
        figure.chart {
            figcaption {
                ul.legend { @for (kind, number) in &sums { li class=(kind) { (count(*number)) " " (kind) } } }
            }
            div.plot {
                div.y aria-hidden="true" { @for tick in ticks(top) { span { (count(tick)) } } }
                svg viewBox=(format!("0 0 {} {HEIGHT}", counts.len() as u64 * SLOT)) preserveAspectRatio="none" role="img" aria-label=(said) {
                    @for tick in ticks(top) {
                        @let y = HEIGHT - tick * HEIGHT / top;
                        line x1="0" x2=(counts.len() as u64 * SLOT) y1=(y) y2=(y) vector-effect="non-scaling-stroke" {}
                    }
                    @for (bar, counts) in counts.iter().enumerate() {
                        (stack(bar as u64 * SLOT, counts, top, &range.row_label(&begins[bar])))
                    }
                }
                div class=(format!("x of-{}", range.labels())) aria-hidden="true" {
                    @for begin in begins.iter().step_by(range.label_every()) { span { (range.axis_label(begin)) } }
                }
            }
            (figures(range, &begins, counts))
        }
    }
}

/// Shows the figures of a chart as a table, the newest first.
fn figures(range: ChartRange, begins: &[String], counts: &[ChangeCounts]) -> Markup {
    html! {
        details {
            summary { "These figures as a table" }
            div.scroll tabindex="0" role="region" aria-label="Figures of the chart" {
                table {
                    thead {
                        tr {
                            th scope="col" { (range.unit()) }
                            @for kind in ["created", "updated", "deleted"] { th.figure scope="col" { (kind) } }
                        }
                    }
                    tbody {
                        @for (begin, counts) in begins.iter().zip(counts).rev() {
                            tr {
                                th scope="row" { (range.row_label(begin)) }
                                @for number in [counts.created, counts.updated, counts.deleted] {
                                    td.figure { (count(number)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn stack(x: u64, counts: &ChangeCounts, top: u64, label: &str) -> Markup {
    let parts = [("created", counts.created), ("updated", counts.updated), ("deleted", counts.deleted)];
    let heights = parts.map(|(kind, number)| (kind, number, (number * HEIGHT).div_ceil(top)));
    let tops = heights.iter().scan(0, |below, (_, _, height)| {
        *below += height;
        Some(HEIGHT.saturating_sub(*below))
    });
    html! {
        @for ((kind, number, height), y) in heights.iter().zip(tops).filter(|((_, number, _), _)| *number > 0) {
            rect class=(kind) x=(x + 1) y=(y) width=(SLOT - 2) height=(height) {
                title { (label) ": " (count(*number)) " " (kind) }
            }
        }
    }
}

/// Returns the time at which a bar begins. Bars begin at multiples of their length since 1970, as the counts of the
/// catalogue do.
fn begin(range: ChartRange, now: DateTime, bars: usize, bar: usize) -> String {
    let seconds = i64::from(range.bars().0) * 3_600;
    let last = now.unix_micros().div_euclid(1_000_000).div_euclid(seconds);
    DateTime::from_unix_seconds((last + 1 - bars as i64 + bar as i64) * seconds).to_string()
}

/// Returns the value at the top of the axis: a round number not below the highest bar, and even (or 1), so that its
/// half is an integer.
fn nice_top(highest: u64) -> u64 {
    let mut power = 1;
    loop {
        if let Some(step) = [1, 2, 4, 6, 8].into_iter().find(|step| step * power >= highest) {
            return step * power;
        }
        power *= 10;
    }
}

/// Returns the values at the axis, the highest first.
fn ticks(top: u64) -> Vec<u64> {
    if top.is_multiple_of(2) { vec![top, top / 2, 0] } else { vec![top, 0] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_of_the_axis_is_round_and_never_below_the_highest_bar() {
        for (highest, top) in [(0, 1), (1, 1), (3, 4), (7, 8), (9, 10), (11, 20), (61, 80), (4_213, 6_000)] {
            assert_eq!(nice_top(highest), top, "{highest}");
        }
        assert_eq!((ticks(1), ticks(4)), (vec![1, 0], vec![4, 2, 0]));
    }

    #[test]
    fn each_bar_is_labelled_with_the_time_at_which_it_begins() {
        let now = DateTime::parse("2026-11-22T12:34:56Z").unwrap();
        assert_eq!(begin(ChartRange::Day, now, 24, 23).get(..16), Some("2026-11-22T12:00"));
        assert_eq!(begin(ChartRange::Day, now, 24, 0).get(..16), Some("2026-11-21T13:00"));
        assert_eq!(begin(ChartRange::Month, now, 30, 29).get(..10), Some("2026-11-22"));
        assert_eq!(ChartRange::Month.axis_label("2026-11-02T00:00:00Z"), "2 Nov");
        assert_eq!(ChartRange::Day.axis_label("2026-11-02T07:00:00Z"), "07:00");
    }

    #[test]
    fn bars_are_as_high_as_their_share_of_the_axis() {
        let mut counts = [ChangeCounts::default(); 24];
        (counts[3].created, counts[3].deleted) = (5, 5);
        let now = DateTime::parse("2026-11-22T12:34:56Z").unwrap();
        let chart = activity(ChartRange::Day, now, &counts).into_string();
        for part in ["x=\"31\" y=\"500\"", "x=\"31\" y=\"0\"", "height=\"500\"", "5 created", "13:00"] {
            assert!(chart.contains(part), "{part}: {chart}");
        }
    }
}
