//! Settings of the host that documents cannot have themselves.

use std::{collections::BTreeSet, ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf};

use percent_encoding::percent_decode_str;
use resourcesync::Uri;

use super::{Policy, place::SOURCE_DESCRIPTION, robots};
use crate::{CodingRule, content::MediaTypes};

/// What an operator adds to the host, so that a Source below a path, or resources themselves, lead to the documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostSetup {
    /// The redirect from the host's well-known URI (DISC-1); none where the Source Description is there already.
    pub well_known: Option<Redirect>,
    /// Lines for the host's `robots.txt` (DISC-5); none where it was written.
    pub robots: Vec<String>,
    /// A snippet for nginx: media types, the redirect, and `Link` headers (DISC-4).
    pub nginx: String,
}

/// One URI that leads to another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redirect {
    /// The path that is asked for.
    pub from: String,
    /// Where it leads.
    pub to: Uri,
}

/// What belongs at the host's root and into the server's configuration, besides the documents.
pub(crate) fn host_setup(policy: &Policy) -> HostSetup {
    let place = &policy.place;
    let at_root = place.is_host_root();
    let well_known = (!at_root)
        .then(|| Redirect { from: format!("/{SOURCE_DESCRIPTION}"), to: place.source_description() });
    let robots = match at_root && policy.robots {
        true => Vec::new(),
        false => robots::sitemap_lines(policy),
    };
    HostSetup { nginx: nginx(policy, well_known.as_ref()), well_known, robots }
}

/// A snippet for the `server` block: the Source Description's media type, the redirect, a `Link` header that leads from
/// each resource to its Capability List (DISC-4), and what resources that are stored coded are served with (ATT-11).
fn nginx(policy: &Policy, well_known: Option<&Redirect>) -> String {
    let mut text = String::new();
    if let Some(Redirect { from, to }) = well_known {
        text.push_str(&format!("location = {from} {{ return 301 {to}; }}\n"));
    }
    let path = policy.place.path();
    text.push_str(&format!("location = {path}{SOURCE_DESCRIPTION} {{ default_type application/xml; }}\n"));
    let coded = policy.sets.iter().flat_map(|set| &set.codings);
    let coded: BTreeSet<_> = coded.map(|rule| coded_location(policy, rule)).collect();
    text.extend(coded);
    for prefix in prefixes(policy) {
        if let Some(link) = link_at(policy, prefix) {
            text.push_str(&format!("location {} {{ {link} }}\n", plain(prefix)));
        }
    }
    text
}

fn origin(policy: &Policy) -> &str {
    policy.place.base().strip_suffix(policy.place.path()).unwrap_or_default()
}

/// The paths on this host below which resources lie.
fn prefixes(policy: &Policy) -> BTreeSet<&str> {
    let prefixes = policy.sets.iter().flat_map(|set| &set.prefixes);
    prefixes.filter_map(|(prefix, _)| prefix.strip_prefix(origin(policy))).collect()
}

/// The header of resources at a path: it names the Capability List of each set that takes resources from the folder
/// there (DISC-4).
fn link_at(policy: &Policy, path: &str) -> Option<String> {
    let below = prefixes(policy).into_iter().filter(|prefix| path.starts_with(prefix));
    let nearest = format!("{}{}", origin(policy), below.max_by_key(|prefix| prefix.len())?);
    let all = || policy.sets.iter().flat_map(|set| &set.prefixes);
    let folder = all().find(|(prefix, _)| *prefix == nearest).and_then(|(_, folder)| folder.as_ref());
    // A set of the folder around it has the same resources, at the same URIs.
    let is_around = |(prefix, outer): &(String, Option<PathBuf>)| {
        let rest = nearest.strip_prefix(prefix).map(percent_decode_str);
        let folders = outer.as_ref().zip(folder).zip(rest);
        folders.is_some_and(|((outer, inner), rest)| {
            outer.join(OsStr::from_bytes(&rest.collect::<Vec<_>>())) == *inner
        })
    };
    let is_there = |below: &(String, Option<PathBuf>)| below.0 == nearest || is_around(below);
    let sets = policy.sets.iter().filter(|set| set.prefixes.iter().any(is_there));
    let links = sets.map(|set| format!("<{}>; rel=\"resourcesync\"", set.place.capability_list()));
    Some(format!("add_header Link '{}';", links.collect::<Vec<_>>().join(", ")))
}

/// A path as nginx compares it: decoded, in quotes where it needs them.
fn plain(path: &str) -> String {
    let path = percent_decode_str(path).decode_utf8_lossy();
    let is_plain = path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.~".contains(&byte));
    match is_plain {
        true => path.into_owned(),
        false => format!("\"{}\"", path.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// The type is that of the name without the ending of the coding, as the lists have it; nginx would go by that ending,
/// and code once more.
fn coded_location(policy: &Policy, rule: &CodingRule) -> String {
    let path = policy.place.path();
    let pattern = rule.resource.trim_start_matches('/');
    let before = pattern.split('*').next().unwrap_or_default();
    let link = link_at(policy, &format!("{path}{before}")).unwrap_or_default();
    let inner = pattern.rsplit_once('.').map_or(pattern, |(inner, _)| inner);
    let media_type = MediaTypes::default().of(inner.as_bytes());
    let pattern: String = format!("{path}{pattern}").chars().map(regular).collect();
    let coding = &rule.coding;
    format!(
        "location ~ \"^{pattern}$\" {{ types {{}} default_type {media_type}; gzip off; \
         add_header Content-Encoding {coding}; {link} }}\n"
    )
}

/// A character of a pattern in a regular expression.
fn regular(character: char) -> String {
    match character {
        '*' => ".*".to_owned(),
        '"' => "\\x22".to_owned(),
        character if character.is_ascii_punctuation() && !"/-_".contains(character) => {
            format!("\\{character}")
        }
        character => character.to_string(),
    }
}
