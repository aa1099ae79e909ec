//! Draws the difference between two texts, line by line. PURE.

use std::time::Duration;

use maud::{Markup, html};
use similar::{ChangeTag, TextDiff};

/// The number of unchanged lines around a change.
const CONTEXT: usize = 3;
/// The most lines that are shown.
const MOST_LINES: usize = 400;
/// The time for finding the shortest difference. When it is over, a longer one is shown.
const TIME: Duration = Duration::from_millis(100);

/// Returns the lines that differ, with a few around them.
pub(super) fn difference(before: &str, after: &str) -> Markup {
    let difference = TextDiff::configure().timeout(TIME).diff_lines(before, after);
    let groups = difference.grouped_ops(CONTEXT);
    let mut lines = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        if number > 0 {
            lines.push(("gap", " ", "\u{2026}\n"));
        }
        for change in group.iter().flat_map(|operation| difference.iter_changes(operation)) {
            let (class, sign) = match change.tag() {
                ChangeTag::Insert => ("created", "+"),
                ChangeTag::Delete => ("deleted", "-"),
                ChangeTag::Equal => ("same", " "),
            };
            lines.push((class, sign, change.value()));
        }
    }
    let is_cut = lines.len() > MOST_LINES;
    html! {
        pre.difference tabindex="0" role="region" aria-label="Difference" {
            @for (class, sign, line) in lines.iter().take(MOST_LINES) {
                span class=(class) { (sign) " " (line.trim_end_matches(['\r', '\n'])) "\n" }
            }
        }
        @if is_cut { p.soft { "The first " (MOST_LINES) " lines." } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_lines_are_shown_with_their_sign_and_their_markup_is_text() {
        let shown = difference("one\ntwo\nthree\n", "one\n<b>2</b>\nthree\n").into_string();
        assert!(shown.contains("<span class=\"deleted\">- two\n"), "{shown}");
        assert!(shown.contains("<span class=\"created\">+ &lt;b&gt;2&lt;/b&gt;\n"), "{shown}");
        assert!(shown.contains("<span class=\"same\">  one\n"), "{shown}");
    }
}
