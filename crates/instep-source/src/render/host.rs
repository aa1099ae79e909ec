//! Settings of the host that documents cannot have themselves.

mod apache;
mod caddy;
mod directives;
mod nginx;

use std::{collections::BTreeSet, ffi::OsStr, os::unix::ffi::OsStrExt, path::PathBuf};

use percent_encoding::percent_decode_str;
use resourcesync::Uri;

use super::{
    SourcePolicy,
    place::{SOURCE_DESCRIPTION, SourcePlace},
    robots,
};
use crate::{CodingRule, content::MediaTypes};
pub use directives::Redirect;
use directives::{CodedFiles, Directives};

/// The settings an operator adds to the host, so that resources and a Source below a path lead to the documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostSetup {
    /// The redirect from the host's well-known URI (DISC-1); `None` if the Source Description is there already.
    pub well_known: Option<Redirect>,
    /// Lines for the host's `robots.txt` (DISC-5); empty if it was written.
    pub robots: Vec<String>,
    /// Redirects from the former base URLs of the Source: each path below `from` leads to the same one below `to`.
    pub moved: Vec<Redirect>,
    /// Directives for the `server` block of nginx.
    pub nginx: String,
    /// Directives for a virtual host of the Apache HTTP Server; needs mod_alias and mod_headers.
    pub apache: String,
    /// Directives for a site block of Caddy.
    pub caddy: String,
}

/// Returns the settings for the host of a Source.
pub(crate) fn host_setup(policy: &SourcePolicy, former: &[String]) -> HostSetup {
    let place = &policy.place;
    let at_root = place.is_host_root();
    let well_known = (!at_root)
        .then(|| Redirect { from: format!("/{SOURCE_DESCRIPTION}"), to: place.source_description() });
    let robots = if at_root && policy.robots { Vec::new() } else { robots::sitemap_lines(policy) };
    let path = place.path();
    let linked =
        prefixes(policy).into_iter().filter_map(|prefix| Some((prefix.to_owned(), link_at(policy, prefix)?)));
    let directives = Directives {
        redirect: well_known.clone(),
        description: format!("{path}{SOURCE_DESCRIPTION}"),
        coded: policy
            .sets
            .iter()
            .flat_map(|set| &set.codings)
            .map(|rule| coded_files(policy, rule))
            .collect(),
        links: linked.collect(),
    };
    HostSetup {
        nginx: nginx::directives(&directives),
        apache: apache::directives(&directives),
        caddy: caddy::directives(&directives),
        moved: former.iter().filter_map(|base| moved(base, place)).collect(),
        well_known,
        robots,
    }
}

fn moved(former: &str, place: &SourcePlace) -> Option<Redirect> {
    Some(Redirect { from: former.to_owned(), to: Uri::parse(place.base()).ok()? })
}

fn origin(policy: &SourcePolicy) -> &str {
    policy.place.base().strip_suffix(policy.place.path()).unwrap_or_default()
}

/// Returns the paths on this host with resources below them.
fn prefixes(policy: &SourcePolicy) -> BTreeSet<&str> {
    let prefixes = policy.sets.iter().flat_map(|set| &set.prefixes);
    prefixes.filter_map(|(prefix, _)| prefix.strip_prefix(origin(policy))).collect()
}

/// Returns the `Link` header of resources at a path: the Capability List of each set that takes resources from the
/// folder there (DISC-4).
fn link_at(policy: &SourcePolicy, path: &str) -> Option<String> {
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
    Some(links.collect::<Vec<_>>().join(", "))
}

/// Returns the files of a coding rule. Their type is that of the name without the extension of the coding, as in the
/// lists; a server would use that extension, and compress again.
fn coded_files(policy: &SourcePolicy, rule: &CodingRule) -> CodedFiles {
    let path = policy.place.path();
    let pattern = rule.resource.trim_start_matches('/');
    let before = pattern.split('*').next().unwrap_or_default();
    let link = link_at(policy, &format!("{path}{before}"));
    let inner = pattern.rsplit_once('.').map_or(pattern, |(inner, _)| inner);
    let media_type = MediaTypes::default().of(inner.as_bytes()).to_string();
    // Servers compare decoded paths.
    let path = percent_decode_str(path).decode_utf8_lossy();
    let pattern = format!("{path}{pattern}").chars().map(regular).collect::<String>();
    CodedFiles { pattern: format!("^{pattern}$"), media_type, coding: rule.coding.clone(), link }
}

/// Returns a character of a pattern in a regular expression.
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
