//! The proleptic Gregorian calendar.

/// Returns the seconds from 1970-01-01 to a date; `None` if the calendar has no such date.
pub(super) fn date_seconds(year: u32, month: u32, day: u32) -> Option<i64> {
    let leap = (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    let days = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => return None,
    };
    let seconds = || days_from_civil(i64::from(year), i64::from(month), i64::from(day)) * 86_400;
    (1..=days).contains(&day).then(seconds)
}

/// Returns the days since 1970-01-01 of a date of the proleptic Gregorian calendar. Years are counted from 1 March in
/// eras of 400, so that the leap day comes last.
pub(super) fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// Returns year, month and day of the date that is this many days after 1970-01-01.
pub(super) fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    // Less than the days of an era, so that 32 bits suffice, whose division is faster.
    let day_of_era = days.rem_euclid(146_097) as u32;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (era * 400 + i64::from(year_of_era) + i64::from(month <= 2), month, day)
}
