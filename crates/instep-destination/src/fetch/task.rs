use resourcesync::{DateTime, Digests, Metadata, Uri};

use super::FetchError;
use crate::{
    http::{Origin, Validators},
    store::Staged,
};

/// A resource to fetch, with whatever the caller wants back beside the outcome.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Task<T> {
    /// The resource's URI.
    pub uri: Uri,
    /// Mirrors to try first, the most preferred first (§14.2); one out of scope is passed over.
    pub mirrors: Vec<Uri>,
    /// Places to try when its own URI does not have the bytes that its digest promises: versions that stay (§14.6).
    pub fallbacks: Vec<Uri>,
    /// The moment whose state is wanted, as `Accept-Datetime` has it.
    pub moment: Option<Box<str>>,
    /// The origin of the document that named it.
    pub speaker: Option<Origin>,
    /// What it must be.
    pub expected: Expected,
    /// What is held, where the lists do not tell whether it is current.
    pub held: Option<Validators>,
    /// When it was last modified; else what the server says counts.
    pub modified: Option<DateTime>,
    /// The caller's own.
    pub context: T,
}

impl<T> Task<T> {
    /// A resource of which nothing is known but its URI.
    pub fn new(uri: Uri, context: T) -> Self {
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
            context,
        }
    }
}

/// What the Source says of the bytes of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Expected {
    /// How many there are.
    pub length: Option<u64>,
    /// Their digests.
    pub digests: Digests,
    /// The content coding that length and digests belong to (ATT-11, AMB-B38).
    pub encoding: Option<Box<str>>,
}

impl Expected {
    /// What an entry says.
    pub fn of(metadata: &Metadata) -> Self {
        Self { length: metadata.length, digests: metadata.hash.clone(), encoding: metadata.encoding.clone() }
    }

    pub(crate) fn encoding(&self) -> Option<&str> {
        self.encoding
            .as_deref()
            .filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("identity"))
    }
}

/// What came of a task.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// It is there and right.
    Staged(Arrival),
    /// It is what is held (304).
    NotModified,
    /// The Source does not have it: 404 or 410.
    Gone {
        /// Which of the two.
        status: u16,
    },
    /// It did not arrive, or it is not right.
    Failed(FetchError),
}

/// A resource in a staged file, verified.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Arrival {
    /// The file. Its digests are those that were compared, or SHA-256 where none could be.
    pub staged: Staged,
    /// Whether a digest of the Source was compared.
    pub verified: bool,
    /// What to ask with next time.
    pub validators: Validators,
    /// The media type that the server states.
    pub media_type: Option<Box<str>>,
}
