//! Changes of the copy, for applications that act on them, such as an index or a cache.

use std::{fmt, io};

use resourcesync::{Change, DateTime, Digests};

/// A change of the copy that is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CopyChange {
    /// Its number among all changes of this copy. Numbers rise; a change that is delivered twice keeps its number.
    pub sequence: i64,
    /// The kind of change: created, updated or deleted. A file that makes room for a folder of its name counts as
    /// updated, because its path is new.
    pub change: Change,
    /// The resource.
    pub uri: String,
    /// Its path in the copy, or its former path if it was deleted.
    pub path: String,
    /// The number of bytes, if it is known.
    pub length: Option<u64>,
    /// Digests of the held or deleted bytes.
    pub digests: Digests,
    /// Last modification, as the Source states it.
    pub lastmod: Option<DateTime>,
    /// The time at which this version was created, as the Source states it.
    pub datetime: Option<DateTime>,
}

/// Receives each change of a copy, at least once and in order.
///
/// # Contract
/// Changes arrive after their commit. Success means that all of them were received: they do not arrive again. After a
/// failure all of them arrive again in a later run, including those that were received before the failure.
///
/// ```
/// use std::{io, sync::Mutex};
///
/// use instep_destination::{ChangeSink, CopyChange};
///
/// #[derive(Debug, Default)]
/// struct Index(Mutex<Vec<String>>);
///
/// impl ChangeSink for Index {
///     fn take(&self, changes: &[CopyChange]) -> io::Result<()> {
///         let paths = changes.iter().map(|change| change.path.clone());
///         self.0.lock().map_err(|_| io::Error::other("poisoned"))?.extend(paths);
///         Ok(())
///     }
/// }
/// ```
pub trait ChangeSink: Send + Sync + fmt::Debug {
    /// Receives new changes.
    ///
    /// # Errors
    /// If not all of them were received.
    fn take(&self, changes: &[CopyChange]) -> io::Result<()>;
}
