//! Tests of the values of options: people's spellings are read, and a wrong value is refused with advice.

use std::time::Duration;

use super::{bandwidth, duration, media_type, percent, rate, size, url};

#[test]
fn values_are_read_as_people_write_them() {
    assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
    assert_eq!(duration("1h30m"), Ok(Duration::from_secs(5_400)));
    assert_eq!(duration("7d"), Ok(Duration::from_secs(7 * 24 * 60 * 60)));
    assert_eq!(size("10MiB"), Ok(10 << 20));
    assert_eq!(size("1.5k"), Ok(1_536));
    assert_eq!(size("1GB"), Ok(1_000_000_000));
    assert_eq!(rate("120/m"), Ok(2.0));
    assert_eq!(percent("50%"), Ok(50));
    assert_eq!(url("example.org").map(|uri| uri.to_string()), Ok("https://example.org/".into()));
}

#[test]
fn o313_a_login_in_a_url_is_answered_with_options_that_each_command_has() {
    let refused = url("https://ada:secret@example.org/").unwrap_err();
    assert!(refused.contains("--netrc-file") && refused.contains("--bearer-file"), "{refused}");
    assert!(!refused.contains("secret"), "{refused}");
}

#[test]
fn o974_a_login_before_a_host_without_a_scheme_is_refused_too() {
    for text in ["user:secret@example.org", "user@example.org/a", "https:user:secret@example.org/"] {
        let refused = url(text).unwrap_err();
        assert!(refused.contains("--netrc-file") && !refused.contains("secret"), "{text}: {refused}");
    }
    for text in
        ["example.org/@ada", "example.org?mail=ada@a.example", "https://example.org?mail=ada@a.example"]
    {
        assert!(url(text).is_ok(), "{text}");
    }
}

#[test]
fn o69_a_rate_is_finite_and_at_least_one_a_day() {
    assert_eq!(rate("24/h").map(|rate| rate * 3_600.0), Ok(24.0));
    assert!(rate("0.1/h").is_ok());
    for text in ["inf", "NaN", "1e-300/s", "0.01/h", "0", "-1/s"] {
        assert!(rate(text).is_err(), "{text}");
    }
}

#[test]
fn o758_a_small_limit_of_bandwidth_needs_its_unit() {
    for (text, limit) in [("0", 0), ("500KiB", 500 << 10), ("500B", 500), ("5000000", 5_000_000)] {
        assert_eq!(bandwidth(text), Ok(limit));
    }
    assert!(bandwidth("500").unwrap_err().contains("500KiB"));
    assert!(bandwidth("fast").is_err());
}

#[test]
fn o759_a_word_that_matches_no_media_type_is_refused() {
    for text in ["text/plain", "text/*", "application/vnd.x+json", "*"] {
        assert_eq!(media_type(text).as_deref(), Ok(text));
    }
    for text in ["text", "pdf", "text/html; charset=utf-8", "text/html,text/plain", ""] {
        assert!(media_type(text).is_err(), "{text}");
    }
}

#[test]
fn o214_a_host_with_letters_of_any_language_is_its_ascii_form() {
    for (text, expected) in [
        ("http://b\u{fc}cher.example:8080/a?b", "http://xn--bcher-kva.example:8080/a?b"),
        ("B\u{dc}CHER.example", "https://xn--bcher-kva.example/"),
        ("https://\u{4f8b}\u{3048}.jp/%C3%BC", "https://xn--r8jz45g.jp/%C3%BC"),
    ] {
        assert_eq!(url(text).map(|uri| uri.to_string()), Ok(expected.to_owned()), "{text}");
    }
}

#[test]
fn p4_a_url_is_not_a_folder() {
    assert!(super::path("s3://bucket/x").unwrap_err().contains("is not a folder"));
    assert!(super::path("https://example.org/").unwrap_err().contains("URL (https)"));
    assert_eq!(super::path("./out"), Ok("./out".into()));
}

#[test]
fn a_wrong_value_says_what_to_write() {
    let errors = [
        duration("fast").unwrap_err(),
        duration("1.5d").unwrap_err(),
        size("10 miles").unwrap_err(),
        rate("0/s").unwrap_err(),
        percent("101%").unwrap_err(),
    ];
    for error in errors {
        assert!(error.contains("write"), "{error}");
    }
    assert!(url("ftp://example.org/").is_err());
    assert!(url("./copy").unwrap_err().contains("is a path"));
    let login = url("https://user:secret@example.org/").unwrap_err();
    assert!(login.contains("--netrc") && !login.contains("secret"), "{login}");
    assert!(url("https://example.org/@user").is_ok());
}

#[test]
fn r2_a_map_whose_uri_has_a_query_is_split_at_the_last_equals_sign() {
    for (text, uri, path) in [
        ("http://h/a=dir", "http://h/a", "dir"),
        ("http://h/a=dir/x=1", "http://h/a", "dir/x=1"),
        ("http://h/get?id=7=data/7", "http://h/get?id=7", "data/7"),
        ("http://h/get?a=1&b=2=", "http://h/get?a=1&b=2", ""),
    ] {
        assert_eq!(super::mapping(text), Ok((uri.to_owned(), path.to_owned())), "{text}");
    }
    assert!(super::mapping("http://h/a").is_err());
}

#[test]
fn o226_a_port_beyond_65535_is_refused_and_an_empty_port_is_the_usual_one() {
    assert!(url("http://h:65536/").unwrap_err().contains("does not exist"));
    assert!(url("http://h:65535/").is_ok() && url("http://h:/").is_ok());
}

#[test]
fn o215_a_map_that_does_not_begin_with_a_uri_is_refused() {
    for text in ["papers/=p", "=p", "h/a=p"] {
        assert!(super::mapping(text).unwrap_err().contains("not the beginning of a URI"), "{text}");
    }
}
