//! The names of the values of a line. A name that is nearly one of them is a mistake; any other is the application's own,
//! and is not read.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;

/// The names that are read.
const KNOWN: [&str; 11] = [
    "uri",
    "path",
    "length",
    "hash",
    "digests",
    "type",
    "lastmod",
    "changefreq",
    "encoding",
    "change",
    "links",
];

/// A name that differs by one letter from a shorter one may well be another word.
const SHORTEST: usize = 4;

/// Returns what is wrong with the first name that is not read, but was probably meant to be; `None` if there is none.
pub(super) fn misspelt<'a>(names: impl IntoIterator<Item = &'a str>) -> Option<String> {
    names.into_iter().find_map(|name| {
        let meant = meant(name)?;
        Some(format!("the name {name:?} is not read; did you mean {meant:?}?"))
    })
}

/// Returns what is wrong with the names of a JSON object, as [`misspelt`] does.
pub(super) fn misspelt_in(line: &[u8]) -> Option<String> {
    let object: BTreeMap<String, IgnoredAny> = serde_json::from_slice(line).ok()?;
    misspelt(object.keys().map(String::as_str))
}

fn meant(name: &str) -> Option<&'static str> {
    if KNOWN.contains(&name) {
        return None;
    }
    let letters: String =
        name.chars().filter(|letter| letter.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let is_near = |known: &&str| {
        letters == **known || known.len() >= SHORTEST && strsim::osa_distance(&letters, known) == 1
    };
    KNOWN.into_iter().find(is_near)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o252_a_name_that_is_nearly_a_known_one_is_a_mistake_and_any_other_is_not() {
        for (name, known) in [
            ("lenght", "length"),
            ("Length", "length"),
            ("last_mod", "lastmod"),
            ("chnge", "change"),
            ("URI", "uri"),
            ("link", "links"),
        ] {
            let found = misspelt([name]).unwrap();
            assert!(found.contains(&format!("did you mean {known:?}")), "{found}");
        }
        for own in KNOWN.into_iter().chain(["title", "id", "url", "hashes", "size", "modified", "date"]) {
            assert_eq!(misspelt([own]), None, "{own}");
        }
        assert!(misspelt_in(br#"{"uri":"http://a/","chnge":"deleted"}"#).is_some());
        assert_eq!(misspelt_in(br#"{"uri":"http://a/","title":{"uris":1}}"#), None);
    }
}
