//! The kinds of documents that are read. A document that declares another kind is treated like one that cannot be read
//! (R6): its entries mean something else, and a resource that it does not name would seem to be deleted or unchanged.

use resourcesync::{Capability, Form, Uri};

use crate::{Error, documents::Document};

/// The kind that a document must have, by the link that led to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpectedKind {
    ResourceList,
    ResourceDump,
    ResourceDumpManifest,
    ChangeList,
    ChangeDump,
    ChangeDumpManifest,
}

impl ExpectedKind {
    /// Refuses a document that declares another kind. One without a capability, or with one that the standard does not
    /// define, is accepted.
    ///
    /// # Errors
    /// [`Error::InvalidDocument`] if it declares another kind.
    pub(super) fn check(self, document: &Document) -> Result<(), Error> {
        let Some(declared) = document.header.capability() else { return Ok(()) };
        if matches!(declared, Capability::Other(_)) || self.allowed().contains(declared) {
            return Ok(());
        }
        Err(Error::InvalidDocument {
            url: document.uri.as_str().to_owned(),
            what: format!("it should be a {}, and says that it is a {declared}", self.name()),
        })
    }

    /// Refuses a document that [`Self::check`] refuses, and an index in place of a list.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub(super) fn check_list(self, document: &Document) -> Result<(), Error> {
        self.check(document)?;
        match document.header.form {
            Form::List => Ok(()),
            Form::Index => Err(Error::InvalidDocument {
                url: document.uri.as_str().to_owned(),
                what: format!("it should be a {}, and is an index (GEN-12)", self.name()),
            }),
        }
    }

    fn allowed(self) -> &'static [Capability] {
        match self {
            Self::ResourceList => &[Capability::ResourceList],
            Self::ResourceDump => &[Capability::ResourceDump],
            Self::ResourceDumpManifest => &[Capability::ResourceDumpManifest],
            Self::ChangeList => &[Capability::ChangeList],
            Self::ChangeDump => &[Capability::ChangeDump],
            // The reference client writes every manifest as one of a Resource Dump.
            Self::ChangeDumpManifest => &[Capability::ChangeDumpManifest, Capability::ResourceDumpManifest],
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::ResourceList => "Resource List",
            Self::ResourceDump => "Resource Dump",
            Self::ResourceDumpManifest => "Resource Dump Manifest",
            Self::ChangeList => "Change List",
            Self::ChangeDump => "Change Dump",
            Self::ChangeDumpManifest => "Change Dump Manifest",
        }
    }
}

/// Returns the error for documents or packages that another document names without a usable `loc`, or with that of another
/// entry (O967): whatever they have is lost, as if they could not be read (O708). `None` if there are none.
pub(super) fn unusable_members(uri: &Uri, count: u64) -> Option<Error> {
    (count > 0).then(|| Error::InvalidDocument {
        url: uri.as_str().to_owned(),
        what: format!("entries without a usable loc of their own, whose content is lost: {count}"),
    })
}

/// The kinds of documents that list changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    /// Change Lists (§12).
    Lists,
    /// Change Dumps (§13).
    Dumps,
}

impl ChangeKind {
    pub(crate) fn capability(self) -> Capability {
        match self {
            Self::Lists => Capability::ChangeList,
            Self::Dumps => Capability::ChangeDump,
        }
    }

    /// Returns the kind that has the same changes.
    pub(super) fn other(self) -> Self {
        match self {
            Self::Lists => Self::Dumps,
            Self::Dumps => Self::Lists,
        }
    }

    pub(super) fn document(self) -> ExpectedKind {
        match self {
            Self::Lists => ExpectedKind::ChangeList,
            Self::Dumps => ExpectedKind::ChangeDump,
        }
    }

    pub(super) fn archive(self) -> Capability {
        match self {
            Self::Lists => Capability::ChangeListArchive,
            Self::Dumps => Capability::ChangeDumpArchive,
        }
    }
}
