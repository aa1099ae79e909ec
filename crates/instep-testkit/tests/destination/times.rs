//! Times as Sources write them (D38): only those of the Source are compared with each other.

use crate::support::Copy;

/// Writes each `datetime` of the Change List anew.
fn with_times(copy: &Copy, anew: impl Fn(&str) -> String + Send + 'static) {
    copy.source.rewrite("changelist-000001.xml", move |text| {
        let mut parts = text.split("datetime=\"");
        let head = parts.next().unwrap_or_default().to_owned();
        parts.fold(head, |text, part| {
            let (time, rest) = part.split_once('"').unwrap_or_default();
            format!("{text}datetime=\"{}\"{rest}", anew(time))
        })
    });
}

#[test]
fn d38_a_second_change_in_the_same_instant_is_applied() {
    let copy = Copy::of_three();
    with_times(&copy, |_| "2026-01-01T01:00:00Z".to_owned());
    copy.sync();
    copy.source.put("a.txt", "first");
    copy.sync();
    copy.source.put("b.txt", "second, at the same time");
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn d38_a_time_far_in_the_future_hides_no_later_change() {
    let copy = Copy::of_three();
    let first = std::sync::OnceLock::new();
    with_times(&copy, move |time| match first.get_or_init(|| time.to_owned()) == time {
        true => "2126-01-01T00:00:00Z".to_owned(),
        false => time.to_owned(),
    });
    copy.sync();
    copy.source.put("a.txt", "by a clock that is a century ahead");
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.put("b.txt", "by the right clock");
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
    copy.source.rotate();
    copy.source.put("d/c.txt", "in the next list");
    let run = copy.sync();
    assert_eq!(run.exit_code(), 0, "{:?}", run.heard);
    assert_eq!(copy.differences(), [""; 0]);
}

#[test]
fn d38_times_in_any_zone_and_of_any_precision_are_compared_as_instants() {
    for anew in [
        |time: &str| time.replace('Z', "+00:00"),
        |time: &str| time.replace("T00:", "T14:").replace('Z', "+14:00"),
        |time: &str| time.split('T').next().unwrap_or_default().to_owned(),
    ] {
        let copy = Copy::of_three();
        with_times(&copy, anew);
        copy.sync();
        for text in ["first", "second, maybe on the same day"] {
            copy.source.put("a.txt", text);
            assert_eq!(copy.sync().exit_code(), 0, "{}", anew("2026-01-01T00:00:00Z"));
            assert_eq!(copy.differences(), [""; 0], "{}", anew("2026-01-01T00:00:00Z"));
        }
    }
}
