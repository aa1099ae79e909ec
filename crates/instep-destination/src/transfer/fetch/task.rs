//! A resource to fetch, and its result.

use instep_net::{Origin, Validators};
use resourcesync::{DateTime, Digests, Metadata, Uri};

use super::{FetchError, TimeInCache};
use crate::store::Staged;

/// A resource to fetch, with a value of the caller that is returned with the outcome.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) struct Task<T> {
    /// The resource's URI.
    pub uri: Uri,
    /// The mirrors to try first, the most preferred first (§14.2). A mirror that is out of scope is skipped.
    pub mirrors: Vec<Uri>,
    /// The places to try if its own URI does not have the expected bytes: versions that do not change (§14.6). They are
    /// tried only if a digest is expected.
    pub fallbacks: Vec<Uri>,
    /// The moment whose state is wanted, in the form of `Accept-Datetime`; `None` for the present one.
    pub moment: Option<Box<str>>,
    /// The origin of the document that named it; `None` if the operator did.
    pub speaker: Option<Origin>,
    /// The length and digests that it must have.
    pub expected: Expected,
    /// The validators of the held copy, if the lists do not show if it is current. They must have come from `uri`.
    pub held: Option<Validators>,
    /// The time of its last modification; `None` to take that of the server.
    pub modified: Option<DateTime>,
    /// The memory that it takes while it waits, in tasks of usual size.
    pub weight: usize,
    /// The value of the caller.
    pub context: T,
}

impl<T> Task<T> {
    /// Returns a task for a resource of which only the URI is known.
    pub(crate) fn new(uri: Uri, context: T) -> Self {
        let expected = Expected::default();
        Self {
            uri,
            mirrors: Vec::new(),
            fallbacks: Vec::new(),
            moment: None,
            speaker: None,
            expected,
            held: None,
            modified: None,
            weight: 1,
            context,
        }
    }

    /// Returns the place that is tried first.
    pub(super) fn first_place(&self) -> &Uri {
        let own_first = self.held.as_ref().is_some_and(|held| !held.is_empty());
        self.mirrors.first().filter(|_| !own_first).unwrap_or(&self.uri)
    }

    /// Returns the task with another value of the caller.
    pub(crate) fn with_context<U>(self, context: U) -> Task<U> {
        let Self { uri, mirrors, fallbacks, moment, speaker, expected, held, modified, weight, context: _ } =
            self;
        Task { uri, mirrors, fallbacks, moment, speaker, expected, held, modified, weight, context }
    }
}

/// The length and digests of a resource as the Source states them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) struct Expected {
    /// The number of bytes.
    pub length: Option<u64>,
    /// The digests of the bytes.
    pub digests: Digests,
    /// The content coding that length and digests belong to (ATT-11, AMB-B38).
    pub encoding: Option<Box<str>>,
}

impl Expected {
    /// Returns the expectation of an entry.
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self { length: metadata.length, digests: metadata.hash.clone(), encoding: metadata.encoding.clone() }
    }

    pub(crate) fn encoding(&self) -> Option<&str> {
        self.encoding
            .as_deref()
            .filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("identity"))
    }
}

/// The result of a task.
#[derive(Debug)]
#[non_exhaustive]
pub(crate) enum FetchOutcome {
    /// It arrived and matches the expectation.
    Staged(Arrival),
    /// The server answers that the held bytes are current (304).
    NotModified {
        /// The time of the answer.
        sent: DateTime,
        /// The time that the answer was in a cache; `None` if it came from the Source itself.
        in_cache: Option<TimeInCache>,
    },
    /// The server answers that there is no such resource (404, 410), although the Source lists it.
    Gone {
        /// The status.
        status: u16,
    },
    /// It did not arrive, or does not match the expectation.
    Failed(FetchError),
}

/// A resource in a staged file, verified.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub(crate) struct Arrival {
    /// The file. Its digests are those that were compared, or SHA-256 if none was.
    pub staged: Staged,
    /// `true` if a digest of the Source was compared.
    pub verified: bool,
    /// The validators of its own URI for the next request; empty if it was fetched from another place (B22).
    pub validators: Validators,
    /// The media type that the server states, if it states one.
    pub media_type: Option<Box<str>>,
    /// The time at which these were the bytes of the resource, by the Source's clock; `None` if it is not known.
    pub sent: Option<DateTime>,
    /// The time that the bytes were in a cache; `None` if they came from the Source itself, or not in a response that
    /// states it.
    pub in_cache: Option<TimeInCache>,
    /// `true` if the bytes were the body of one response; `false` if they are from several parts, a package or a patch.
    pub came_whole: bool,
    /// `true` if nothing in the answer shows if the bytes are complete, because they ended with the connection.
    pub has_open_end: bool,
    /// The URI that redirects led to; `None` without redirects, and for bytes that are not from the resource's own URI.
    pub redirected_to: Option<Uri>,
}
