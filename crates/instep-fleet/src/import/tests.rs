//! Lists in each form, and lines that are no Sources.

use super::*;

fn read(text: &str, format: ImportFormat) -> Vec<(Option<String>, String)> {
    let list = import(text, format).unwrap();
    assert!(list.faults.is_empty(), "{:?}", list.faults);
    list.sources.into_iter().map(|source| (source.name, source.url)).collect()
}

#[test]
fn sources_are_read_from_each_form() {
    let (a, b) = ("https://a.example/?x=1&y=2".to_owned(), "http://b.example/rs".to_owned());
    let named = vec![(Some("A & B".to_owned()), a.clone()), (None, b.clone())];
    let opml = "<?xml version='1.0'?>\n<opml><body><outline text='A folder'>\n\
        <outline title='other' text='A &amp; B' xmlUrl='https://a.example/?x=1&amp;y=2' htmlUrl='https://no.example/'/>\n\
        <outline url='http://b.example/rs'/></outline></body></opml>";
    assert_eq!(read(opml, ImportFormat::Opml), named);
    let csv = "\u{feff}Name;Country;URL\nA & B;de;https://a.example/?x=1&y=2\n;;\n;fr;http://b.example/rs\n";
    assert_eq!(read(csv, ImportFormat::Csv), named);
    let csv = "baseURL,name\n\"https://a.example/?x=1&y=2\",\"A & B\"\nhttp://b.example/rs\n";
    assert_eq!(read(csv, ImportFormat::Csv), named);
    let list = format!("{a}\r\n# no\n\n  {b}  \n{a}\n");
    assert_eq!(read(&list, ImportFormat::List), [(None, a), (None, b)], "and each once");
}

#[test]
fn o103_a_source_is_imported_once_in_whatever_spelling_and_never_with_its_login() {
    let text = "http://a.example\nHTTP://A.example:80/\nhttp://a.example./\nhttps://ada:secret@b.example/\n";
    let list = import(text, ImportFormat::List).unwrap();
    let urls: Vec<_> = list.sources.iter().map(|source| source.url.as_str()).collect();
    assert_eq!(urls, ["http://a.example/"]);
    let [FleetError::Import { line: 4, what }] = &list.faults[..] else { panic!("{:?}", list.faults) };
    assert!(what.contains("login") && !what.contains("secret"), "{what}");
}

#[test]
fn what_cannot_be_used_names_its_line_and_costs_itself() {
    let lists = [
        ("https://a.example/\nnonsense\nhttps://b.example/\n", ImportFormat::List, 2, 2),
        ("https://a.example/\nhttps://b.example/\u{fffd}\n", ImportFormat::List, 2, 1),
        (
            "<opml>\n<outline xmlUrl='ftp://a.example/'/>\n<outline url='http://b.example/'/></opml>",
            ImportFormat::Opml,
            2,
            1,
        ),
        ("<opml>\n<outline url='http://a.example/'/>\n<body></opml>", ImportFormat::Opml, 3, 1),
        ("<opml><outline url='http://a.example/'/>\n<outline url='ht", ImportFormat::Opml, 2, 1),
        ("<opml>\n<outline url='http://a.example/'/>\n", ImportFormat::Opml, 3, 1),
        ("url\nhttps://a.example/\nmailto:x@a.example\nhttps://b.example/\n", ImportFormat::Csv, 3, 2),
    ];
    for (text, format, at, good) in lists {
        let list = import(text, format).unwrap();
        let [FleetError::Import { line, .. }] = &list.faults[..] else { panic!("{text}: {:?}", list.faults) };
        assert_eq!((*line, list.sources.len()), (at, good), "{text}");
    }
    let Err(FleetError::Import { line: 1, .. }) = import("name,country\na,b\n", ImportFormat::Csv) else {
        panic!("no column of URLs")
    };
}

#[test]
fn o515_the_lines_of_a_text_are_counted_once() {
    let text = "a\n\nb\nc";
    let mut lines = LineCount { text, line: 1, counted: 0 };
    assert_eq!(
        [0, 1, 2, 2, 3, 5, 99].map(|place| (lines.at(place), lines.counted)),
        [(1, 0), (1, 1), (2, 2), (2, 2), (3, 3), (4, 5), (4, 6),]
    );
}

#[test]
fn the_form_shows_in_name_or_text() {
    assert_eq!(ImportFormat::of("registry.CSV", ""), ImportFormat::Csv);
    assert_eq!(ImportFormat::of("sources.txt", "https://a.example/"), ImportFormat::List);
    assert_eq!(ImportFormat::of("-", " <?xml version='1.0'?>"), ImportFormat::Opml);
}

#[test]
fn o307_rows_without_a_url_are_counted_and_a_header_is_found_behind_what_a_spreadsheet_writes() {
    let rows = "name,url\nx,\n,\ny,https://a.example/\nz\n";
    let list = import(rows, ImportFormat::Csv).unwrap();
    assert_eq!((list.sources.len(), list.without_url, list.faults.len()), (1, 2, 0));
    for before in ["sep=;\r\n", "SEP=;\n", "\n", "\r\n\r\n"] {
        let list =
            import(&format!("{before}url;name\r\nhttps://a.example/;x\r\nnonsense;y\r\n"), ImportFormat::Csv);
        let list = list.unwrap();
        assert_eq!((list.sources.len(), list.sources[0].name.as_deref()), (1, Some("x")), "{before:?}");
        let line = before.matches('\n').count() as u64 + 3;
        let [FleetError::Import { line: at, .. }] = &list.faults[..] else { panic!("{:?}", list.faults) };
        assert_eq!(*at, line, "{before:?}");
    }
}

#[test]
fn o371_rows_behind_a_quote_that_is_not_closed_are_not_lost_in_silence() {
    for (text, sources) in [
        ("url,name\nhttps://a.example/,\"x\nhttps://b.example/,y\"\nhttps://c.example/,z\n", 1),
        ("url,name\nhttps://a.example/,x\nhttps://b.example/,\"y\nhttps://c.example/,z\n", 1),
        ("name,note,url\nx,\"a,https://a.example/\ny,b,https://b.example/\n", 0),
        ("url,note\nhttps://a.example/,\"x\nhttps://b.example/,y\n", 0),
    ] {
        let list = import(text, ImportFormat::Csv).unwrap();
        assert_eq!(list.sources.len(), sources, "{text}");
        assert!(list.faults.len() == 1 || list.without_url > 0, "{text}: {:?}", list.faults);
    }
    let fine = "url,note\nhttps://a.example/,\"two\nlines\"\nhttps://b.example/,\"a \"\"b\"\"\"\n";
    let list = import(fine, ImportFormat::Csv).unwrap();
    assert_eq!((list.sources.len(), list.faults.len()), (2, 0));
}

#[test]
fn o974_the_refusal_of_a_url_with_a_login_does_not_show_it() {
    for url in ["https://me:hush@a.example/", "me:hush@a.example", "ftp://me:hush@a.example/x"] {
        let list = import(url, ImportFormat::List).unwrap();
        let fault = list.faults[0].to_string();
        assert!(fault.contains("the URL at a.example has a login") && !fault.contains("hush"), "{fault}");
    }
}

#[test]
fn o1041_a_host_outside_of_ascii_is_imported_by_its_name_in_the_domain_name_system() {
    let text = "https://b\u{fc}cher.example\nhttps://b%C3%BCcher.example/\nhttps://xn--bcher-kva.example/\n";
    assert_eq!(read(text, ImportFormat::List), [(None, "https://xn--bcher-kva.example/".to_owned())]);
}

#[test]
fn o1042_a_url_that_each_run_would_refuse_is_a_fault_of_its_line() {
    let text = "https://a.example/%C3%A9\nhttps://a.example/\u{e9}\n";
    let list = import(text, ImportFormat::List).unwrap();
    assert_eq!(list.sources.len(), 1);
    let [FleetError::Import { line: 2, what }] = &list.faults[..] else { panic!("{:?}", list.faults) };
    assert!(what.contains("write other characters percent-encoded"), "{what}");
}
