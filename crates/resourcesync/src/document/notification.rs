use super::{Collected, Entry, kind};
use crate::value::{Capability, Change, DateTime, Uri};

/// The payload of a Change Notification (CN-6): changes as in a Change List. Root metadata may be missing (N8-5).
///
/// ```
/// use resourcesync::{ReadOptions, document::ChangeNotification};
/// # fn main() -> Result<(), resourcesync::ReadError> {
/// let message = br#"<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
///     xmlns:rs="http://www.openarchives.org/rs/terms/">
///   <rs:ln rel="up" href="http://example.com/caps.xml"/>
///   <url><loc>http://example.com/res1</loc><rs:md change="updated"/></url>
/// </urlset>"#;
/// let notification = ChangeNotification::read(&message[..], ReadOptions::new())?;
/// assert_eq!(notification.changes().count(), 1);
/// # Ok(())
/// # }
/// ```
pub type ChangeNotification = Collected<kind::ChangeNotification>;

/// The payload of a Framework Notification (FN-1): which documents of the Source changed.
///
/// ```
/// use resourcesync::{Capability, Change, document::FrameworkNotification};
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let notification = FrameworkNotification::below("http://example.com/caps.xml".parse()?).with_document(
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
    /// The same with one more document that changed (FN-1).
    #[must_use]
    pub fn with_document(
        self,
        document: Uri,
        capability: Capability,
        change: Change,
        datetime: DateTime,
    ) -> Self {
        let mut entry = Entry::changed(document, change, datetime);
        entry.metadata.capability = Some(capability);
        self.with_entry(entry)
    }
}
