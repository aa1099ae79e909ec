//! The name of a Source in a fleet.

use std::{collections::BTreeSet, fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

/// A name of 1 to 64 ASCII letters, digits, dots, hyphens and underscores that does not begin with a dot. It is also the
/// name of the folder of the copy, unless the operator chooses another one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SourceName(Arc<str>);

impl SourceName {
    const LONGEST: usize = 64;
    /// The most names of one stem. Its number has at most seven digits.
    const MOST_NUMBERED: u32 = 1 << 23;

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Proposes a name that is not taken: the label that a list has for a URL; else the host, with the path if the host
    /// alone is taken, and with a number as the last resort.
    pub fn propose(label: Option<&str>, url: &str, taken: &BTreeSet<Self>) -> Self {
        let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = authority.rsplit('@').next().unwrap_or_default();
        let path = rest.split(['?', '#']).next().unwrap_or_default();
        let with_path = plain(path.rsplit('@').next().unwrap_or_default());
        let candidates = label.map(plain).into_iter().chain([plain(host), with_path.clone()]);
        if let Some(free) = candidates.into_iter().find(|name| !taken.contains(name)) {
            return free;
        }
        let stem: String = with_path.as_str().chars().take(Self::LONGEST - 8).collect();
        let numbered = |number: u32| plain(&format!("{stem}-{number}"));
        // Numbers are given without gaps, so the first free one is found by halves: a list may have many Sources of a host.
        let mut free = 2;
        while free < Self::MOST_NUMBERED && taken.contains(&numbered(free)) {
            free *= 2;
        }
        let mut last = free / 2;
        while free - last > 1 {
            let middle = last + (free - last) / 2;
            if taken.contains(&numbered(middle)) { last = middle } else { free = middle }
        }
        numbered(free)
    }
}

/// Replaces everything that a name cannot have.
fn plain(text: &str) -> SourceName {
    let safe = |c: char| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' };
    let name: String = text.chars().map(safe).collect();
    let name = name.trim_matches(['.', '-', '_']);
    let name: String = name.chars().take(SourceName::LONGEST).collect();
    SourceName(if name.is_empty() { "source".into() } else { name.into() })
}

impl FromStr for SourceName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        match text {
            "" => Err("a name cannot be empty".to_owned()),
            _ if text.len() > Self::LONGEST || text.starts_with('.') || !text.chars().all(allowed) => {
                Err(format!(
                    "{text:?} is not a name; use 1 to 64 letters, digits, dots, hyphens and underscores, and no dot at the start"
                ))
            }
            _ => Ok(Self(text.into())),
        }
    }
}

impl TryFrom<String> for SourceName {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<SourceName> for String {
    fn from(name: SourceName) -> Self {
        name.as_str().to_owned()
    }
}

impl fmt::Display for SourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_folder_and_never_leads_out_of_one() {
        for wrong in ["", ".", "..", ".instep", "a/b", "a b", "a\u{0}", "\u{e4}", &"x".repeat(65)] {
            assert!(wrong.parse::<SourceName>().is_err(), "{wrong:?}");
        }
        for good in ["a", "arXiv", "eprints.example.org", "a_b-c.1", &"x".repeat(64)] {
            assert_eq!(good.parse::<SourceName>().unwrap().as_str(), good);
        }
    }

    #[test]
    fn proposed_names_are_names_and_never_taken() {
        let mut taken = BTreeSet::new();
        let url = "https://user@eprints.example.org:8443/rs/a b?x#y";
        for expected in [
            "eprints.example.org-8443",
            "eprints.example.org-8443-rs-a-b",
            "eprints.example.org-8443-rs-a-b-2",
        ] {
            let name = SourceName::propose(None, url, &taken);
            assert_eq!(name.as_str(), expected);
            assert!(name.as_str().parse::<SourceName>().is_ok() && taken.insert(name));
        }
        assert_eq!(SourceName::propose(None, "http://../", &taken).as_str(), "source");
        assert_eq!(SourceName::propose(Some(" A & B: letters "), url, &taken).as_str(), "A---B--letters");
    }

    #[test]
    fn o885_thousands_of_sources_of_one_host_get_names_in_reasonable_time() {
        let (mut taken, url) = (BTreeSet::new(), "https://h.example/?id=1");
        for number in 2..30_000 {
            let name = SourceName::propose(None, url, &taken);
            assert!(number == 2 || name.as_str() == format!("h.example-{}", number - 1), "{number}: {name}");
            assert!(taken.insert(name));
        }
        // A name that is free again is given again, or a later one.
        taken.remove(&"h.example-7".parse::<SourceName>().unwrap());
        let name = SourceName::propose(None, url, &taken);
        assert!(!taken.contains(&name), "{name}");
    }
}
