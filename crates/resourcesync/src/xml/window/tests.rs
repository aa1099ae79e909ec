//! The pieces of the window, compared with those of the XML library.

use std::io::{BufReader, Read};

use proptest::prelude::*;
use quick_xml::{Error, Reader, events::Event};

use super::{DocumentWindow, Limits, Stop, XmlPiece};

/// The pieces of a document with their content, and the end of reading.
type Seen = (Vec<(XmlPiece, String)>, &'static str);

fn pieces(source: impl std::io::BufRead) -> Seen {
    let mut window = DocumentWindow::new(source, Limits::default());
    let mut pieces = Vec::new();
    loop {
        let (piece, range) = match window.next() {
            Ok(Some(found)) => found,
            Ok(None) => return (pieces, "end"),
            Err(Stop::Unclosed) => return (pieces, "unclosed"),
            Err(Stop::Reference) => return (pieces, "reference"),
            Err(stop) => panic!("{stop:?}"),
        };
        let text = &window.text()[range];
        let inner = match piece {
            XmlPiece::Doctype => return (pieces, "doctype"),
            XmlPiece::Blank | XmlPiece::Text => text,
            XmlPiece::Reference => &text[1..text.len() - 1],
            XmlPiece::CData => &text[9..text.len() - 3],
            XmlPiece::Comment => &text[4..text.len() - 3],
            XmlPiece::Declaration | XmlPiece::Instruction => &text[2..text.len() - 2],
            XmlPiece::Start => &text[1..text.len() - 1],
            XmlPiece::Empty => &text[1..text.len() - 2],
            XmlPiece::End => text[2..text.len() - 1].trim_ascii(),
        };
        pieces.push((piece, inner.to_owned()));
    }
}

fn pieces_of_the_library(text: &str) -> Seen {
    let mut reader = Reader::from_reader(text.as_bytes());
    reader.config_mut().check_end_names = false;
    reader.config_mut().allow_unmatched_ends = true;
    let mut pieces = Vec::new();
    loop {
        let piece = match reader.read_event() {
            Ok(Event::Eof) => return (pieces, "end"),
            Ok(Event::DocType(_)) => return (pieces, "doctype"),
            Ok(Event::Text(text)) if text.trim_ascii().is_empty() => (XmlPiece::Blank, text.to_string()),
            Ok(Event::Text(text)) => (XmlPiece::Text, text.to_string()),
            Ok(Event::GeneralRef(name)) => (XmlPiece::Reference, name.to_string()),
            Ok(Event::CData(text)) => (XmlPiece::CData, text.to_string()),
            Ok(Event::Comment(text)) => (XmlPiece::Comment, text.to_string()),
            Ok(Event::Decl(inner)) => (XmlPiece::Declaration, inner.to_string()),
            Ok(Event::PI(inner)) => (XmlPiece::Instruction, inner.to_string()),
            Ok(Event::Start(tag)) => (XmlPiece::Start, tag.to_string()),
            Ok(Event::Empty(tag)) => (XmlPiece::Empty, tag.to_string()),
            Ok(Event::End(tag)) => (XmlPiece::End, tag.trim_ascii().to_owned()),
            Err(Error::Syntax(_)) => return (pieces, "unclosed"),
            Err(Error::IllFormed(_)) => return (pieces, "reference"),
            Err(error) => panic!("{error}"),
        };
        pieces.push(piece);
    }
}

/// Parts of XML, in any order.
fn noise() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec![
        "<",
        ">",
        "/",
        "</",
        "/>",
        "<a",
        "<a>",
        "</a>",
        "<b c=\"d\">",
        "\"",
        "'",
        "=",
        " ",
        "\n",
        "x",
        "ä",
        "&",
        ";",
        "&amp;",
        "&#1",
        "<!",
        "<!-",
        "<!--",
        "-->",
        "--",
        "-",
        "<![",
        "<![CDATA[",
        "]]>",
        "]",
        "<?",
        "?>",
        "?",
        "<?xml ",
        "<!D",
    ]);
    prop::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pieces_end_where_they_end_for_the_library(text in noise(), at_once in 1_usize..9) {
        let seen = pieces(text.as_bytes());
        prop_assert_eq!(&seen, &pieces(BufReader::with_capacity(at_once, text.as_bytes())));
        let library = pieces_of_the_library(&text);
        prop_assert!(seen == library, "{text:?}: {seen:?}, {library:?}");
    }
}

#[test]
fn a_character_that_comes_byte_by_byte_is_whole() {
    let text = "\u{feff}<a>ä€😀</a>";
    let (seen, ended) = pieces(BufReader::with_capacity(1, text.as_bytes()));
    assert_eq!((seen[1].1.as_str(), ended), ("ä€😀", "end"));
    for bytes in [&b"<a>\xc3"[..], b"<a>\xc3<", b"<a>\xff</a>"] {
        let mut window = DocumentWindow::new(BufReader::with_capacity(1, bytes), Limits::default());
        assert!(matches!(window.next(), Ok(Some((XmlPiece::Start, _)))));
        for _ in 0..3 {
            assert!(matches!(window.next(), Err(Stop::Encoding(3))), "{bytes:?}");
        }
    }
}

#[test]
fn lines_are_counted_over_all_windows() {
    let text = "<a>\n".repeat(40_000) + "<b>";
    let mut window = DocumentWindow::new(text.as_bytes().chain(&b""[..]), Limits::default());
    let mut tags = 0;
    while let Ok(Some((piece, range))) = window.next() {
        let length = range.len() as u64;
        if piece == XmlPiece::Start {
            let at = window.position(window.offset() - length);
            assert_eq!((at.line, at.column, at.offset), (tags + 1, 1, tags * 4));
            tags += 1;
        }
    }
    assert_eq!(tags, 40_001);
}
