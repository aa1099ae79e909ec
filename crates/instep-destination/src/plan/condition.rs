//! Conditions on metadata records, by which an operator selects resources.

use std::str::FromStr;

use quick_xml::{
    Reader,
    escape::{resolve_predefined_entity, unescape},
    events::{Event, attributes::Attribute},
};
use serde_json::Value;

/// A condition on metadata records that selects resources: one or more tests, joined by ` and `.
///
/// A test is a path, or a path, a comparison and a value. A path in a JSON record is a JSON Pointer (RFC 6901). In an
/// XML record it is a path of element names without prefixes: from the root if it begins with `/`, anywhere
/// otherwise; `*` is any element, `@name` an attribute at the end. Comparisons: `=`, `!=`, `~` (contains), `<`, `<=`,
/// `>`, `>=`; as numbers if both sides are numbers, otherwise as texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    tests: Vec<Test>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Test {
    path: String,
    /// The comparison of the values at the path; `None` if any value passes.
    comparison: Option<(Operator, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    Unequal,
    Contains,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operator {
    /// The operators as they are written. The longer ones come first, because `<=` begins with `<`.
    const WRITTEN: [(&str, Self); 7] = [
        ("!=", Self::Unequal),
        ("<=", Self::LessOrEqual),
        (">=", Self::GreaterOrEqual),
        ("=", Self::Equal),
        ("~", Self::Contains),
        ("<", Self::Less),
        (">", Self::Greater),
    ];

    fn holds(self, found: &str, value: &str) -> bool {
        let order = match (found.parse::<f64>(), value.parse::<f64>()) {
            (Ok(found), Ok(value)) => found.total_cmp(&value),
            _ => found.cmp(value),
        };
        match self {
            Self::Equal => order.is_eq(),
            Self::Unequal => order.is_ne(),
            Self::Contains => found.contains(value),
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let tests = split_outside_quotes(text)?.into_iter().map(str::parse).collect::<Result<_, _>>()?;
        Ok(Self { tests })
    }
}

impl FromStr for Test {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.trim();
        let found = text.char_indices().find_map(|(at, _)| {
            let rest = &text[at..];
            Operator::WRITTEN.iter().find(|(written, _)| rest.starts_with(written)).map(|one| (at, *one))
        });
        let (path, comparison) = match found {
            None => (text, None),
            Some((at, (written, operator))) => {
                let value = unquoted(text[at + written.len()..].trim());
                (text[..at].trim_end(), Some((operator, value.to_owned())))
            }
        };
        let malformed = path.is_empty() || path.contains(char::is_whitespace);
        if malformed {
            return Err(format!(
                "{text:?} is not a test of metadata: write a path, or a path, one of = != ~ < <= > >= and a value"
            ));
        }
        Ok(Self { path: path.to_owned(), comparison })
    }
}

/// Splits a condition into its tests. A quote begins with a value; elsewhere the character is an apostrophe.
fn split_outside_quotes(text: &str) -> Result<Vec<&str>, String> {
    const AND: &str = " and ";
    let begins_value = |at: usize| text[..at].trim_end().ends_with(['=', '~', '<', '>']);
    let (mut parts, mut start, mut quote) = (Vec::new(), 0, None);
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') if begins_value(at) => quote = Some(character),
            (None, ' ') if at >= start && text[at..].starts_with(AND) => {
                parts.push(&text[start..at]);
                start = at + AND.len();
            }
            _ => {}
        }
    }
    if let Some(open) = quote {
        return Err(format!("{text:?} has a value without its closing {open}"));
    }
    parts.push(&text[start.min(text.len())..]);
    Ok(parts)
}

fn unquoted(text: &str) -> &str {
    ['"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote)).unwrap_or(text)
}

impl Condition {
    /// Returns `true` if a record, JSON or XML, passes each test. Any other record passes none.
    pub(crate) fn holds(&self, record: &[u8]) -> bool {
        let record = record.strip_prefix(b"\xef\xbb\xbf").unwrap_or(record);
        match serde_json::from_slice::<Value>(record) {
            Ok(json) => self.tests.iter().all(|test| test.holds_for(&values_of_json(&json, &test.path))),
            Err(_) => self.tests.iter().all(|test| test.holds_for(&values_of_xml(record, &test.path))),
        }
    }
}

impl Test {
    fn holds_for(&self, values: &[String]) -> bool {
        match &self.comparison {
            None => !values.is_empty(),
            // A record without the value does not pass: a missing value is not known to differ.
            Some((Operator::Unequal, value)) => {
                !values.is_empty() && values.iter().all(|found| Operator::Unequal.holds(found, value))
            }
            Some((operator, value)) => values.iter().any(|found| operator.holds(found, value)),
        }
    }
}

/// Returns the value that a JSON Pointer leads to, or each element if it is an array.
fn values_of_json(json: &Value, path: &str) -> Vec<String> {
    let pointer = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    match json.pointer(&pointer) {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(elements)) => elements.iter().map(text_of).collect(),
        Some(value) => vec![text_of(value)],
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the texts of the elements or attributes at a path; nothing if the record is not well-formed.
fn values_of_xml(record: &[u8], path: &str) -> Vec<String> {
    read_xml(record, path).unwrap_or_default()
}

/// The greatest depth of elements. Records are less deep.
const DEPTH: usize = 64;

fn read_xml(record: &[u8], path: &str) -> Option<Vec<String>> {
    let mut reader = Reader::from_str(std::str::from_utf8(record).ok()?);
    reader.config_mut().expand_empty_elements = true;
    let (rooted, steps, attribute) = steps(path);
    let (mut open, mut texts, mut values) = (Vec::<String>::new(), Vec::<(usize, String)>::new(), Vec::new());
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) => {
                open.push(start.local_name().as_ref().to_owned());
                if open.len() > DEPTH {
                    return None;
                }
                if leads_to(&open, &steps, rooted) {
                    match attribute {
                        None => texts.push((open.len(), String::new())),
                        Some(name) => {
                            let named = |one: &Attribute<'_>| one.key.local_name().as_ref() == name;
                            let found = start.attributes().flatten().find(named);
                            let text = |one: Attribute<'_>| Some(unescape(&one.value).ok()?.into_owned());
                            values.extend(found.and_then(text));
                        }
                    }
                }
            }
            Event::Text(text) => texts.iter_mut().for_each(|(_, value)| value.push_str(&text)),
            Event::CData(text) => texts.iter_mut().for_each(|(_, value)| value.push_str(&text)),
            Event::GeneralRef(reference) => {
                let text = match reference.resolve_char_ref().ok()? {
                    Some(character) => character.to_string(),
                    None => resolve_predefined_entity(&reference)?.to_owned(),
                };
                texts.iter_mut().for_each(|(_, value)| value.push_str(&text));
            }
            Event::End(_) => {
                if texts.last().is_some_and(|(depth, _)| *depth == open.len())
                    && let Some((_, value)) = texts.pop()
                {
                    values.push(value.trim().to_owned());
                }
                open.pop();
            }
            // A record with a DOCTYPE is not read, because entities could make a few lines grow without end.
            Event::DocType(_) => return None,
            Event::Eof => return open.is_empty().then_some(values),
            _ => {}
        }
    }
}

/// Splits a path. Returns `true` if it begins at the root, its element names, and the attribute at its end.
fn steps(path: &str) -> (bool, Vec<&str>, Option<&str>) {
    let rooted = path.starts_with('/') && !path.starts_with("//");
    let mut steps: Vec<_> = path.split('/').filter(|step| !step.is_empty()).collect();
    let attribute = steps.last().and_then(|last| last.strip_prefix('@'));
    if attribute.is_some() {
        steps.pop();
    }
    (rooted, steps, attribute)
}

fn leads_to(open: &[String], steps: &[&str], rooted: bool) -> bool {
    let Some(above) = open.len().checked_sub(steps.len()) else { return false };
    let local = |step: &str| step.rsplit(':').next().unwrap_or_default().to_owned();
    let same = |(name, step): (&String, &&str)| *step == "*" || *name == local(step);
    (!rooted || above == 0) && open[above..].iter().zip(steps).all(same)
}

#[cfg(test)]
mod tests;
