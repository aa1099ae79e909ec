//! The arguments of a request, checked as the protocol has them (OAI-PMH §3.1 and §4). PURE.

use std::{collections::BTreeMap, ops::RangeInclusive};

use super::{item::is_set, token::ListToken};
use crate::{datestamp::seconds, repository::is_prefix};

/// An error of the protocol: its code and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OaiFault {
    pub(super) code: &'static str,
    pub(super) message: String,
}

impl OaiFault {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Returns `true` if the response must not repeat the arguments.
    pub(super) fn is_about_arguments(&self) -> bool {
        matches!(self.code, "badVerb" | "badArgument")
    }
}

/// The part of the records that a list has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordSelection {
    pub(super) format: String,
    pub(super) set: Option<String>,
    /// The first second that is wanted.
    pub(super) from: Option<i64>,
    /// The last second that is wanted.
    pub(super) until: Option<i64>,
}

/// The position at which a list is requested: its beginning, or a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    First(RecordSelection),
    Token(ListToken),
}

/// A request that keeps to the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OaiRequest {
    Identify,
    ListSets,
    ListMetadataFormats { identifier: Option<String> },
    GetRecord { identifier: String, format: String },
    List { with_metadata: bool, begin: Begin },
}

/// Returns the pairs of a query or a form, in their order.
pub(super) fn pairs(query: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

impl OaiRequest {
    /// Reads a request; `key` is that of the tokens.
    ///
    /// # Errors
    /// If a verb or an argument is wrong, missing, unknown or repeated.
    pub(super) fn read(pairs: &[(String, String)], key: &[u8; 32]) -> Result<Self, OaiFault> {
        let verbs: Vec<&str> =
            pairs.iter().filter(|(name, _)| name == "verb").map(|(_, value)| value.as_str()).collect();
        let verb = match verbs[..] {
            [verb] => verb,
            [] => return Err(OaiFault::new("badVerb", "The verb is missing")),
            _ => return Err(OaiFault::new("badVerb", "The verb is repeated")),
        };
        let mut given = arguments(verb, pairs)?;
        let missing = |name: &str| bad(format!("{verb} needs {name}"));
        Ok(match verb {
            "Identify" => Self::Identify,
            "ListSets" if given.contains_key("resumptionToken") => return Err(bad_token()),
            "ListSets" => Self::ListSets,
            "ListMetadataFormats" => Self::ListMetadataFormats { identifier: given.remove("identifier") },
            "GetRecord" => Self::GetRecord {
                identifier: given.remove("identifier").ok_or_else(|| missing("identifier"))?,
                format: given.remove("metadataPrefix").ok_or_else(|| missing("metadataPrefix"))?,
            },
            _ => {
                let with_metadata = verb == "ListRecords";
                let begin = match given.remove("resumptionToken") {
                    Some(_) if !given.is_empty() => {
                        return Err(bad("resumptionToken excludes all other arguments"));
                    }
                    Some(token) => {
                        let token =
                            ListToken::read(&token, key).filter(|token| token.with_metadata == with_metadata);
                        Begin::Token(token.ok_or_else(bad_token)?)
                    }
                    None => {
                        let format =
                            given.remove("metadataPrefix").ok_or_else(|| missing("metadataPrefix"))?;
                        Begin::First(selection(format, given)?)
                    }
                };
                Self::List { with_metadata, begin }
            }
        })
    }
}

/// Returns the arguments of a verb, each at most once.
fn arguments<'a>(verb: &str, pairs: &'a [(String, String)]) -> Result<BTreeMap<&'a str, String>, OaiFault> {
    let allowed: &[&str] = match verb {
        "Identify" => &[],
        "ListSets" => &["resumptionToken"],
        "ListMetadataFormats" => &["identifier"],
        "GetRecord" => &["identifier", "metadataPrefix"],
        "ListRecords" | "ListIdentifiers" => &["metadataPrefix", "from", "until", "set", "resumptionToken"],
        other => return Err(OaiFault::new("badVerb", format!("{other:?} is not a verb"))),
    };
    let mut given = BTreeMap::new();
    for (name, value) in pairs.iter().filter(|(name, _)| name != "verb") {
        if !allowed.contains(&name.as_str()) {
            return Err(bad(format!("{verb} has no argument {name:?}")));
        }
        if given.insert(name.as_str(), value.clone()).is_some() {
            return Err(bad(format!("{name} is repeated")));
        }
    }
    match given.get("metadataPrefix").filter(|format| !is_prefix(format)) {
        Some(format) => Err(bad(format!("{format:?} cannot be a metadataPrefix"))),
        None => Ok(given),
    }
}

fn bad(message: impl Into<String>) -> OaiFault {
    OaiFault::new("badArgument", message)
}

fn bad_token() -> OaiFault {
    OaiFault::new("badResumptionToken", "This token is not from this repository, or belongs to another verb")
}

fn selection(format: String, mut given: BTreeMap<&str, String>) -> Result<RecordSelection, OaiFault> {
    let set = given.remove("set");
    if let Some(set) = set.as_ref().filter(|set| !is_set(set)) {
        return Err(bad(format!("{set:?} cannot be a set")));
    }
    let (from, until) = (given.remove("from"), given.remove("until"));
    if let (Some(from), Some(until)) = (&from, &until)
        && from.len() != until.len()
    {
        return Err(bad("from and until have different granularities"));
    }
    let from = from.map(|text| limit("from", &text)).transpose()?.map(|seconds| *seconds.start());
    let until = until.map(|text| limit("until", &text)).transpose()?.map(|seconds| *seconds.end());
    if let (Some(from), Some(until)) = (from, until)
        && from > until
    {
        return Err(bad("from is later than until"));
    }
    Ok(RecordSelection { format, set, from, until })
}

/// Returns the seconds that a datestamp covers.
fn limit(name: &str, text: &str) -> Result<RangeInclusive<i64>, OaiFault> {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let length = match shape.as_str() {
        "0000-00-00" => 86_400,
        "0000-00-00T00:00:00Z" => 1,
        _ => 0,
    };
    match seconds(text).filter(|_| length > 0) {
        Some(first) => Ok(first..=first + length - 1),
        None => {
            Err(bad(format!("{name} {text:?} is not a datestamp: write YYYY-MM-DD or YYYY-MM-DDThh:mm:ssZ")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<OaiRequest, &'static str> {
        OaiRequest::read(&pairs(query), &[7; 32]).map_err(|fault| fault.code)
    }

    #[test]
    fn each_way_to_ask_wrongly_has_its_code() {
        for (query, code) in [
            ("", "badVerb"),
            ("verb=", "badVerb"),
            ("verb=identify", "badVerb"),
            ("verb=Identify&verb=Identify", "badVerb"),
            ("verb=Identify&set=a", "badArgument"),
            ("verb=GetRecord&identifier=a", "badArgument"),
            ("verb=GetRecord&metadataPrefix=a", "badArgument"),
            ("verb=ListRecords", "badArgument"),
            ("verb=ListRecords&metadataPrefix=a&metadataPrefix=a", "badArgument"),
            ("verb=ListRecords&metadataPrefix=a/b", "badArgument"),
            ("verb=ListRecords&metadataPrefix=a&set=b%20c", "badArgument"),
            ("verb=ListRecords&metadataPrefix=a&from=2026-1-1", "badArgument"),
            ("verb=ListRecords&metadataPrefix=a&from=2026-02-30", "badArgument"),
            ("verb=ListRecords&metadataPrefix=a&from=2026-01-01T00:00:00", "badArgument"),
            ("verb=ListRecords&metadataPrefix=a&from=2026-01-01&until=2026-01-01T00:00:00Z", "badArgument"),
            ("verb=ListRecords&metadataPrefix=a&from=2026-01-02&until=2026-01-01", "badArgument"),
            ("verb=ListRecords&metadataPrefix=a&resumptionToken=x", "badArgument"),
            ("verb=ListRecords&resumptionToken=x", "badResumptionToken"),
            ("verb=ListSets&resumptionToken=x", "badResumptionToken"),
        ] {
            assert_eq!(read(query), Err(code), "{query}");
        }
    }

    #[test]
    fn a_day_is_all_of_its_seconds() {
        let day = |query: &str| match read(query) {
            Ok(OaiRequest::List { begin: Begin::First(selection), .. }) => (selection.from, selection.until),
            other => panic!("{other:?}"),
        };
        let first = 1_767_225_600;
        let query = "verb=ListRecords&metadataPrefix=a&from=2026-01-01&until=2026-01-01";
        assert_eq!(day(query), (Some(first), Some(first + 86_399)));
        let query = "verb=ListIdentifiers&metadataPrefix=a&until=2026-01-01T00:00:00Z";
        assert_eq!(day(query), (None, Some(first)));
    }
}
