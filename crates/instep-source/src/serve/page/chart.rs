//! Charts as SVG. PURE.

use maud::{Markup, html};

const WIDTH: u64 = 720;
const HEIGHT: u64 = 120;

/// Bars side by side, each with its label; the highest one fills the height.
pub(super) fn bars(title: &str, bars: &[(String, u64)]) -> Markup {
    let highest = bars.iter().map(|(_, value)| *value).max().unwrap_or(0).max(1);
    let slot = WIDTH / (bars.len() as u64).max(1);
    let (first, last) = (bars.first(), bars.last());
    html! {
        figure {
            figcaption { (title) }
            svg viewBox=(format!("0 0 {WIDTH} {}", HEIGHT + 20)) role="img" aria-label=(title) {
                @for (place, (label, value)) in (0_u64..).zip(bars) {
                    @let height = (value * HEIGHT).div_ceil(highest);
                    rect x=(place * slot) y=(HEIGHT - height) width=(slot.saturating_sub(1).max(1)) height=(height) fill="#2563eb" {
                        title { (label) ": " (value) }
                    }
                }
                line x1="0" y1=(HEIGHT) x2=(WIDTH) y2=(HEIGHT) stroke="currentColor" {}
                @if let Some((label, _)) = first { text x="0" y=(HEIGHT + 15) font-size="12" fill="currentColor" { (label) } }
                @if let Some((label, _)) = last {
                    text x=(WIDTH) y=(HEIGHT + 15) font-size="12" fill="currentColor" text-anchor="end" { (label) }
                }
            }
        }
    }
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
}
