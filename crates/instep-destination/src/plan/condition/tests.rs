//! Conditions on metadata records, as operators write them.

use super::*;

const JSON: &[u8] =
    br#"{"year": 2021, "title": "On rings and more", "subject": ["algebra", "physics"], "by": {"name": "E. Noether"}, "none": null}"#;
const XML: &[u8] = b"<?xml version='1.0'?><oai:dc xmlns:oai='o' xmlns:dc='d'>\
    <dc:title lang='en'>On rings &amp; more</dc:title><dc:date>2021</dc:date>\
    <dc:subject>algebra</dc:subject><dc:subject><![CDATA[physics]]></dc:subject><by><name>E. Noether</name></by></oai:dc>";

#[test]
fn json_is_tested_by_pointer() {
    for (text, expected) in [
        ("/year = 2021", true),
        ("/year=2021.0", true),
        ("/year > 999", true),
        ("/year < 2021", false),
        ("year >= 2021 and /title ~ ' and '", true),
        ("/subject = physics", true),
        ("/subject != physics", false),
        ("/subject/0 = 'algebra'", true),
        ("/by/name ~ Noether", true),
        ("/none", false),
        ("/missing != 1", false),
        ("/title", true),
    ] {
        assert_eq!(text.parse::<Condition>().unwrap().holds(JSON), expected, "{text}");
    }
}

#[test]
fn o521_an_apostrophe_in_a_value_hides_no_further_test() {
    let record = br#"{"creator": "Flann O'Brien", "year": 1939}"#;
    for (text, expected) in [
        ("creator ~ O'Brien and year > 1950", false),
        ("creator ~ O'Brien and year > 1930", true),
        ("creator ~ \"O'Brien\" and year = '1939'", true),
        ("creator = \"Flann O'Brien\"", true),
    ] {
        assert_eq!(text.parse::<Condition>().unwrap().holds(record), expected, "{text}");
    }
    assert!("creator ~ 'Flann and year > 1930".parse::<Condition>().is_err());
}

#[test]
fn xml_is_tested_by_path() {
    for (text, expected) in [
        ("title = 'On rings & more'", true),
        ("dc:title ~ rings", true),
        ("/dc/title", true),
        ("/title", false),
        ("//title", true),
        ("title/@lang = en", true),
        ("date >= 2020 and subject = physics", true),
        ("subject != algebra", false),
        ("by/name = \"E. Noether\"", true),
        ("*/name", true),
        ("/dc/name", false),
    ] {
        assert_eq!(text.parse::<Condition>().unwrap().holds(XML), expected, "{text}");
    }
}

#[test]
fn a_record_that_is_neither_passes_no_test() {
    for record in
        [&b""[..], b"plain text", b"<a><b></a>", b"<!DOCTYPE a [<!ENTITY b 'x'>]><a>&b;</a>", b"<a>"]
    {
        assert!(!"a".parse::<Condition>().unwrap().holds(record), "{}", String::from_utf8_lossy(record));
    }
}

#[test]
fn what_is_no_test_is_said() {
    for text in ["", "= 3", "two words", "/a = 1 and "] {
        assert!(text.parse::<Condition>().is_err(), "{text:?}");
    }
}
