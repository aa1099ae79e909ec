//! XML Patch (RFC 5261). Bytes that no operation selects stay as they are.

mod diff;
mod tree;

use std::ops::Range;

use super::error::{PatchError, affordable};
pub(super) use diff::diff;
use tree::{NodeKind, Target, XmlTree};

/// Applies the operations of a patch document one after the other.
pub(super) fn patched(held: &[u8], patch: &[u8]) -> Result<Vec<u8>, PatchError> {
    let operations = XmlTree::parse(patch)?;
    let root = operations.root()?;
    affordable(operations.nodes[root].children.len(), held.len() + patch.len())?;
    let mut bytes = held.to_vec();
    for &operation in &operations.nodes[root].children {
        if matches!(operations.nodes[operation].kind, NodeKind::Element(_)) {
            apply(&mut bytes, &operations, operation, patch)?;
        }
    }
    Ok(bytes)
}

fn apply(bytes: &mut Vec<u8>, patch: &XmlTree, operation: usize, source: &[u8]) -> Result<(), PatchError> {
    let node = &patch.nodes[operation];
    let selector =
        node.attribute("sel").ok_or_else(|| PatchError::Malformed("an operation without sel".to_owned()))?;
    let content = &source[node.inner.clone()];
    let tree = XmlTree::parse(bytes)?;
    let target = tree.select(selector)?;
    let NodeKind::Element(name) = &node.kind else { return Ok(()) };
    let (span, new): (Range<usize>, Vec<u8>) = match (name.rsplit(':').next().unwrap_or(name), &target) {
        ("add", Target::Node(at)) => match (node.attribute("type"), node.attribute("pos")) {
            (Some(attribute), _) => {
                let name = attribute.trim_start_matches('@');
                let end = tree.nodes[*at].name_end;
                (end..end, [b" ", name.as_bytes(), b"=\"", content, b"\""].concat())
            }
            (None, pos) => (tree.insertion(*at, pos, bytes), tree.enclosed(*at, pos, content, bytes)),
        },
        ("replace", Target::Node(at)) => (tree.nodes[*at].span.clone(), content.to_vec()),
        ("replace", Target::Attribute(_, value)) => (value.clone(), content.to_vec()),
        ("remove", Target::Node(at)) => (tree.nodes[*at].span.clone(), Vec::new()),
        ("remove", Target::Attribute(whole, _)) => (whole.clone(), Vec::new()),
        (other, _) => return Err(PatchError::Unfit(format!("{other} of {selector}"))),
    };
    bytes.splice(span, new);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(held: &str, operations: &str) -> Result<String, PatchError> {
        let patch = format!("<diff>{operations}</diff>");
        patched(held.as_bytes(), patch.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn the_operations_of_rfc_5261_do_what_it_says() {
        let table = [
            ("<d><a/></d>", "<add sel=\"d\"><b/></add>", "<d><a/><b/></d>"),
            ("<d><a/></d>", "<add sel=\"d\" pos=\"prepend\"><b/></add>", "<d><b/><a/></d>"),
            ("<d><a/></d>", "<add sel=\"d/a\" pos=\"before\"><b/></add>", "<d><b/><a/></d>"),
            ("<d><a/></d>", "<add sel=\"/d/a\" pos=\"after\"><b/></add>", "<d><a/><b/></d>"),
            ("<d><a x='1'/></d>", "<add sel=\"d/a\"><b/></add>", "<d><a x='1'><b/></a></d>"),
            ("<d><a/></d>", "<add sel=\"d/a\" type=\"@id\">7</add>", "<d><a id=\"7\"/></d>"),
            ("<d><a id='1'/><a id='2'/></d>", "<remove sel=\"d/a[@id='2']\"/>", "<d><a id='1'/></d>"),
            (
                "<d><a id='1' n=\"2\">x</a></d>",
                "<replace sel=\"d/a/@n\">3</replace>",
                "<d><a id='1' n=\"3\">x</a></d>",
            ),
            ("<d><a id='1' n=\"2\">x</a></d>", "<remove sel=\"d/a/@id\"/>", "<d><a n=\"2\">x</a></d>"),
            (
                "<d>a&amp;b<!--c--></d>",
                "<replace sel=\"d/text()\">n</replace><remove sel=\"d/comment()\"/>",
                "<d>n</d>",
            ),
            ("<d><a/><b/><a/></d>", "<replace sel=\"*/*[2]\"><c/></replace>", "<d><a/><c/><a/></d>"),
        ];
        for (held, operations, expected) in table {
            assert_eq!(apply(held, operations).as_deref(), Ok(expected), "{operations}");
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for operations in
            ["<remove sel=\"d/x\"/>", "<remove sel=\"d/a\"/>", "<remove sel=\"d/@x\"/>", "<move sel=\"d\"/>"]
        {
            assert!(
                matches!(apply("<d><a/><a/></d>", operations), Err(PatchError::Unfit(_))),
                "{operations}"
            );
        }
        assert!(matches!(apply("<!DOCTYPE d><d/>", "<remove sel=\"d\"/>"), Err(PatchError::Malformed(_))));
        assert!(matches!(apply("<d>", "<remove sel=\"d\"/>"), Err(PatchError::Malformed(_))));
    }
}
