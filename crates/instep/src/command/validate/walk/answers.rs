//! Converts the answers of a server into the values that the checks of `resourcesync` take.

use instep_destination::documents::Download;
use resourcesync::{
    Uri,
    discovery::{HeaderLink, parse_link_header},
    validate::HttpAnswer,
};

/// Returns the links of an answer's `Link` fields.
pub(super) fn header_links(download: &Download, resource: &Uri) -> impl Iterator<Item = HeaderLink> {
    let fields = download.headers.get_all("link").into_iter().filter_map(|field| field.to_str().ok());
    fields.flat_map(|field| parse_link_header(field, resource))
}

/// Returns the headers of an answer for the checks of resources and packages. The digests are left for the caller.
pub(super) fn http_answer(download: &Download, is_zip: Option<bool>) -> HttpAnswer {
    let text =
        |name: &str| download.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let mut answer = HttpAnswer::new(200);
    answer.content_length = text("content-length").and_then(|length| length.parse().ok());
    answer.content_encoding = text("content-encoding");
    answer.content_type = text("content-type");
    answer.is_zip = is_zip;
    answer
}
