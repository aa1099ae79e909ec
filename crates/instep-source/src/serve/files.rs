//! Files of one folder over HTTP: conditions, one range, prepared encodings (RFC 9110).

use std::{
    borrow::Cow,
    fs::File,
    io,
    sync::Arc,
    time::{Duration, SystemTime},
};

use axum::{body::Body, response::Response};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::{
    cache::Cache,
    condition::{self, Precondition},
    file_body::FileBody,
    path::{self, Beneath},
    range::{self, RequestedRange},
    representation::{self, Description, Representation},
};

/// Bytes of representations kept for one folder in each of two generations.
const CACHE_BYTES: usize = 16 * 1024 * 1024;

/// The time for which the description of a resource is used again. A manifest may give it another type, and a version a
/// successor, without a change of the file.
const DESCRIBED_FOR: Duration = Duration::from_secs(5);

/// Files by name, and their metadata in the Source. Unknown files are not served.
pub(crate) trait FileProvider: Send + Sync {
    /// Opens the file with a name.
    fn open(&self, name: &[u8]) -> io::Result<File>;

    /// Returns the description of a file that was opened under a name; `None` if it is not published. By now another file
    /// may have the name.
    fn describe(&self, name: &[u8], file: &File) -> io::Result<Option<Description>>;

    /// Returns the `Cache-Control` of an answer.
    fn cache_control(&self, name: &[u8]) -> HeaderValue;

    /// Returns `true` if they come from a supplier.
    fn are_supplied(&self) -> bool {
        false
    }

    /// Returns `true` if these are documents: `NAME.gz` beside a file is the same in gzip, and any page may read them.
    fn is_for_documents(&self) -> bool;
}

/// Files that are served.
pub(crate) struct Files {
    provider: Box<dyn FileProvider>,
    cache: Cache,
    /// The time for which a description is used again; `None` if it depends on the file alone.
    described_for: Option<Duration>,
}

/// A file that is about to be served.
struct FoundFile {
    file: File,
    representation: Arc<Representation>,
    /// The media type of the document that a gzip twin contains.
    twin_of: Option<HeaderValue>,
}

impl Files {
    /// Returns the files of a provider.
    pub(crate) fn new(provider: impl FileProvider + 'static) -> Self {
        let described_for = (!provider.is_for_documents()).then_some(DESCRIBED_FOR);
        Self { provider: Box::new(provider), cache: Cache::new(CACHE_BYTES), described_for }
    }

    /// Returns the name that the path of a request stands for; `None` if none that these files could have.
    pub(crate) fn named<'a>(&self, path: &'a str) -> Option<Beneath<'a>> {
        if self.provider.are_supplied() { path::beneath_supplied(path) } else { path::beneath(path) }
    }

    /// Answers a GET or HEAD for a name; `None` if nothing is served under it.
    ///
    /// # Errors
    /// If the file or its description cannot be read: that is no reason to answer that the resource is gone.
    pub(crate) fn answer(
        &self,
        method: &Method,
        name: &Beneath<'_>,
        headers: &HeaderMap,
    ) -> io::Result<Option<Response>> {
        let (name, found) = if name.is_folder {
            let index = index_of(&name.name);
            let found = self.find(&index)?;
            (Cow::Owned(index), found)
        } else {
            (Cow::Borrowed(&*name.name), self.negotiate(&name.name, headers)?)
        };
        Ok(found.map(|found| self.representation(method, &name, headers, found)))
    }

    /// Returns `true` if a name is that of a folder with a page.
    pub(crate) fn has_index(&self, name: &[u8]) -> io::Result<bool> {
        Ok(self.find(&index_of(name))?.is_some())
    }

    /// Returns the file with a name, or its prepared gzip form if requested and not older.
    fn negotiate(&self, name: &[u8], headers: &HeaderMap) -> io::Result<Option<FoundFile>> {
        let Some(plain) = self.find(name)? else { return Ok(None) };
        if !self.provider.is_for_documents() || !accepts_gzip(headers) {
            return Ok(Some(plain));
        }
        let twin = self.find(&[name, b".gz".as_slice()].concat())?;
        let twin =
            twin.filter(|twin| twin.representation.stamp.mtime_ns >= plain.representation.stamp.mtime_ns);
        Ok(Some(match twin {
            Some(twin) => FoundFile { twin_of: Some(plain.representation.content_type.clone()), ..twin },
            None => plain,
        }))
    }

    fn find(&self, name: &[u8]) -> io::Result<Option<FoundFile>> {
        let file = match self.provider.open(name) {
            Ok(file) => file,
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let stamp = representation::stamp(&metadata);
        let is_current = |cached: &Arc<Representation>| {
            let lasts = |most| cached.described.elapsed() < most;
            cached.stamp == stamp && self.described_for.is_none_or(lasts)
        };
        if let Some(representation) = self.cache.get(name).filter(is_current) {
            return Ok(Some(FoundFile { file, representation, twin_of: None }));
        }
        let Some(description) = self.provider.describe(name, &file)? else { return Ok(None) };
        let representation = Arc::new(Representation::of(&file, stamp, description)?);
        // A document is replaced by rename and never written in place: its stamp is enough.
        if self.provider.is_for_documents() || !representation::is_racy(stamp, SystemTime::now()) {
            self.cache.insert(name, Arc::clone(&representation));
        }
        Ok(Some(FoundFile { file, representation, twin_of: None }))
    }

    fn representation(
        &self,
        method: &Method,
        name: &[u8],
        headers: &HeaderMap,
        found: FoundFile,
    ) -> Response {
        let mut response = Response::new(Body::empty());
        self.describe_representation(name, &found, response.headers_mut());
        let validators = &found.representation.validators;
        match condition::outcome(headers, validators) {
            Precondition::Proceed => {}
            Precondition::NotModified => {
                response.headers_mut().remove(header::CONTENT_TYPE);
                *response.status_mut() = StatusCode::NOT_MODIFIED;
                return response;
            }
            Precondition::Failed => return without_content(response, StatusCode::PRECONDITION_FAILED),
        }
        let length = found.representation.stamp.length;
        let asked = match headers.get(header::RANGE).and_then(|value| value.to_str().ok()) {
            Some(value) if method == Method::GET && condition::range_applies(headers, validators) => {
                range::asked(value, length)
            }
            _ => RequestedRange::Whole,
        };
        let part = match asked {
            RequestedRange::Whole => 0..length,
            RequestedRange::Part(part) => {
                *response.status_mut() = StatusCode::PARTIAL_CONTENT;
                let (first, last) = (part.start, part.end - 1);
                set(&mut response, header::CONTENT_RANGE, &format!("bytes {first}-{last}/{length}"));
                part
            }
            RequestedRange::Unsatisfiable => {
                set(&mut response, header::CONTENT_RANGE, &format!("bytes */{length}"));
                return without_content(response, StatusCode::RANGE_NOT_SATISFIABLE);
            }
        };
        response.headers_mut().insert(header::CONTENT_LENGTH, (part.end - part.start).into());
        if method == Method::GET {
            *response.body_mut() = match &found.representation.body {
                Some(bytes) => Body::from(bytes.slice(part.start as usize..part.end as usize)),
                None => Body::new(FileBody::new(Arc::new(found.file), part)),
            };
        }
        response
    }

    fn describe_representation(&self, name: &[u8], found: &FoundFile, headers: &mut HeaderMap) {
        let representation = &found.representation;
        headers.reserve(12);
        headers.insert(header::CONTENT_TYPE, representation.content_type.clone());
        headers.insert(header::ETAG, representation.validators.etag.clone());
        headers.insert(header::LAST_MODIFIED, representation.last_modified.clone());
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
        headers.insert(header::CACHE_CONTROL, self.provider.cache_control(name));
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if let Some(link) = &representation.link {
            headers.insert(header::LINK, link.clone());
        }
        if let Some(coding) = &representation.content_encoding {
            headers.insert(header::CONTENT_ENCODING, coding.clone());
        }
        if self.provider.is_for_documents() {
            headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        }
        if let Some(content_type) = &found.twin_of {
            headers.insert(header::CONTENT_TYPE, content_type.clone());
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        }
    }
}

impl std::fmt::Debug for Files {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Files").finish_non_exhaustive()
    }
}

fn index_of(folder: &[u8]) -> Vec<u8> {
    if folder.is_empty() { b"index.html".to_vec() } else { [folder, b"/index.html"].concat() }
}

/// Returns `true` if the error means that no such file exists, as opposed to a failure that passes.
fn is_absence(error: &io::Error) -> bool {
    use rustix::io::Errno;
    const ABSENT: [Errno; 9] = [
        Errno::NOENT,
        Errno::NOTDIR,
        Errno::LOOP,
        Errno::XDEV,
        Errno::ACCESS,
        Errno::NAMETOOLONG,
        Errno::INVAL,
        Errno::NXIO,
        Errno::ISDIR,
    ];
    error.kind() == io::ErrorKind::NotFound
        || Errno::from_io_error(error).is_some_and(|code| ABSENT.contains(&code))
}

fn without_content(mut response: Response, status: StatusCode) -> Response {
    *response.status_mut() = status;
    for name in [header::CONTENT_TYPE, header::CONTENT_ENCODING, header::CACHE_CONTROL] {
        response.headers_mut().remove(name);
    }
    response
}

fn set(response: &mut Response, name: header::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

/// Returns `true` if gzip is accepted with a quality other than 0 (RFC 9110 §12.5.3).
fn accepts_gzip(headers: &HeaderMap) -> bool {
    headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok()).any(|list| {
        list.split(',').any(|offer| {
            let mut parameters = offer.split(';').map(str::trim);
            let is_gzip = parameters.next().is_some_and(|coding| coding.eq_ignore_ascii_case("gzip"));
            let is_refused = |parameter: &str| {
                let quality = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="));
                quality.and_then(|quality| quality.parse::<f32>().ok()).is_some_and(|quality| quality <= 0.0)
            };
            is_gzip && !parameters.any(is_refused)
        })
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    /// One resource, whose type the manifest changes, without a change of its file.
    struct OneResource {
        file: tempfile::NamedTempFile,
        is_html: Arc<AtomicBool>,
    }

    impl FileProvider for OneResource {
        fn open(&self, _: &[u8]) -> io::Result<File> {
            self.file.reopen()
        }

        fn describe(&self, _: &[u8], _: &File) -> io::Result<Option<Description>> {
            let kind = if self.is_html.load(Ordering::Relaxed) { "text/html" } else { "text/plain" };
            let content_type = Some(HeaderValue::from_static(kind));
            Ok(Some(Description { content_type, ..Description::default() }))
        }

        fn cache_control(&self, _: &[u8]) -> HeaderValue {
            HeaderValue::from_static("no-cache")
        }

        fn is_for_documents(&self) -> bool {
            false
        }
    }

    #[test]
    fn o622_a_resource_is_served_with_a_new_type_although_its_file_is_as_before() {
        let (file, is_html) = (tempfile::NamedTempFile::new().unwrap(), Arc::new(AtomicBool::new(false)));
        let mut files = Files::new(OneResource { file, is_html: Arc::clone(&is_html) });
        let kind = |files: &Files| files.find(b"a").unwrap().unwrap().representation.content_type.clone();
        // Kept by hand, because a file that changed just now is described for each request.
        let cached = files.find(b"a").unwrap().unwrap().representation;
        files.cache.insert(b"a", cached);
        is_html.store(true, Ordering::Relaxed);
        assert_eq!(kind(&files), "text/plain", "it is not described for each request");
        files.described_for = Some(Duration::ZERO);
        assert_eq!(kind(&files), "text/html");
    }
}
