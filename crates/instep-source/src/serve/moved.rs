//! Requests for a former base URL of the Source, and for the well-known URI of the host: redirected to the present base
//! URL, unless something else has the name.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    middleware::{self, Next},
    response::Response,
};
use http::{HeaderValue, StatusCode, header, uri::Authority};

use crate::{
    Error,
    publish::SourceContext,
    render::{SOURCE_DESCRIPTION, SourcePlace},
};

/// The former base URLs of a Source, and its present one.
#[derive(Clone, Debug)]
pub(crate) struct Moves {
    former: Vec<SourcePlace>,
    present: SourcePlace,
}

impl Moves {
    /// Returns those of a Source.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub(crate) fn of(source: &SourceContext) -> Result<Self, Error> {
        let former = source.former_base_urls()?;
        let former = former.iter().filter_map(|base| SourcePlace::new(base).ok()).collect();
        Ok(Self { former, present: source.place().clone() })
    }

    /// Redirects requests below former base URLs, which reach this server if the host stayed, or still leads here; and the
    /// well-known URI of the host, as a server in front does for a Source below a path (SD-2, DISC-1).
    pub(crate) fn redirecting(&self, routes: Router) -> Router {
        if self.former.is_empty() && self.present.is_host_root() {
            return routes;
        }
        routes.layer(middleware::from_fn_with_state(Arc::new(self.clone()), redirect))
    }
}

async fn redirect(State(moves): State<Arc<Moves>>, request: Request, next: Next) -> Response {
    let uri = request.uri();
    let named = uri.authority().map(Authority::as_str);
    let named = named.or_else(|| request.headers().get(header::HOST)?.to_str().ok()).unwrap_or_default();
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let location = moves.location(named, target);
    // If the Source has left a host, nothing else is below it; below its present host there may be.
    let is_elsewhere = !named.eq_ignore_ascii_case(authority(&moves.present));
    if let Some(location) = location.as_deref().filter(|_| is_elsewhere) {
        return moved(location);
    }
    let location = location.or_else(|| moves.description(uri.path()));
    let answer = next.run(request).await;
    match location {
        Some(location) if answer.status() == StatusCode::NOT_FOUND => moved(&location),
        _ => answer,
    }
}

impl Moves {
    /// Returns the present URI of a request for a former one; the longest path that fits decides.
    fn location(&self, host: &str, target: &str) -> Option<String> {
        let fits = |place: &&SourcePlace| {
            authority(place).eq_ignore_ascii_case(host) && target.starts_with(place.path())
        };
        let former = self.former.iter().filter(fits).max_by_key(|place| place.path().len())?;
        let is_present = authority(&self.present).eq_ignore_ascii_case(host)
            && target.starts_with(self.present.path())
            && self.present.path().len() >= former.path().len();
        (!is_present).then(|| format!("{}{}", self.present.base(), &target[former.path().len()..]))
    }

    /// Returns the URI of the Source Description if a path is that of the host's well-known URI, and the Source is below a
    /// path.
    fn description(&self, path: &str) -> Option<String> {
        let is_well_known = path.strip_prefix('/') == Some(SOURCE_DESCRIPTION);
        (is_well_known && !self.present.is_host_root())
            .then(|| self.present.source_description().into_string())
    }
}

fn authority(place: &SourcePlace) -> &str {
    place.base().split('/').nth(2).unwrap_or_default()
}

fn moved(location: &str) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    response
        .headers_mut()
        .extend(HeaderValue::from_str(location).ok().map(|location| (header::LOCATION, location)));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_below_a_former_base_url_leads_to_the_present_one() {
        let moves = |former: &str, present: &str| Moves {
            former: vec![SourcePlace::new(former).unwrap()],
            present: SourcePlace::new(present).unwrap(),
        };
        for (former, present, host, target, location) in [
            ("http://a/old/", "http://a/new/", "a", "/old/x?y", Some("http://a/new/x?y")),
            ("http://a/old/", "http://a/new/", "a", "/new/x", None),
            ("http://a/old/", "http://a/new/", "b", "/old/x", None),
            ("http://a/", "http://a/new/", "a", "/new/x", None),
            ("http://a/", "http://a/new/", "a", "/x", Some("http://a/new/x")),
            ("http://a/old/", "http://a/", "a", "/old/x", Some("http://a/x")),
            ("http://a/", "https://b/", "A", "/x", Some("https://b/x")),
            ("http://a/", "https://b/", "b", "/x", None),
        ] {
            assert_eq!(
                moves(former, present).location(host, target).as_deref(),
                location,
                "{former} {target}"
            );
        }
    }
}
