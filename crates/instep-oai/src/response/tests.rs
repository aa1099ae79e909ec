//! Shapes of responses, right and wrong.

use super::*;

const RECORDS: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
 <responseDate>2026-01-31T12:00:00Z</responseDate><request verb="ListRecords">http://x/oai</request>
 <ListRecords>
  <record><header><identifier>oai:x:1</identifier><datestamp>2026-01-01</datestamp><setSpec>a:b</setSpec></header>
   <metadata><oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/"
     xsi:schemaLocation="o s"><dc:title>One &amp; only</dc:title></oai_dc:dc></metadata></record>
  <record><header status="deleted"><identifier>oai:x:2</identifier><datestamp>2026-01-02</datestamp></header></record>
  <record><header><identifier>oai:x:3</identifier><datestamp>2026-01-03</datestamp></header>
   <metadata><record xmlns="http://www.loc.gov/MARC21/slim"><leader>x</leader></record></metadata>
   <about><p:provenance xmlns:p="urn:p"/></about><about>second</about></record>
  <resumptionToken cursor="0" completeListSize="9"> next/1 </resumptionToken>
 </ListRecords>
</OAI-PMH>"#;

fn identifiers(response: &OaiResponse) -> Vec<&str> {
    response.records.iter().map(|record| record.identifier.as_str()).collect()
}

fn metadata(record: &OaiRecord) -> String {
    String::from_utf8(record.metadata.clone().unwrap()).unwrap()
}

/// Parses strictly, with an engine of namespaces: what is published must be well-formed by itself.
fn assert_well_formed(document: &str) {
    let mut reader = quick_xml::NsReader::from_str(document);
    loop {
        match reader.read_resolved_event() {
            Ok((quick_xml::name::ResolveResult::Unknown(prefix), _)) => {
                panic!("undeclared prefix {prefix:?} in {document}")
            }
            Ok((_, quick_xml::events::Event::Eof)) => return,
            Ok(_) => {}
            Err(error) => panic!("{error}: {document}"),
        }
    }
}

#[test]
fn a_list_is_read_with_deletions_sets_about_and_the_token() {
    let response = OaiResponse::parse(RECORDS).unwrap();
    assert!(response.is_whole && response.faults.is_empty(), "{:?}", response.faults);
    assert_eq!(identifiers(&response), ["oai:x:1", "oai:x:2", "oai:x:3"]);
    assert_eq!(response.token.as_deref(), Some("next/1"));
    assert_eq!(response.date, "2026-01-31T12:00:00Z");
    assert_eq!(response.records[0].sets, ["a:b"]);
    assert!(response.records[1].is_deleted && response.records[1].metadata.is_none());
    let about = String::from_utf8(response.records[2].about.clone().unwrap()).unwrap();
    assert_eq!(about.matches("<about").count(), 2);
    assert_well_formed(&about);
}

#[test]
fn a_record_takes_along_the_namespaces_that_were_declared_around_it() {
    let response = OaiResponse::parse(RECORDS).unwrap();
    let first = metadata(&response.records[0]);
    assert!(
        first.contains(r#"<oai_dc:dc xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" "#),
        "{first}"
    );
    assert!(first.contains("One &amp; only"));
    let third = metadata(&response.records[2]);
    assert!(third.contains(r#"<record xmlns="http://www.loc.gov/MARC21/slim">"#), "{third}");
    for document in [first, third] {
        assert_well_formed(&document);
    }
}

#[test]
fn prefixes_and_a_default_namespace_at_the_root_are_kept() {
    let text = r#"<o:OAI-PMH xmlns:o="http://www.openarchives.org/OAI/2.0/" xmlns='urn:"default"' xmlns:m="urn:m"><o:ListRecords>
        <o:record><o:header><o:identifier>1</o:identifier><o:datestamp>2026-01-01</o:datestamp></o:header>
        <o:metadata><m:root><plain/></m:root></o:metadata></o:record></o:ListRecords></o:OAI-PMH>"#;
    let response = OaiResponse::parse(text).unwrap();
    let document = metadata(&response.records[0]);
    assert!(document.contains(r#"<m:root xmlns:m="urn:m" xmlns="urn:&quot;default&quot;">"#), "{document}");
    assert_well_formed(&document);
}

#[test]
fn one_damaged_record_costs_itself_only_and_is_named() {
    for (damage, by) in [
        ("<leader>x</leader>", "<leader>x</laeder>"),
        ("<leader>x</leader>", "<leader x=1>x</leader>"),
        ("<leader>x</leader>", "<leader"),
        ("<leader>x</leader>", "<unknown:leader/>"),
    ] {
        let response = OaiResponse::parse(&RECORDS.replace(damage, by)).unwrap();
        assert_eq!(identifiers(&response), ["oai:x:1", "oai:x:2"], "{by}");
        let [fault] = &response.faults[..] else { panic!("{by}: {:?}", response.faults) };
        assert!(fault.is_lost && fault.record == "oai:x:3", "{fault:?}");
        assert_eq!(response.token.as_deref(), Some("next/1"), "{by}");
        assert!(response.is_whole, "{by}");
    }
    let damaged = RECORDS.replace("<dc:title>", "<dc:titel>");
    let response = OaiResponse::parse(&damaged).unwrap();
    assert_eq!(identifiers(&response), ["oai:x:2", "oai:x:3"]);
    assert_eq!(response.faults[0].record, "oai:x:1");
}

#[test]
fn o360_a_record_that_is_no_xml_is_left_out_and_what_is_beside_its_metadata_is_told() {
    for by in [
        "<1/>",
        "<a b='1'c='2'/>",
        "<a><?xml version='1.0'?></a>",
        "<a>x ]]> y</a>",
        "<a xmlns:p='u' xmlns:q='u' p:b='1' q:b='2'/>",
        "<a xmlns:p='u'><b xmlns:q='u' p:b='1' q:b='2'/></a>",
        "<p:a xmlns:p=''/>",
    ] {
        let response = OaiResponse::parse(&RECORDS.replace("<leader>x</leader>", by)).unwrap();
        assert_eq!(identifiers(&response), ["oai:x:1", "oai:x:2"], "{by}");
        assert!(response.faults[0].is_lost && response.token.is_some(), "{by}");
    }
    let two = RECORDS.replace("</metadata>", "<second/></metadata>");
    let response = OaiResponse::parse(&two).unwrap();
    assert_eq!(identifiers(&response), ["oai:x:1", "oai:x:2", "oai:x:3"]);
    assert!(!response.faults.is_empty() && response.faults.iter().all(|fault| !fault.is_lost));
}

#[test]
fn o361_an_element_that_is_closed_at_once_is_a_list_without_records() {
    for list in ["<ListRecords/>", "<ListIdentifiers/>", "<ListRecords></ListRecords>"] {
        let response = OaiResponse::parse(&format!("<OAI-PMH>{list}</OAI-PMH>")).unwrap();
        assert!(response.has_list && response.is_whole, "{list}");
    }
}

#[test]
fn characters_that_xml_does_not_have_are_replaced_and_reported() {
    for by in ["One \u{b} only", "One & only", "One &nbsp; only", "One &#12; only"] {
        let response = OaiResponse::parse(&RECORDS.replace("One &amp; only", by)).unwrap();
        let [fault] = &response.faults[..] else { panic!("{by}: {:?}", response.faults) };
        assert!(!fault.is_lost && fault.record == "oai:x:1", "{fault:?}");
        assert_eq!(response.records.len(), 3, "{by}");
        let first = response.records.iter().find(|record| record.identifier == "oai:x:1").unwrap();
        assert_well_formed(&metadata(first));
    }
}

#[test]
fn a_response_that_breaks_off_keeps_what_came_before_and_says_so() {
    for end in ["<leader>", "<resumptionToken", "</ListRecords>"] {
        let cut = &RECORDS[..RECORDS.find(end).unwrap()];
        let response = OaiResponse::parse(cut).unwrap();
        assert!(!response.is_whole, "{end}");
        assert!(identifiers(&response).starts_with(&["oai:x:1", "oai:x:2"]), "{end}");
    }
}

#[test]
fn what_is_no_response_is_called_what_it_is() {
    for (text, what) in [
        ("", "empty"),
        ("<!DOCTYPE html><html><body>Maintenance</body></html>", "web page"),
        ("<html><p>not even closed", "web page"),
        ("{\"error\": 500}", "not OAI-PMH"),
        ("<rss/>", "not OAI-PMH"),
        ("<OAI-PMX", "not OAI-PMH"),
    ] {
        let error = OaiResponse::parse(text).unwrap_err().to_string();
        assert!(error.contains(what), "{text}: {error}");
    }
    let warned = format!("<br />\n<b>Warning</b>: mysql & co<br/>\n{RECORDS}");
    assert_eq!(OaiResponse::parse(&warned).unwrap().records.len(), 3);
}

#[test]
fn errors_headers_alone_identity_and_formats_are_read() {
    let parse = |inside: &str| {
        OaiResponse::parse(&format!("<OAI-PMH><responseDate>d</responseDate>{inside}</OAI-PMH>")).unwrap()
    };
    let errors = parse(r#"<error code="noRecordsMatch">none</error><error code="badArgument"/>"#).errors;
    let codes: Vec<_> = errors.iter().map(|error| error.code.as_str()).collect();
    assert_eq!(codes, ["noRecordsMatch", "badArgument"]);
    let headers = parse(
        "<ListIdentifiers><header><identifier>1</identifier><datestamp>d</datestamp></header>\
         <header status='deleted'><identifier>2</identifier></header><resumptionToken/></ListIdentifiers>",
    );
    assert_eq!(identifiers(&headers), ["1", "2"]);
    assert!(headers.records[1].is_deleted && headers.token.is_none());
    let identity = parse(
        "<Identify><repositoryName>A &amp; B</repositoryName><granularity>YYYY-MM-DD</granularity>\
         <description><x><granularity>no</granularity></x></description></Identify>",
    );
    assert_eq!((identity.field("repositoryName"), identity.field("granularity")), ("A & B", "YYYY-MM-DD"));
    let formats = parse(
        "<ListMetadataFormats><metadataFormat><metadataPrefix>oai_dc</metadataPrefix><schema>s</schema>\
         </metadataFormat><metadataFormat><metadataPrefix>mods</metadataPrefix></metadataFormat></ListMetadataFormats>",
    );
    assert_eq!(formats.formats, ["oai_dc", "mods"]);
}

#[test]
fn o880_a_response_of_tags_without_an_end_is_read_in_reasonable_time() {
    let begin = "<OAI-PMH xmlns=\"http://www.openarchives.org/OAI/2.0/\"><ListRecords><record><header><identifier>a\
                 </identifier><datestamp>2026-01-01</datestamp></header></record>";
    for damage in
        ["<".repeat(300_000), "<record ".repeat(30_000), "<record><header><identifier>".repeat(20_000)]
    {
        let response = OaiResponse::parse(&format!("{begin}{damage}")).unwrap();
        assert_eq!(identifiers(&response), ["a"]);
        assert!(!response.is_whole);
    }
}

#[test]
fn o881_a_long_declaration_is_not_copied_into_each_record() {
    let read = |length: usize| {
        let long = "u".repeat(length);
        let text = format!(
            "<OAI-PMH xmlns=\"http://www.openarchives.org/OAI/2.0/\" xmlns:a=\"{long}\"><ListRecords><record><header>\
             <identifier>b</identifier><datestamp>2026-01-01</datestamp></header><metadata><a:x/></metadata></record>\
             </ListRecords></OAI-PMH>"
        );
        OaiResponse::parse(&text).unwrap()
    };
    assert_eq!(identifiers(&read(60 << 10)), ["b"]);
    let response = read(70 << 10);
    assert!(response.records.is_empty() && response.is_whole, "{:?}", response.faults);
    assert!(response.faults[0].what.contains("more than 64 KiB"), "{:?}", response.faults);
}
