//! Charts as SVG. PURE.

use maud::{Markup, html};

const WIDTH: u64 = 720;
const HEIGHT: u64 = 120;

/// Bars side by side, each with its label; the highest one fills the height, and its value stands above.
pub(super) fn bars(title: &str, bars: &[(String, u64)]) -> Markup {
    let highest = bars.iter().map(|(_, value)| *value).max().unwrap_or(0);
    let slot = (WIDTH / (bars.len() as u64).max(1)).max(1);
    let (first, last) = (bars.first(), bars.last());
    let end = slot * bars.len() as u64;
    html! {
        figure {
            figcaption { (title) }
            svg viewBox=(format!("0 0 {WIDTH} {}", HEIGHT + 44)) role="img" aria-label=(title) {
                text x="0" y="14" { "at most " (highest) }
                @for (place, (label, value)) in (0_u64..).zip(bars) {
                    @let height = (value * HEIGHT).div_ceil(highest.max(1));
                    rect x=(place * slot) y=(20 + HEIGHT - height) width=(slot.saturating_sub(2).max(1)) height=(height) rx="1.5" {
                        title { (label) ": " (value) }
                    }
                }
                line x1="0" y1=(20 + HEIGHT) x2=(end) y2=(20 + HEIGHT) {}
                @if let Some((label, _)) = first { text x="0" y=(HEIGHT + 38) { (label) } }
                @if let Some((label, _)) = last.filter(|_| bars.len() > 1) {
                    text x=(end) y=(HEIGHT + 38) text-anchor="end" { (label) }
                }
            }
        }
    }
}

/// Numbers by the hour, the last one that of the hour that runs, with their labels.
pub(super) fn hours(counts: &[u64]) -> Vec<(String, u64)> {
    labelled(counts, |back| if back == 0 { "this hour".to_owned() } else { format!("{back} h ago") })
}

/// Numbers by the day, the last one that of today (UTC), with their labels.
pub(super) fn days(counts: &[u64]) -> Vec<(String, u64)> {
    labelled(counts, |back| if back == 0 { "today".to_owned() } else { format!("{back} d ago") })
}

fn labelled(counts: &[u64], label: impl Fn(usize) -> String) -> Vec<(String, u64)> {
    (0..counts.len()).rev().map(label).zip(counts.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_bar_fills_the_height_and_labels_are_text() {
        let svg =
            bars("Sizes", &[("<a>".to_owned(), 1), ("b".to_owned(), 4), ("c".to_owned(), 0)]).into_string();
        assert!(
            svg.contains("height=\"120\"") && svg.contains("height=\"30\"") && svg.contains("height=\"0\"")
        );
        assert!(!svg.contains("<a>"));
        assert!(bars("Nothing", &[]).into_string().contains("<svg"));
    }

    #[test]
    fn the_last_number_is_that_of_now() {
        let labelled = hours(&[5, 6, 7]);
        assert_eq!(labelled[0], ("2 h ago".to_owned(), 5));
        assert_eq!(labelled[2], ("this hour".to_owned(), 7));
    }
}
