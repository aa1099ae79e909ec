use resourcesync::{Digests, Metadata, Uri};

use super::FetchError;
use crate::http::{Origin, Validators};

/// A resource to fetch, with whatever the caller wants back beside the outcome.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Task<T> {
    /// The resource's URI.
    pub uri: Uri,
    /// Mirrors to try first, the most preferred first (§14.2); one out of scope is passed over.
    pub mirrors: Vec<Uri>,
    /// The origin of the document that named it.
    pub speaker: Option<Origin>,
    /// What it must be.
    pub expected: Expected,
    /// What is held, where the lists do not tell whether it is current.
    pub held: Option<Validators>,
    /// The caller's own.
    pub context: T,
}

impl<T> Task<T> {
    /// A resource of which nothing is known but its URI.
    pub fn new(uri: Uri, context: T) -> Self {
        Self { uri, mirrors: Vec::new(), speaker: None, expected: Expected::default(), held: None, context }
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
    /// The content coding that length and digests belong to (ATT-11, B38).
    pub encoding: Option<Box<str>>,
}

impl Expected {
    /// What an entry says.
    pub fn of(metadata: &Metadata) -> Self {
        Self { length: metadata.length, digests: metadata.hash.clone(), encoding: metadata.encoding.clone() }
    }

    pub(crate) fn encoding(&self) -> Option<&str> {
        self.encoding.as_deref().filter(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case("identity"))
    }
}

/// What came of a task.
#[derive(Debug)]
#[non_exhaustive]
pub enum Outcome {
    /// It is there and right.
    Staged(Staged),
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
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Staged {
    /// The file's name on its stage.
    pub name: Box<str>,
    /// Its bytes.
    pub length: u64,
    /// The digests computed: those that were verified, or SHA-256 where none could be.
    pub digests: Digests,
    /// Whether a digest of the Source was verified.
    pub verified: bool,
    /// What to ask with next time.
    pub validators: Validators,
    /// The media type that the server states.
    pub media_type: Option<Box<str>>,
}
