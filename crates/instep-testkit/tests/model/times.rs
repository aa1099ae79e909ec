//! Writes times in the format of W3C, with code of this test.

use crate::style::Precision;

const SECOND: i64 = 1_000_000;

/// Returns a time in the format of W3C, cut to a precision.
pub(crate) fn written(time: i64, precision: Precision) -> String {
    let (day, rest) = (time.div_euclid(86_400 * SECOND), time.rem_euclid(86_400 * SECOND));
    // Days since 1970 to a date of the Gregorian calendar (Hinnant, "chrono-compatible low-level date algorithms").
    let shifted = day + 719_468;
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let date = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let date = format!("{year:04}-{month:02}-{date:02}");
    let (seconds, micros) = (rest / SECOND, rest % SECOND);
    let clock = format!("{:02}:{:02}:{:02}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match precision {
        Precision::Micros => format!("{date}T{clock}.{micros:06}Z"),
        Precision::Seconds => format!("{date}T{clock}Z"),
        Precision::Days => date,
    }
}

/// Returns a time in one of several zones, with as few digits as it needs.
pub(crate) fn written_in_a_zone(time: i64, precision: Precision, choice: u64) -> String {
    let (minutes, zone) = [(0, "Z"), (0, "+00:00"), (330, "+05:30"), (-480, "-08:00"), (840, "+14:00")]
        [usize::try_from(choice % 5).unwrap()];
    let text = written(time + minutes * 60 * SECOND, precision);
    match precision {
        Precision::Days => written(time, precision),
        Precision::Seconds => text.replace('Z', zone),
        Precision::Micros => {
            let text = text.trim_end_matches('Z').trim_end_matches('0').trim_end_matches('.');
            format!("{text}{zone}")
        }
    }
}
