//! The configuration of a host, before it is written in the language of its server.

use std::collections::BTreeSet;

use percent_encoding::percent_decode_str;
use resourcesync::Uri;

/// One URI that leads to another.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Redirect {
    /// The path or URL that is requested.
    pub from: String,
    /// The URI it leads to.
    pub to: Uri,
}

/// The configuration for each kind of server, before it is written in the server's language: state folders are not
/// readable (C17), the redirect, the media type of the Source Description, a `Link` header that leads from each
/// resource to its Capability List (DISC-4), and the headers of resources that are stored coded (ATT-11).
pub(super) struct Directives {
    pub(super) redirect: Option<Redirect>,
    /// Path of the Source Description.
    pub(super) description: String,
    pub(super) coded: BTreeSet<CodedFiles>,
    pub(super) links: Vec<(String, String)>,
}

/// Files that are stored with a content coding.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct CodedFiles {
    /// A regular expression for their paths.
    pub(super) pattern: String,
    pub(super) media_type: String,
    pub(super) coding: String,
    pub(super) link: Option<String>,
}

/// A regular expression for paths of state folders, which hold the catalogue.
pub(super) const STATE_FOLDERS: &str = r"/\.instep(/|$)";

/// Returns a URI, or a header with URIs, without the characters with which servers begin variables or end strings: nginx can
/// express a `$` in no other way.
pub(super) fn inert(text: &str) -> String {
    text.replace('\'', "%27").replace('$', "%24")
}

/// Returns `true` for text that needs no quotes in the language of any server.
pub(super) fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-_.~:%".contains(&byte))
}

/// Returns a path as servers compare it: decoded.
pub(super) fn decoded(path: &str) -> String {
    percent_decode_str(path).decode_utf8_lossy().into_owned()
}
