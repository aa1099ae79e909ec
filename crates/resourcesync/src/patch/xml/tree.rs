//! An XML document as spans of its bytes, and the selectors of RFC 5261 on it.

use std::ops::Range;

use quick_xml::{Reader, events::Event};

use crate::patch::error::PatchError;

pub(super) enum NodeKind {
    Document,
    Element(String),
    Text,
    Comment,
    Instruction,
}

impl NodeKind {
    /// Returns the test by which a selector names nodes of this kind; `None` if tools read it differently.
    pub(super) fn test(&self) -> Option<&'static str> {
        match self {
            Self::Element(_) => Some("*"),
            Self::Text => Some("text()"),
            Self::Comment => Some("comment()"),
            Self::Document | Self::Instruction => None,
        }
    }
}

pub(super) struct XmlNode {
    pub(super) kind: NodeKind,
    pub(super) span: Range<usize>,
    /// The range between its tags.
    pub(super) inner: Range<usize>,
    /// The end of its name in its start tag.
    pub(super) name_end: usize,
    /// Name, value as written, range with the blank before it, range of the value.
    pub(super) attributes: Vec<(String, String, Range<usize>, Range<usize>)>,
    pub(super) children: Vec<usize>,
}

impl XmlNode {
    fn new(kind: NodeKind, span: Range<usize>) -> Self {
        let (inner, name_end) = (span.end..span.end, span.start);
        Self { kind, span, inner, name_end, attributes: Vec::new(), children: Vec::new() }
    }

    pub(super) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|attribute| attribute.0 == name).map(|attribute| attribute.1.as_str())
    }
}

pub(super) enum Target {
    Node(usize),
    Attribute(Range<usize>, Range<usize>),
}

pub(super) struct XmlTree {
    pub(super) nodes: Vec<XmlNode>,
}

impl XmlTree {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, PatchError> {
        let malformed = |error: &dyn std::fmt::Display| PatchError::Malformed(error.to_string());
        let text = std::str::from_utf8(bytes).map_err(|error| malformed(&error))?;
        let mut reader = Reader::from_str(text);
        let mut tree = Self { nodes: vec![XmlNode::new(NodeKind::Document, 0..bytes.len())] };
        let mut open = vec![0];
        loop {
            let start = reader.buffer_position() as usize;
            let event = reader.read_event().map_err(|error| malformed(&error))?;
            let end = reader.buffer_position() as usize;
            let parent = *open.last().ok_or_else(|| malformed(&"an end tag without its start tag"))?;
            match event {
                Event::Start(tag) => {
                    let name = tag.name().as_ref().to_owned();
                    let at = tree.push(parent, NodeKind::Element(name), start..end);
                    tree.read_attributes(at, text, start..end);
                    tree.nodes[at].inner = end..end;
                    open.push(at);
                }
                Event::Empty(tag) => {
                    let name = tag.name().as_ref().to_owned();
                    let at = tree.push(parent, NodeKind::Element(name), start..end);
                    tree.read_attributes(at, text, start..end);
                }
                Event::End(_) => {
                    open.pop();
                    tree.nodes[parent].inner.end = start;
                    tree.nodes[parent].span.end = end;
                }
                Event::Text(_) | Event::CData(_) | Event::GeneralRef(_) => tree.push_text(parent, start..end),
                Event::Comment(_) => drop(tree.push(parent, NodeKind::Comment, start..end)),
                Event::PI(_) => drop(tree.push(parent, NodeKind::Instruction, start..end)),
                Event::DocType(_) => return Err(malformed(&"a DOCTYPE")),
                Event::Decl(_) => {}
                Event::Eof => break,
            }
        }
        if open.len() == 1 { Ok(tree) } else { Err(malformed(&"an end tag is missing")) }
    }

    fn push(&mut self, parent: usize, kind: NodeKind, span: Range<usize>) -> usize {
        self.nodes.push(XmlNode::new(kind, span));
        let at = self.nodes.len() - 1;
        self.nodes[parent].children.push(at);
        at
    }

    /// Adds text. Adjacent text, references and CDATA are one text node.
    fn push_text(&mut self, parent: usize, span: Range<usize>) {
        let last = self.nodes[parent].children.last().copied();
        match last.filter(|&last| matches!(self.nodes[last].kind, NodeKind::Text)) {
            Some(last) => self.nodes[last].span.end = span.end,
            None if span.is_empty() => {}
            None => drop(self.push(parent, NodeKind::Text, span)),
        }
    }

    fn read_attributes(&mut self, at: usize, text: &str, tag: Range<usize>) {
        let bytes = text.as_bytes();
        let name_length = bytes[tag.start + 1..tag.end]
            .iter()
            .take_while(|b| !matches!(b, b' ' | b'\t' | b'\r' | b'\n' | b'/' | b'>'));
        let mut from = tag.start + 1 + name_length.count();
        self.nodes[at].name_end = from;
        while let Some(equals) = text[from..tag.end].find('=').map(|offset| from + offset) {
            let Some(quote) = text[equals..tag.end].find(['"', '\'']).map(|offset| equals + offset) else {
                break;
            };
            let Some(length) = text[quote + 1..tag.end].find(char::from(bytes[quote])) else { break };
            let value = quote + 1..quote + 1 + length;
            let name = text[from..equals].trim().to_owned();
            self.nodes[at].attributes.push((
                name,
                text[value.clone()].to_owned(),
                from..value.end + 1,
                value.clone(),
            ));
            from = value.end + 1;
        }
    }

    pub(super) fn root(&self) -> Result<usize, PatchError> {
        let element = |at: &&usize| matches!(self.nodes[**at].kind, NodeKind::Element(_));
        let root = self.nodes[0].children.iter().find(element).copied();
        root.ok_or_else(|| PatchError::Malformed("no root element".to_owned()))
    }

    /// Returns the one node that a selector names (RFC 5261 §4.1).
    pub(super) fn select(&self, selector: &str) -> Result<Target, PatchError> {
        let unfit = |what: &str| PatchError::Unfit(format!("{selector}: {what}"));
        let mut at = 0;
        let steps: Vec<&str> = selector.trim_start_matches('/').split('/').collect();
        for (number, step) in steps.iter().enumerate() {
            if let Some(name) = step.strip_prefix('@') {
                let attribute = self.nodes[at].attributes.iter().find(|attribute| attribute.0 == name);
                let (_, _, whole, value) = attribute.ok_or_else(|| unfit("no such attribute"))?;
                return (number + 1 == steps.len())
                    .then(|| Target::Attribute(whole.clone(), value.clone()))
                    .ok_or_else(|| unfit("an attribute has no children"));
            }
            let found = self.step(at, step).ok_or_else(|| unfit("the selector is not one of RFC 5261"))?;
            match found[..] {
                [one] => at = one,
                [] => return Err(unfit("nothing there")),
                _ => return Err(unfit("more than one node")),
            }
        }
        Ok(Target::Node(at))
    }

    /// Returns the children that a step selects; `None` if the step cannot be read.
    fn step(&self, at: usize, step: &str) -> Option<Vec<usize>> {
        let (test, predicates) = step.find('[').map_or((step, ""), |bracket| step.split_at(bracket));
        let mut found: Vec<usize> = self.nodes[at]
            .children
            .iter()
            .copied()
            .filter(|&child| match (&self.nodes[child].kind, test) {
                (NodeKind::Text, "text()") | (NodeKind::Comment, "comment()") => true,
                (NodeKind::Instruction, test) => test.starts_with("processing-instruction("),
                (NodeKind::Element(_), "*") => true,
                (NodeKind::Element(name), test) => name == test,
                _ => false,
            })
            .collect();
        for predicate in predicates.split_terminator(']') {
            let predicate = predicate.strip_prefix('[')?;
            if let Ok(position) = predicate.parse::<usize>() {
                found = found.get(position.checked_sub(1)?).copied().into_iter().collect();
            } else {
                let (name, value) = predicate.strip_prefix('@')?.split_once('=')?;
                let value = value.trim().trim_matches(['"', '\'']);
                found.retain(|&child| self.nodes[child].attribute(name.trim()) == Some(value));
            }
        }
        Some(found)
    }

    /// Returns the range that an addition replaces.
    pub(super) fn insertion(&self, at: usize, pos: Option<&str>, bytes: &[u8]) -> Range<usize> {
        let node = &self.nodes[at];
        match pos {
            Some("before") => node.span.start..node.span.start,
            Some("after") => node.span.end..node.span.end,
            _ if self.is_empty_tag(at, bytes) => node.span.end - 2..node.span.end,
            Some("prepend") => node.inner.start..node.inner.start,
            _ => node.inner.end..node.inner.end,
        }
    }

    /// Returns the content to add; an empty tag becomes a start tag and an end tag around it.
    pub(super) fn enclosed(&self, at: usize, pos: Option<&str>, content: &[u8], bytes: &[u8]) -> Vec<u8> {
        match &self.nodes[at].kind {
            NodeKind::Element(name)
                if !matches!(pos, Some("before" | "after")) && self.is_empty_tag(at, bytes) =>
            {
                [b">", content, b"</", name.as_bytes(), b">"].concat()
            }
            _ => content.to_vec(),
        }
    }

    fn is_empty_tag(&self, at: usize, bytes: &[u8]) -> bool {
        bytes[self.nodes[at].span.clone()].ends_with(b"/>")
            && self.nodes[at].inner.is_empty()
            && self.nodes[at].inner.start == self.nodes[at].span.end
    }
}
