//! Differences of XML documents, applied again.

use super::{super::patched, diff};

fn patch(held: &str, next: &str) -> String {
    let patch = diff(held.as_bytes(), next.as_bytes()).unwrap();
    let made = patched(held.as_bytes(), &patch).unwrap();
    assert_eq!(String::from_utf8(made).unwrap(), next);
    String::from_utf8(patch).unwrap()
}

#[test]
fn what_differs_is_said_and_nothing_else() {
    let held = "<?xml version=\"1.0\"?>\n<r xmlns:d=\"urn:d\">\n <d:a n='1'>one</d:a>\n <b/>\n</r>\n";
    for (next, operation) in [
        (held.replace("one", "two"), "<p0:replace sel=\"/*/*[1]/text()[1]\">two</p0:replace>"),
        (held.replace("'1'", "'2'"), "<p0:replace sel=\"/*/*[1]/@n\">2</p0:replace>"),
        (
            held.replace("<b/>", "<c/>"),
            "<p0:add sel=\"/*/*[2]\" pos=\"after\"><c/></p0:add>\n<p0:remove sel=\"/*/*[2]\"/>",
        ),
        (held.replace(" <b/>\n", ""), "<p0:remove sel=\"/*/text()[2]\"/>\n<p0:remove sel=\"/*/*[2]\"/>"),
        (held.replace("<b/>", "<b/><c>1</c>"), "<p0:add sel=\"/*/*[2]\" pos=\"after\"><c>1</c></p0:add>"),
        (held.replace("<b/>", "<b>new</b>"), "<p0:replace sel=\"/*/*[2]\"><b>new</b></p0:replace>"),
    ] {
        let patch = patch(held, &next);
        assert!(patch.contains(operation), "{patch}");
        assert!(
            patch.starts_with("<p0:patch xmlns:p0=\"urn:ietf:rfc:7351\" xmlns:d=\"urn:d\">\n"),
            "{patch}"
        );
    }
}

#[test]
fn nodes_come_and_go_anywhere() {
    let versions = [
        "<r/>",
        "<r></r>",
        "<r>text</r>",
        "<r>te<b/>xt</r>",
        "<r><a>1</a>x<a>2</a>y<a>3</a></r>",
        "<r><a>0</a>x<a>1</a>x<a>3</a>z<c/></r>",
        "<r><!--c--><a x='1' y='2'><b><c>deep</c></b></a><![CDATA[<]]>&amp;</r>",
        "<r><a x='3' y='2'><b>t<c>deeper</c></b></a>&lt;</r>",
        "<r>\n <i>1</i>\n <i>2</i>\n <i>3</i>\n</r>",
        "<r>\n <i>0</i>\n <i>2</i>\n</r>",
    ];
    for held in versions {
        for next in versions.iter().filter(|next| **next != held) {
            patch(held, next);
        }
    }
}

#[test]
fn what_cannot_be_said_is_not() {
    for (held, next) in [
        ("<r/>", "no xml"),
        ("<r/>", "<r/><!--behind-->"),
        ("<r xmlns:a=\"urn:1\"/>", "<r><b xmlns:a=\"urn:1\"/><c xmlns:a=\"urn:2\"/></r>"),
        ("<!DOCTYPE r><r/>", "<!DOCTYPE r><r>1</r>"),
    ] {
        assert_eq!(diff(held.as_bytes(), next.as_bytes()), None, "{next}");
    }
}

#[test]
fn o542_rows_that_stayed_cost_no_search_for_their_numbers() {
    // Without that, a square of their number: some minutes.
    let document =
        |first: u8, last: u8| format!("<d><r>{first}</r>{}<r>{last}</r></d>", "<r>same</r>".repeat(200_000));
    let (held, next) = (document(1, 2), document(3, 4));
    let patch = String::from_utf8(diff(held.as_bytes(), next.as_bytes()).unwrap()).unwrap();
    assert!(
        patch.contains("sel=\"/*/*[200002]/text()[1]\"") && patch.contains("sel=\"/*/*[1]/text()[1]\""),
        "{}",
        patch.len()
    );
}
