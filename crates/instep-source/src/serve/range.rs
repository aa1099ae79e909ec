//! The requested part of a representation (RFC 9110 §14). PURE.

use std::ops::Range;

/// The part of a representation that a `Range` header selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RequestedRange {
    /// The complete representation: no range, an unknown unit, or several ranges, which do not justify a multipart
    /// answer (S8).
    Whole,
    /// These bytes: the answer is 206.
    Part(Range<u64>),
    /// No byte of the representation: the answer is 416.
    Unsatisfiable,
}

/// Reads the value of a `Range` header for a representation of a length.
pub(crate) fn asked(value: &str, length: u64) -> RequestedRange {
    let Some((unit, ranges)) = value.split_once('=') else { return RequestedRange::Whole };
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return RequestedRange::Whole;
    }
    // A recipient has to ignore empty elements of a list (RFC 9110 §5.6.1.2).
    let ranges = ranges.split(',').map(str::trim).filter(|range| !range.is_empty());
    let mut satisfiable = Vec::new();
    for range in ranges {
        match part(range, length) {
            Some(part) if part.is_empty() => {}
            Some(part) => satisfiable.push(part),
            None => return RequestedRange::Unsatisfiable,
        }
        if satisfiable.len() > 1 {
            return RequestedRange::Whole;
        }
    }
    match satisfiable.pop() {
        Some(part) => RequestedRange::Part(part),
        None if length == 0 => RequestedRange::Whole,
        None => RequestedRange::Unsatisfiable,
    }
}

/// Parses one range of bytes; empty if it is well-formed but selects nothing, `None` if it is malformed.
fn part(text: &str, length: u64) -> Option<Range<u64>> {
    let (first, last) = text.split_once('-')?;
    let (first, last) = (first.trim(), last.trim());
    if first.is_empty() {
        return Some(length.saturating_sub(number(last)?)..length);
    }
    let first = number(first)?;
    let end = if last.is_empty() { length } else { number(last)?.saturating_add(1).min(length) };
    Some(first..end)
}

/// Returns a decimal number; one beyond 64 bits lies after every end.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_a_thousand_bytes() {
        let table = [
            ("bytes=0-99", RequestedRange::Part(0..100)),
            ("bytes=0-0", RequestedRange::Part(0..1)),
            ("bytes=900-", RequestedRange::Part(900..1000)),
            ("bytes=900-5000", RequestedRange::Part(900..1000)),
            ("bytes=-100", RequestedRange::Part(900..1000)),
            ("bytes=-5000", RequestedRange::Part(0..1000)),
            ("bytes=0-99999999999999999999999", RequestedRange::Part(0..1000)),
            ("Bytes = 1-2", RequestedRange::Part(1..3)),
            ("bytes=0-0,5000-", RequestedRange::Part(0..1)),
            ("bytes=0-0,2-2", RequestedRange::Whole),
            ("bytes=0-999,0-999,0-999,0-999", RequestedRange::Whole),
            ("lines=0-1", RequestedRange::Whole),
            ("nonsense", RequestedRange::Whole),
            ("bytes=1000-", RequestedRange::Unsatisfiable),
            ("bytes=-0", RequestedRange::Unsatisfiable),
            ("bytes=5-2", RequestedRange::Unsatisfiable),
            ("bytes=", RequestedRange::Unsatisfiable),
            ("bytes=a-b", RequestedRange::Unsatisfiable),
            ("bytes=-", RequestedRange::Unsatisfiable),
            ("bytes=+1-2", RequestedRange::Unsatisfiable),
        ];
        for (value, expected) in table {
            assert_eq!(asked(value, 1000), expected, "{value}");
        }
    }

    #[test]
    fn o475_empty_elements_of_a_list_of_ranges_are_ignored() {
        for (value, expected) in [
            ("bytes=0-9,", RequestedRange::Part(0..10)),
            ("bytes=, ,0-9", RequestedRange::Part(0..10)),
            ("bytes=0-9,,20-29", RequestedRange::Whole),
            ("bytes=,", RequestedRange::Unsatisfiable),
        ] {
            assert_eq!(asked(value, 1000), expected, "{value}");
        }
    }

    #[test]
    fn nothing_is_unsatisfiable_in_an_empty_representation() {
        assert_eq!(asked("bytes=0-", 0), RequestedRange::Whole);
        assert_eq!(asked("bytes=-5", 0), RequestedRange::Whole);
    }
}
