//! Rules that an answer of a server, or the place of a document, can break.

use resourcesync::{
    Entry, Metadata, Relation,
    discovery::parse_link_header,
    validate::{HttpAnswer, check_channel, check_discovered, check_page, check_source},
};

use super::{entry, expect, linked, report, uri};

pub(super) fn answers() -> Vec<&'static str> {
    let mut metadata = Metadata::new();
    (metadata.length, metadata.encoding) = (Some(5), Some("gzip".into()));
    let mut right = HttpAnswer::new(200);
    (right.content_length, right.content_encoding, right.is_zip) = (Some(5), Some("gzip".into()), Some(true));
    let mut wrong = HttpAnswer::new(200);
    (wrong.content_length, wrong.is_zip) = (Some(6), Some(false));
    let judge = |answer: &HttpAnswer, package| answer.check(&metadata, Entry::default().position, package);
    let topic = uri("topic");
    let fields = |text: &str| parse_link_header(text, &topic);
    let channel = |text: &str| check_channel(&topic, &fields(text), &Entry::new(topic.clone()));
    assert_eq!(fields("<http://h/>; rel=hub")[0].rels, [Relation::Hub]);
    vec![
        expect("ATT-11", judge(&right, None), judge(&wrong, None)),
        expect("ATT-15", judge(&right, None), judge(&wrong, None)),
        expect("RD-6", judge(&right, Some("RD-6")), judge(&wrong, Some("RD-6"))),
        expect("CD-7", judge(&right, Some("CD-7")), judge(&HttpAnswer::new(404), Some("CD-7"))),
        expect("CN-4", channel("<http://h/>; rel=hub, <topic>; rel=self"), channel("<topic>; rel=self")),
    ]
}

pub(super) fn discovery() -> Vec<&'static str> {
    let description = report(&linked("urlset", "capability=\"description\"", &[], "")).header.unwrap();
    let caps =
        report(&linked("urlset", "capability=\"capabilitylist\"", &[("up", "sd.xml")], "")).header.unwrap();
    let list = report(&linked(
        "urlset",
        "capability=\"resourcelist\" at=\"2013-01-03T09:00:00Z\"",
        &[("up", "u")],
        &entry("url", "page", "length=\"1\""),
    ));
    vec![
        expect("SD-1", check_source(true), check_source(false)),
        expect("SD-2", check_discovered(false, Some(&description)), check_discovered(false, None)),
        expect("DISC-1", check_discovered(false, Some(&description)), check_discovered(false, Some(&caps))),
        expect("DISC-7", check_discovered(true, Some(&caps)), check_discovered(true, Some(&description))),
        expect("DISC-2", check_page(&uri("page"), true, &[&list]), check_page(&uri("page"), false, &[&list])),
        expect("DISC-3", check_page(&uri("page"), true, &[&list]), check_page(&uri("other"), true, &[&list])),
    ]
}
