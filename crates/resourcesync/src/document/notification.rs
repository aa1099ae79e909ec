//! The payloads of notifications: a Change List in small.

use super::{Collected, Entry, kind};
use crate::value::{Capability, Change, DateTime, Uri};

/// The payload of a Change Notification (CN-6): changes as in a Change List. Root metadata may be missing (N8-5).
///
/// ```
/// use resourcesync::{Change, Entry, ReadOptions, document::ChangeNotification};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let notification = ChangeNotification::new("http://example.com/caps.xml".parse()?).push(Entry::changed(
///     "http://example.com/res1".parse()?,
///     Change::Updated,
///     "2013-01-03T09:00:00Z".parse()?,
/// ));
/// let message = notification.to_xml()?;
/// assert_eq!(ChangeNotification::read(message.as_bytes(), ReadOptions::new())?.changes().count(), 1);
/// # Ok(())
/// # }
/// ```
pub type ChangeNotification = Collected<kind::ChangeNotification>;

/// The payload of a Framework Notification (FN-1): the documents of the Source that changed.
///
/// ```
/// use resourcesync::{Capability, Change, document::FrameworkNotification};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let notification = FrameworkNotification::new("http://example.com/caps.xml".parse()?).with_document(
///     "http://example.com/changelist.xml".parse()?,
///     Capability::ChangeList,
///     Change::Updated,
///     "2013-01-03T09:00:00Z".parse()?,
/// );
/// assert_eq!(notification.entries[0].metadata.capability, Some(Capability::ChangeList));
/// # Ok(())
/// # }
/// ```
pub type FrameworkNotification = Collected<kind::FrameworkNotification>;

impl FrameworkNotification {
    /// Adds a document that changed (FN-1).
    #[must_use]
    pub fn with_document(
        self,
        document: Uri,
        capability: Capability,
        change: Change,
        datetime: DateTime,
    ) -> Self {
        self.push(Entry::changed(document, change, datetime).with_capability(capability))
    }
}
