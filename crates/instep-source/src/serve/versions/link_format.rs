//! Links between the versions of a resource, as a header and as a TimeMap (RFC 7089 §2.2 and §5, RFC 6690).

use std::time::{Duration, SystemTime};

use http::HeaderValue;
use resourcesync::{DateTime, Uri};

use crate::{catalogue::ResourceVersion, publish::VersionPlace};

/// The links of one resource.
pub(super) struct VersionLinks<'a> {
    place: &'a VersionPlace,
    original: &'a Uri,
}

impl<'a> VersionLinks<'a> {
    pub(super) fn new(place: &'a VersionPlace, original: &'a Uri) -> Self {
        Self { place, original }
    }

    /// Returns the `Link` header of a TimeGate or a version: the first and the last version among the targets.
    pub(super) fn header(&self, versions: &[ResourceVersion]) -> Option<HeaderValue> {
        let mut links = self.common();
        let last = versions.len().saturating_sub(1);
        let ends = versions.iter().enumerate().filter(|(index, _)| *index == 0 || *index == last);
        links.extend(ends.map(|(index, version)| self.memento(version, index == 0, index == last)));
        HeaderValue::from_str(&links.join(", ")).ok()
    }

    /// Returns the list of all versions.
    pub(super) fn timemap(&self, versions: &[ResourceVersion]) -> String {
        let mut links = self.common();
        let (from, until) = (versions.first().map(date), versions.last().map(date));
        if let (Some(timemap), Some(from), Some(until)) = (self.place.timemap(self.original), from, until) {
            links[1] = format!(
                "<{timemap}>; rel=\"self\"; type=\"application/link-format\"; from=\"{from}\"; until=\"{until}\""
            );
        }
        let last = versions.len().saturating_sub(1);
        let mementos = versions.iter().enumerate();
        links.extend(mementos.map(|(index, version)| self.memento(version, index == 0, index == last)));
        links.join(",\n") + "\n"
    }

    /// Returns the links to the resource, its TimeMap and its TimeGate.
    fn common(&self) -> Vec<String> {
        let link = |uri: Option<Uri>, rel: &str| format!("<{}>; rel=\"{rel}\"", uri.unwrap_or_default());
        vec![
            link(Some(self.original.clone()), "original"),
            link(self.place.timemap(self.original), "timemap") + "; type=\"application/link-format\"",
            link(self.place.timegate(self.original), "timegate"),
        ]
    }

    fn memento(&self, version: &ResourceVersion, first: bool, last: bool) -> String {
        let uri = self.place.memento(self.original, version.datetime).unwrap_or_default();
        let rel = match (first, last) {
            (true, true) => "first last memento",
            (true, false) => "first memento",
            (false, true) => "last memento",
            (false, false) => "memento",
        };
        format!("<{uri}>; rel=\"{rel}\"; datetime=\"{}\"", date(version))
    }
}

fn date(version: &ResourceVersion) -> String {
    http_date(version.datetime)
}

/// Returns a datetime in the form of HTTP, rounded down to the second.
pub(super) fn http_date(datetime: DateTime) -> String {
    let seconds = u64::try_from(datetime.unix_micros().div_euclid(1_000_000)).unwrap_or_default();
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds))
}
