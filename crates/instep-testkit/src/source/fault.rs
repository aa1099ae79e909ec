//! Faults that a `FakeSource` has on request.

use std::time::Duration;

/// A fault of one answer.
#[derive(Clone, Debug)]
pub enum Fault {
    /// This status, without the requested body.
    Status(u16),
    /// This status, with the requested body.
    StatusBeside(u16),
    /// This status with a `Retry-After` of any form.
    RetryAfter(u16, String),
    /// `302` to this URL.
    Redirect(String),
    /// Another status that redirects, to this URL.
    RedirectAs(u16, String),
    /// This header besides the right ones; one of the same name is replaced.
    Header(&'static str, String),
    /// Nothing at all until [`super::FakeSource::release`].
    Hold,
    /// Headers and this many bytes of the body, then nothing until [`super::FakeSource::release`].
    Stall(usize),
    /// Headers after this time.
    Delay(Duration),
    /// A byte of the body each time this has passed.
    Drip(Duration),
    /// Only this many bytes of the body, though all are announced; then the end of the connection.
    Truncate(usize),
    /// Only this many bytes of the body; then a reset.
    Reset(usize),
    /// The complete body under another `Content-Length`; then the end of the connection.
    Length(u64),
    /// Another body.
    Body(Vec<u8>),
    /// The right body with its first bit flipped.
    Flip,
    /// The right body, gzip-coded and declared so.
    Gzip,
    /// The body without `Content-Length`, in chunks.
    Chunked,
    /// The body over and over, without end.
    Endless,
    /// Header lines without end.
    EndlessHeaders,
    /// `Range` is ignored: 200 with the whole body.
    RangeIgnored,
    /// `Range` is answered with other bytes than requested, and declared so.
    RangeShifted,
    /// Two parts as `multipart/byteranges`.
    RangeMultipart,
}

/// Something served as it is: a document written by hand, a page, a package.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The bytes.
    pub body: Vec<u8>,
    /// Headers besides the length; they win over the usual ones.
    pub headers: Vec<(&'static str, String)>,
}

impl<T: Into<Vec<u8>>> From<T> for Page {
    fn from(body: T) -> Self {
        Self { body: body.into(), headers: Vec::new() }
    }
}

impl Page {
    /// Returns the page with one more header.
    #[must_use]
    pub fn with_header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}
