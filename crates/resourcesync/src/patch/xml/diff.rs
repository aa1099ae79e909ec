//! Makes XML patches: the operations between two versions, in the document of RFC 7351.
//!
//! Selectors count nodes, so that prefixes do not matter. Operations are in reverse document order, so that none moves
//! a node that a later one selects.

use std::{collections::BTreeMap, iter, ops::Range};

use super::tree::{NodeKind, XmlTree};

/// Pairs of nodes that are compared at most; beyond that, the nodes are replaced together.
const PAIRS: usize = 1 << 18;
/// Depth beyond which elements are replaced completely.
const DEPTH: usize = 200;

/// Makes the patch document from one version to the next. `None` if one is no XML document, or the difference cannot be
/// expressed.
pub(in crate::patch) fn diff(held: &[u8], next: &[u8]) -> Option<Vec<u8>> {
    let (old, new) = (ParsedVersion::parse(held)?, ParsedVersion::parse(next)?);
    let (root, next_root) = (old.tree.root().ok()?, new.tree.root().ok()?);
    if old.around(root) != new.around(next_root) {
        return None;
    }
    let namespaces = namespaces(&new.tree, next_root)?;
    let prefix = (0..).map(|n| format!("p{n}")).find(|prefix| !namespaces.contains_key(prefix.as_str()))?;
    let mut diff = Diff { old, new, prefix, operations: Vec::new() };
    diff.node(root, next_root, "/*", 0)?;
    Some(diff.document(&namespaces))
}

/// Returns the prefixes that contents may use, with their namespaces; `None` if one is bound to two.
fn namespaces(tree: &XmlTree, root: usize) -> Option<BTreeMap<String, String>> {
    let mut bound = BTreeMap::new();
    for (at, node) in tree.nodes.iter().enumerate() {
        for (name, value, ..) in &node.attributes {
            let Some(prefix) = name.strip_prefix("xmlns") else { continue };
            let prefix = prefix.trim_start_matches(':').to_owned();
            let is_inner_default = prefix.is_empty() && at != root && bound.get("") != Some(value);
            if is_inner_default || value.contains('"') {
                return None;
            }
            if bound.insert(prefix, value.clone()).is_some_and(|before| before != *value) {
                return None;
            }
        }
    }
    Some(bound)
}

struct ParsedVersion<'a> {
    bytes: &'a [u8],
    tree: XmlTree,
}

impl<'a> ParsedVersion<'a> {
    fn parse(bytes: &'a [u8]) -> Option<Self> {
        Some(Self { bytes, tree: XmlTree::parse(bytes).ok()? })
    }

    fn span(&self, at: usize) -> &'a [u8] {
        &self.bytes[self.tree.nodes[at].span.clone()]
    }

    /// Returns the bytes before and after a node.
    fn around(&self, at: usize) -> (&'a [u8], &'a [u8]) {
        let span = &self.tree.nodes[at].span;
        (&self.bytes[..span.start], &self.bytes[span.end..])
    }

    /// Returns the tags of an element without the values of its attributes.
    fn tags(&self, at: usize) -> Vec<&'a [u8]> {
        let node = &self.tree.nodes[at];
        let values = node.attributes.iter().map(|(.., value)| value.clone());
        let mut from = node.span.start;
        let mut tags = Vec::new();
        for value in values.chain(iter::once(node.inner.clone())) {
            tags.push(&self.bytes[from..value.start]);
            from = value.end;
        }
        tags.push(&self.bytes[from..node.span.end]);
        tags
    }
}

struct Diff<'a> {
    old: ParsedVersion<'a>,
    new: ParsedVersion<'a>,
    prefix: String,
    operations: Vec<u8>,
}

/// Children of the old version, with their numbers among those of their kind: to count them for each selector would be slow.
struct OldNodes {
    nodes: Vec<usize>,
    numbers: Vec<usize>,
}

impl Diff<'_> {
    /// Adds the operations that turn a node into another of its kind.
    fn node(&mut self, at: usize, next: usize, selector: &str, depth: usize) -> Option<()> {
        if self.old.span(at) == self.new.span(next) {
            return Some(());
        }
        let elements = matches!(self.old.tree.nodes[at].kind, NodeKind::Element(_));
        if elements && depth < DEPTH && self.old.tags(at) == self.new.tags(next) {
            let before = self.operations.len();
            if self
                .attributes(at, next, selector)
                .and_then(|()| self.children(at, next, selector, depth))
                .is_some()
            {
                return Some(());
            }
            self.operations.truncate(before);
        }
        self.operation("replace", &format!("sel=\"{selector}\""), self.new.tree.nodes[next].span.clone());
        Some(())
    }

    fn attributes(&mut self, at: usize, next: usize, selector: &str) -> Option<()> {
        let pairs = self.old.tree.nodes[at].attributes.iter().zip(&self.new.tree.nodes[next].attributes);
        let changed: Vec<_> = pairs
            .filter(|(before, after)| before.1 != after.1)
            .map(|(before, after)| (before.0.clone(), after.3.clone()))
            .collect();
        for (name, value) in changed {
            if name.starts_with("xmlns") {
                return None;
            }
            self.operation("replace", &format!("sel=\"{selector}/@{name}\""), value);
        }
        Some(())
    }

    /// Adds the operations between the children of two elements; `None` if they would conflict.
    fn children(&mut self, at: usize, next: usize, selector: &str, depth: usize) -> Option<()> {
        let old = self.numbered(at);
        let new = self.new.tree.nodes[next].children.clone();
        for (old_range, new_range) in self.differing(&old.nodes, &new).into_iter().rev() {
            let paired = self.paired(&old.nodes[old_range.clone()], &new[new_range.clone()]);
            let kept = old_range.start + paired;
            self.surplus(&old, kept..old_range.end, &new[new_range.start + paired..new_range.end], selector)?;
            for place in (0..paired).rev() {
                let (before, after) = (old.nodes[old_range.start + place], new[new_range.start + place]);
                if self.old.span(before) != self.new.span(after) {
                    let child = self.select(&old, old_range.start + place, selector)?;
                    self.node(before, after, &child, depth + 1)?;
                }
            }
        }
        Some(())
    }

    /// Returns the children of a node of the old version, numbered.
    fn numbered(&self, at: usize) -> OldNodes {
        let nodes = self.old.tree.nodes[at].children.clone();
        let mut counts = BTreeMap::new();
        let number = |child: &usize| {
            let count = counts.entry(self.old.tree.nodes[*child].kind.test()).or_insert(0);
            *count += 1;
            *count
        };
        OldNodes { numbers: nodes.iter().map(number).collect(), nodes }
    }

    /// Removes nodes without a counterpart, and adds new nodes after them.
    fn surplus(&mut self, old: &OldNodes, gone: Range<usize>, added: &[usize], selector: &str) -> Option<()> {
        if let (Some(&first), Some(&last)) = (added.first(), added.last()) {
            let is_text = |version: &ParsedVersion<'_>, at: usize| {
                matches!(version.tree.nodes[at].kind, NodeKind::Text)
            };
            let place = match gone.end.checked_sub(1) {
                // The two would become one text node, which the removal would then take away.
                Some(before)
                    if !gone.is_empty()
                        && is_text(&self.old, old.nodes[before])
                        && is_text(&self.new, first) =>
                {
                    return None;
                }
                Some(before) => format!("sel=\"{}\" pos=\"after\"", self.select(old, before, selector)?),
                None => format!("sel=\"{selector}\" pos=\"prepend\""),
            };
            let nodes = &self.new.tree.nodes;
            self.operation("add", &place, nodes[first].span.start..nodes[last].span.end);
        }
        // Texts first: two texts become one once the element between them is removed.
        let (texts, others): (Vec<_>, Vec<_>) = gone
            .rev()
            .partition(|index| matches!(self.old.tree.nodes[old.nodes[*index]].kind, NodeKind::Text));
        for index in texts.into_iter().chain(others) {
            let place = format!("sel=\"{}\"", self.select(old, index, selector)?);
            self.operation("remove", &place, 0..0);
        }
        Some(())
    }

    /// Returns the number of nodes at the beginning that are of the same kind.
    fn paired(&self, old: &[usize], new: &[usize]) -> usize {
        let alike = |(old, new): &(&usize, &usize)| match (
            &self.old.tree.nodes[**old].kind,
            &self.new.tree.nodes[**new].kind,
        ) {
            (NodeKind::Element(before), NodeKind::Element(after)) => before == after,
            (NodeKind::Text, NodeKind::Text) | (NodeKind::Comment, NodeKind::Comment) => true,
            _ => false,
        };
        old.iter().zip(new).take_while(alike).count()
    }

    /// Returns the selector of a child: its number among the children of its kind. `None` for an instruction, whose
    /// selectors tools read differently.
    fn select(&self, children: &OldNodes, index: usize, parent: &str) -> Option<String> {
        let wanted = self.old.tree.nodes[children.nodes[index]].kind.test()?;
        Some(format!("{parent}/{wanted}[{}]", children.numbers[index]))
    }

    /// Returns the ranges between the children that both have, in order.
    fn differing(&self, old: &[usize], new: &[usize]) -> Vec<(Range<usize>, Range<usize>)> {
        let equal = |old: usize, new: usize| self.old.span(old) == self.new.span(new);
        let first = old.iter().zip(new).take_while(|(old, new)| equal(**old, **new)).count();
        let ends = old[first..].iter().rev().zip(new[first..].iter().rev());
        let last = ends.take_while(|(old, new)| equal(**old, **new)).count();
        let (old_end, new_end) = (old.len() - last, new.len() - last);
        let (rows, columns) = (old_end - first, new_end - first);
        let mut common = Vec::new();
        if rows * columns <= PAIRS {
            common =
                longest_common(rows, columns, |row, column| equal(old[first + row], new[first + column]));
        }
        let mut ranges = Vec::new();
        let mut from = (first, first);
        let ends = common.into_iter().map(|(row, column)| (first + row, first + column));
        for (row, column) in ends.chain([(old_end, new_end)]) {
            if (row, column) != from {
                ranges.push((from.0..row, from.1..column));
            }
            from = (row + 1, column + 1);
        }
        ranges
    }

    fn operation(&mut self, name: &str, place: &str, content: Range<usize>) {
        let prefix = &self.prefix;
        let operations = &mut self.operations;
        if content.is_empty() {
            operations.extend_from_slice(format!("<{prefix}:{name} {place}/>\n").as_bytes())
        } else {
            operations.extend_from_slice(format!("<{prefix}:{name} {place}>").as_bytes());
            operations.extend_from_slice(&self.new.bytes[content]);
            operations.extend_from_slice(format!("</{prefix}:{name}>\n").as_bytes());
        }
    }

    fn document(&self, namespaces: &BTreeMap<String, String>) -> Vec<u8> {
        let prefix = &self.prefix;
        let declared = namespaces.iter().map(|(prefix, uri)| {
            if prefix.is_empty() { format!(" xmlns=\"{uri}\"") } else { format!(" xmlns:{prefix}=\"{uri}\"") }
        });
        let declared: String = declared.collect();
        let begin = format!("<{prefix}:patch xmlns:{prefix}=\"urn:ietf:rfc:7351\"{declared}>\n");
        [begin.as_bytes(), &self.operations, format!("</{prefix}:patch>\n").as_bytes()].concat()
    }
}

/// Returns the pairs of a longest common subsequence, in order.
fn longest_common(rows: usize, columns: usize, equal: impl Fn(usize, usize) -> bool) -> Vec<(usize, usize)> {
    let width = columns + 1;
    let mut lengths = vec![0u32; (rows + 1) * width];
    for row in (0..rows).rev() {
        for column in (0..columns).rev() {
            lengths[row * width + column] = if equal(row, column) {
                lengths[(row + 1) * width + column + 1] + 1
            } else {
                lengths[(row + 1) * width + column].max(lengths[row * width + column + 1])
            };
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut pairs = Vec::new();
    while row < rows && column < columns {
        let here = lengths[row * width + column];
        if here == lengths[(row + 1) * width + column] {
            row += 1;
        } else if here == lengths[row * width + column + 1] {
            column += 1;
        } else {
            pairs.push((row, column));
            (row, column) = (row + 1, column + 1);
        }
    }
    pairs
}

#[cfg(test)]
mod tests;
