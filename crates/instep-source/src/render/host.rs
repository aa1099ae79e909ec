use super::{Policy, place::SOURCE_DESCRIPTION, robots};
use crate::publish::{HostSetup, Redirect};

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

/// A snippet for the `server` block: the Source Description's media type, the redirect, and a `Link` header that leads
/// from each resource to its Capability List (DISC-4).
fn nginx(policy: &Policy, well_known: Option<&Redirect>) -> String {
    let mut text = String::new();
    if let Some(Redirect { from, to }) = well_known {
        text.push_str(&format!("location = {from} {{ return 301 {to}; }}\n"));
    }
    let path = policy.place.path();
    text.push_str(&format!("location = {path}{SOURCE_DESCRIPTION} {{ default_type application/xml; }}\n"));
    let links =
        policy.sets.iter().map(|set| format!("<{}>; rel=\"resourcesync\"", set.place.capability_list()));
    let links = links.collect::<Vec<_>>().join(", ");
    text.push_str(&format!("location {path} {{ add_header Link '{links}'; }}\n"));
    text
}
