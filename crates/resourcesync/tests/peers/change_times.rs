//! Times of changes as other implementations write them.

use resourcesync::{
    Dialect,
    document::{ChangeTimes, TimeSource},
};

use super::{NINE, list, read, time, url};

fn times(entries: &str, head: &str) -> ChangeTimes {
    let head = format!("<rs:md capability=\"changelist\" from=\"2013-01-03T00:00:00Z\" {head}/>");
    let (header, entries, _) = read(&list(&head, entries));
    ChangeTimes::judge(&header, &entries, Some(time("2013-01-04T00:00:00Z")))
}

fn change(hour: u32, datetime: bool) -> String {
    let text = format!("2013-01-03T{hour:02}:00:00Z");
    if datetime {
        url("a", &format!("<rs:md change=\"updated\" datetime=\"{text}\"/>"))
    } else {
        url("a", &format!("<lastmod>{text}</lastmod><rs:md change=\"updated\"/>"))
    }
}

#[test]
fn trap_2_and_dia_4_lastmod_is_the_time_of_a_change_only_where_the_whole_list_bears_it_out() {
    let source = |entries: &str| times(entries, "").source;
    assert_eq!(source(&format!("{}{}", change(1, true), url("b", ""))), TimeSource::Datetime);
    assert_eq!(source(&format!("{}{}", change(1, false), change(2, false))), TimeSource::LastMod);
    assert_eq!(
        source(&format!("{}{}", change(1, false), url("b", "<rs:md change=\"deleted\"/>"))),
        TimeSource::Unknown
    );
    assert_eq!(
        source(&format!("{}{}{}", change(2, false), change(1, false), change(3, false))),
        TimeSource::Unknown
    );
    assert_eq!(source(&change(1, false).replace("2013-01-03", "2012-01-03")), TimeSource::Unknown);
    assert_eq!(source(&change(1, false).replace("2013-01-03", "2014-01-03")), TimeSource::Unknown);
    assert_eq!(source(""), TimeSource::Unknown);
}

#[test]
fn o983_and_time_9_a_datetime_that_cannot_be_leaves_lastmod_the_time_of_the_resource() {
    let ahead = |hour: u32| {
        let lastmod = format!("<lastmod>2013-01-03T{hour:02}:00:00Z</lastmod>");
        url("a", &format!("{lastmod}<rs:md change=\"updated\" datetime=\"2043-01-03T09:00:00Z\"/>"))
    };
    let times = times(&format!("{}{}", ahead(1), ahead(2)), "");
    assert_eq!((times.source, times.newest), (TimeSource::Datetime, None));
    assert!(!times.newest_first);
}

#[test]
fn trap_5_and_dia_5_a_descending_change_list_is_turned_round() {
    let falling = times(&format!("{}{}", change(9, false), change(3, false)), "");
    assert_eq!((falling.newest_first, falling.source), (true, TimeSource::LastMod));
    assert!(!times(&format!("{}{}", change(3, false), change(3, false)), "").newest_first);
    assert!(!times(&change(3, false), "").newest_first);
}

#[test]
fn traps_6_and_11_missing_times_and_metadata_cost_nothing() {
    let (header, entries, _) = read(&list("<rs:md capability=\"changelist\"/>", &change(1, false)));
    assert_eq!((header.metadata.unwrap().from, entries.len()), (None, 1));
    let (header, entries, rules) = read(&list("", &url("a", "")));
    assert_eq!((header.dialect, entries.len(), rules), (Dialect::PlainSitemap, 1, vec!["DIA-7"]));
}

#[test]
fn trap_13_a_bad_time_costs_that_time() {
    for (text, kept) in [
        ("2013-01-03T10:00:00+01:00", true),
        ("2013-01-03", true),
        ("2013", true),
        ("2013-01-03T09:00:00.123456789012Z", true),
        ("2013-01-03T09:00:00", false),
        ("2013-01-03T09:00:00+0000", false),
        ("2013-01-03 09:00:00Z", false),
    ] {
        let (_, entries, _) = read(&list("", &url("a", &format!("<lastmod>{text}</lastmod>"))));
        assert_eq!(entries[0].lastmod.is_some(), kept, "{text}");
    }
    assert_eq!(time("2013-01-03T10:00:00+01:00").instant(), time(NINE).instant());
}
