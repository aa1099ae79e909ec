//! Documents of the drafts before 1.1.

use resourcesync::{
    Capability, Dialect, Document, ReadError, ReadOptions, SyntaxErrorKind, document::ChangeList,
};

use super::{NINE, document, fixture, list, read, time, url};

#[test]
fn trap_1_the_draft_0_9_reads_as_1_1() {
    let head = format!(
        "<rs:ln rel=\"resourcesync\" href=\"http://example.com/caps.xml\"/>\
         <rs:ln rel=\"up\" href=\"http://example.com/index.xml\"/><rs:md capability=\"resourcelist\" from=\"{NINE}\"/>"
    );
    let (header, _, rules) = read(&list(&head, ""));
    assert_eq!(header.dialect, Dialect::V0_9);
    assert_eq!(header.up().unwrap().as_str(), "http://example.com/caps.xml");
    assert_eq!(header.index().unwrap().as_str(), "http://example.com/index.xml");
    assert_eq!(header.metadata.unwrap().at, Some(time(NINE)));
    assert!(rules.iter().all(|rule| *rule == "DIA-3") && rules.len() == 3);
    let description =
        list("<rs:md capability=\"resourcesync\"/>", &url("c.xml", "<rs:md capability=\"capabilitylist\"/>"));
    assert!(matches!(
        Document::read(description.as_bytes(), ReadOptions::new()),
        Ok(Document::SourceDescription(_))
    ));
}

#[test]
fn dia_3_until_of_the_draft_0_9_closes_nothing() {
    let until = format!("from=\"{NINE}\" until=\"2013-01-03T10:00:00Z\"");
    let closed = |rel: &str| {
        let head = format!(
            "<rs:ln rel=\"{rel}\" href=\"http://example.com/c\"/><rs:md capability=\"changelist\" {until}/>"
        );
        read(&list(&head, "")).0.is_closed()
    };
    assert!(closed("up") && !closed("resourcesync"));
}

#[test]
fn dia_2_the_drafts_before_0_9_read_as_1_1() {
    let (header, entries, _) = read(std::str::from_utf8(&fixture("dlib-2013/figure_04.xml")).unwrap());
    assert_eq!(
        (header.dialect, header.capability()),
        (Dialect::January2013, Some(&Capability::ResourceList))
    );
    assert_eq!(header.metadata.unwrap().at, Some(time("2012-10-31T09:00:00Z")));
    assert!(entries[0].metadata.other.iter().any(|other| &*other.name == "etag"));
    let changes = ChangeList::read(&fixture("dlib-2013/figure_06.xml")[..], ReadOptions::new()).unwrap();
    assert!(!changes.is_closed() && changes.change_times(None).newest_first);
    let order: Vec<_> = changes.changes().map(|entry| entry.loc.as_str()).collect();
    assert_eq!(order.first(), Some(&"http://example.com/res4.png"));
    let draft = document(
        "sitemapindex",
        &format!(
            "<rs:ln rel=\"resourcesync\" href=\"http://example.com/c\"/><rs:md capability=\"resourcedump\" modified=\"{NINE}\"/>"
        ),
        "",
    );
    let (header, ..) = read(&draft);
    assert_eq!((header.dialect, header.up().is_some()), (Dialect::V0_5, true));
    assert!(!header.dialect.orders_members());
    let sets =
        document("sitemapindex", &format!("<rs:md capability=\"capabilitylist\" modified=\"{NINE}\"/>"), "");
    assert!(read(&sets).0.lists_capability_lists());
}

#[test]
fn dia_10_rejected_serializations_are_refused_by_name() {
    for (figure, name) in [("09", "Atom"), ("10", "Atom"), ("11", "resync")] {
        let bytes = fixture(&format!("dlib-2013/figure_{figure}.xml"));
        let error = Document::read(&bytes[..], ReadOptions::new()).unwrap_err();
        let ReadError::Syntax(error) = error else { panic!("{error}") };
        assert!(
            matches!(error.kind, SyntaxErrorKind::RejectedSerialization(_))
                && error.to_string().contains(name)
        );
    }
}
