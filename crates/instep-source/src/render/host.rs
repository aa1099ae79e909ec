use super::{Policy, place::SOURCE_DESCRIPTION, robots};
use crate::{
    CodingRule,
    content::MediaTypes,
    publish::{HostSetup, Redirect},
};

/// What belongs at the host's root and into the server's configuration, besides the documents.
pub fn host_setup(policy: &Policy) -> HostSetup {
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
    let links =
        policy.sets.iter().map(|set| format!("<{}>; rel=\"resourcesync\"", set.place.capability_list()));
    let link = format!("add_header Link '{}';", links.collect::<Vec<_>>().join(", "));
    let mut coded: Vec<_> = Vec::new();
    for rule in policy.sets.iter().flat_map(|set| &set.codings) {
        let location = coded_location(path, rule, &link);
        if !coded.contains(&location) {
            coded.push(location);
        }
    }
    text.extend(coded);
    text.push_str(&format!("location {path} {{ {link} }}\n"));
    text
}

/// The type is that of the name without the ending of the coding, as the lists have it; nginx would go by that ending,
/// and code once more.
fn coded_location(path: &str, rule: &CodingRule, link: &str) -> String {
    let pattern = rule.resource.trim_start_matches('/');
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
