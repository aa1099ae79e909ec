//! Reads the records of an archive as states of resources. A fault concerns only its record.

use std::io::{self, BufRead};

use instep_warc::{HttpHead, WarcHead, WarcKind, WarcRecord, payload};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use resourcesync::{DateTime, Uri};

use super::{
    block::CheckedBlock,
    revisits::Revisit,
    states::{States, UnpackedState, digest_key},
    visit::Visit,
};

impl States {
    /// Reads a record. Returns its fault as a text; `None` if it has none.
    ///
    /// # Errors
    /// If the archive cannot be read, or a body not written.
    pub(super) fn take(&mut self, record: WarcRecord<'_>, place: &str) -> io::Result<Option<String>> {
        let WarcRecord { head, block, .. } = record;
        if head.kind == WarcKind::Request {
            return self.take_request(head, block).map(|()| None);
        }
        if !matches!(head.kind, WarcKind::Response | WarcKind::Resource | WarcKind::Revisit) {
            return Ok(None);
        }
        let (Some(uri), Some(date)) = (head.target(), head.date()) else {
            return Ok(Some("it names no URI, or no date".to_owned()));
        };
        let uri = uri_of(uri);
        if self.is_elsewhere(uri.as_ref().unwrap_or_else(|target| target)) {
            return Ok(None);
        }
        let uri = match uri {
            Ok(uri) => uri,
            Err(target) => return Ok(Some(format!("{target:?} is not a URI"))),
        };
        let date = match DateTime::parse(date) {
            Ok(date) => date.unix_micros(),
            Err(error) => return Ok(Some(format!("{uri}: its date: {error}"))),
        };
        if head.get("WARC-Segment-Number").is_some() {
            return Ok(Some(format!("{uri} is in several segments, which cannot be joined here")));
        }
        let visit = Visit::new(uri, date, head);
        match head.kind {
            WarcKind::Resource => self.take_resource(head, block, &visit),
            _ => self.take_answer(head, block, visit, place),
        }
    }

    fn take_resource(
        &mut self,
        head: &WarcHead<'_>,
        block: &mut dyn BufRead,
        visit: &Visit,
    ) -> io::Result<Option<String>> {
        let uri = &visit.uri;
        if head.get("WARC-Truncated").is_some() {
            return Ok(Some(format!("{uri} is truncated")));
        }
        let mut block = CheckedBlock::new(head, block);
        let kept = self.keep(&mut block, head.get("WARC-Payload-Digest"), true);
        if let Some(what) = block.finish()? {
            return Ok(Some(format!("{uri}: {what}")));
        }
        let media_type = head.get("Content-Type").map(str::to_owned);
        self.put_kept(visit, kept, |body, length| UnpackedState { body, length, media_type, lastmod: None })
    }

    fn take_answer(
        &mut self,
        head: &WarcHead<'_>,
        block: &mut dyn BufRead,
        visit: Visit,
        place: &str,
    ) -> io::Result<Option<String>> {
        let uri = &visit.uri;
        let mut block = CheckedBlock::new(head, block);
        let http = HttpHead::read(&mut block)?;
        match (http.status, &head.kind) {
            (Some(404 | 410), _) => {
                self.note(&visit, None)?;
                Ok(None)
            }
            (None, WarcKind::Response) => Ok(Some(format!("{uri} has no answer of HTTP"))),
            (Some(200), WarcKind::Response) if head.get("WARC-Truncated").is_some() => {
                Ok(Some(format!("{uri} is truncated")))
            }
            (Some(200), WarcKind::Response) => self.take_payload(head, &http, block, &visit),
            (status, WarcKind::Revisit) => {
                // A revisit without a digest says only that the known state was found again.
                if let Some(digest) = head.get("WARC-Payload-Digest").map(digest_key) {
                    let (media_type, lastmod) = stated(&http);
                    let is_unmodified = status == Some(304);
                    let revisit = Revisit { visit, digest, media_type, lastmod, is_unmodified };
                    self.take_revisit(revisit, place)?;
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Takes the payload of a complete answer.
    fn take_payload(
        &mut self,
        head: &WarcHead<'_>,
        http: &HttpHead,
        mut block: CheckedBlock<'_>,
        visit: &Visit,
    ) -> io::Result<Option<String>> {
        let uri = &visit.uri;
        let Some(mut plain) = payload(http, &mut block) else {
            return Ok(Some(format!("{uri} is in a coding that is not known here")));
        };
        // Only the digest of a plain payload can be compared: archives do not agree on whether that of a coded payload is
        // computed with the coding.
        let is_plain = ["Transfer-Encoding", "Content-Encoding"].iter().all(|name| http.get(name).is_none());
        let kept = self.keep(&mut plain, head.get("WARC-Payload-Digest"), is_plain);
        drop(plain);
        if let Some(what) = block.finish()? {
            return Ok(Some(format!("{uri}: {what}")));
        }
        // The length of a coded body is not compared, because writers that unpack the body do not correct it.
        let whole = http.get("Content-Length").filter(|_| is_plain).and_then(|length| length.parse().ok());
        if let (Ok((_, length)), Some(whole)) = (&kept, whole)
            && *length < whole
        {
            return Ok(Some(format!("{uri} is incomplete: it has {length} of {whole} bytes")));
        }
        let (media_type, lastmod) = stated(http);
        self.put_kept(visit, kept, |body, length| UnpackedState { body, length, media_type, lastmod })
    }

    /// Puts a state whose body was kept. Returns what is wrong with the body.
    fn put_kept(
        &self,
        visit: &Visit,
        kept: io::Result<(String, u64)>,
        state: impl FnOnce(String, u64) -> UnpackedState,
    ) -> io::Result<Option<String>> {
        match kept {
            Ok((body, length)) => self.put(visit, &state(body, length)).map(|()| None),
            // The coding or the bytes are damaged, but the record ends where it states, so the next one can be read.
            Err(error)
                if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) =>
            {
                Ok(Some(format!("{}: {error}", visit.uri)))
            }
            Err(error) => Err(error),
        }
    }
}

/// The ASCII characters that no URI has.
const NO_URI: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Returns the URI of a record without its fragment. Some crawlers write it as it was in a page; characters that no URI
/// has are then encoded, as they were in the request.
///
/// # Errors
/// Returns the text if it is not a URI even then.
fn uri_of(target: &str) -> Result<String, String> {
    let target = target.split('#').next().unwrap_or_default();
    let encoded = match Uri::parse(target) {
        Ok(_) => target.to_owned(),
        Err(_) => utf8_percent_encode(target, NO_URI).to_string(),
    };
    if Uri::parse(&encoded).is_ok() { Ok(encoded) } else { Err(target.to_owned()) }
}

/// Returns the media type and the time of modification that an answer states.
fn stated(http: &HttpHead) -> (Option<String>, Option<String>) {
    (http.get("Content-Type").map(str::to_owned), http.get("Last-Modified").and_then(w3c))
}

/// Returns a date of HTTP in the form of documents (W3C); `None` if it cannot be read.
fn w3c(date: &str) -> Option<String> {
    let time = DateTime::from(httpdate::parse_http_date(date).ok()?);
    Some(DateTime::from_unix_seconds(time.instant().0).to_string())
}
