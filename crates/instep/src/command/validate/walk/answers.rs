//! Converts the answers of a server into the values that the checks of `resourcesync` take.

use std::io::{self, BufRead, BufReader, Read};

use instep_destination::documents::Download;
use resourcesync::{
    Uri,
    discovery::{HeaderLink, parse_link_header},
    validate::HttpAnswer,
};

use super::super::files::is_zip;

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

/// Returns the decoded body of an answer. If its first bytes cannot be decoded, reading fails with the same error.
pub(super) fn body(download: &Download) -> Box<dyn BufRead + Send> {
    download.read().unwrap_or_else(|error| Box::new(BufReader::new(FailedBody(Some(error)))))
}

/// A body of which nothing can be decoded.
struct FailedBody(Option<io::Error>);

impl Read for FailedBody {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Returns `true` if a body begins as a ZIP file does; one that cannot be decoded does not.
pub(super) fn begins_as_zip(download: &Download) -> io::Result<bool> {
    match is_zip(&mut body(download)) {
        Err(error) if is_damage(&error) => Ok(false),
        read => read,
    }
}

/// Returns `true` if bytes arrived that cannot be decoded: a fault of the Source, and not of this machine.
pub(super) fn is_damage(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof
    )
}
