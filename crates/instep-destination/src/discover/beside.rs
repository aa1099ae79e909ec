//! The Change List beside a Resource List that stands alone, by the names that the reference client gives both.

use resourcesync::{Capability, Uri};

use crate::documents::{Document, DocumentError};

/// Returns the place where the reference client would look for the changes since a Resource List.
pub(super) fn change_list(list: &Document) -> Option<Uri> {
    let is_list = list.header.capability() == Some(&Capability::ResourceList);
    let has_usual_name = is_list && list.uri.as_str().ends_with("/resourcelist.xml");
    has_usual_name.then(|| list.uri.resolve("changelist.xml").ok()).flatten()
}

/// Returns `true` if the server says that there is no such document for this client. Object storage answers 403 for what
/// it does not have.
pub(super) fn is_absent(error: &DocumentError) -> bool {
    let DocumentError::Http(error) = error else { return false };
    error.status().is_some_and(|status| status.is_client_error())
}
