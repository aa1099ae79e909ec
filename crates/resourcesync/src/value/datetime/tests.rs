//! Datetimes in the six forms, and texts that are none.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{
    DateTime,
    fields::{FORM, IN_RANGE, WITH_ZONE},
};

#[test]
fn the_six_forms_are_written_as_they_were_read() {
    for text in [
        "1997",
        "1997-07",
        "1997-07-16",
        "1997-07-16T19:20+01:00",
        "1997-07-16T19:20:30-05:30",
        "1997-07-16T19:20:30.45Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999999Z",
        "2000-02-29",
    ] {
        assert_eq!(DateTime::parse(text).map(|value| value.to_string()), Ok(text.to_owned()));
    }
}

#[test]
fn a_time_of_a_clock_has_six_fraction_digits() {
    let written = |time: SystemTime| DateTime::from(time).to_string();
    assert_eq!(written(UNIX_EPOCH + Duration::from_nanos(1_500)), "1970-01-01T00:00:00.000001Z");
    assert_eq!(written(UNIX_EPOCH - Duration::from_secs(1)), "1969-12-31T23:59:59.000000Z");
}

#[test]
fn o830_a_fraction_has_any_number_of_digits() {
    for digits in [10, 12, 13, 20, 400] {
        let text = format!("1997-07-16T19:20:30.{}Z", "1234567890".repeat(40).get(..digits).unwrap());
        let written = DateTime::parse(&text).map(|value| value.to_string());
        assert_eq!(written.as_deref(), Ok("1997-07-16T19:20:30.123456789Z"), "{text}");
    }
}

#[test]
fn att_24_an_offset_is_subtracted() {
    let local = DateTime::parse("2012-01-01T01:00:00+01:00").unwrap();
    let utc = DateTime::parse("2012-01-01T00:00:00Z").unwrap();
    assert_eq!(local.instant(), utc.instant());
}

#[test]
fn what_is_no_w3c_datetime_is_refused_with_its_reason() {
    for (text, expected) in [
        ("2013-01-03T09:00:00", WITH_ZONE),
        ("2013-01-03 09:00:00Z", FORM),
        ("2013-01-03T09:00:00z", FORM),
        ("2013-01-03T09:00:00+0000", FORM),
        ("2013-01-03T24:00:00Z", IN_RANGE),
        ("2013-01-03T09:00:60Z", IN_RANGE),
        ("2013-02-29", IN_RANGE),
        ("2013-13", IN_RANGE),
        ("13-01-03", FORM),
        ("", FORM),
        ("2013-01-03T09:00:00.Z", FORM),
        ("2013-01-03T09:00:00+99:00", IN_RANGE),
    ] {
        let error = DateTime::parse(text).unwrap_err();
        assert_eq!((&*error.text, error.expected), (text, expected));
    }
}

#[test]
fn a_day_overlaps_each_time_within_it() {
    let day = DateTime::parse("2012-05-06").unwrap();
    let within = DateTime::parse("2012-05-06T23:59:59.5Z").unwrap();
    let after = DateTime::parse("2012-05-07T00:00:00Z").unwrap();
    assert!(day.overlaps(&within) && !day.overlaps(&after));
}
