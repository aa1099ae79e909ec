//! Scope: the URIs that a document may list.

use instep_net::Origin;
use resourcesync::Uri;

use super::Draft;
use crate::{ProblemKind, map::climbs};

impl Draft {
    /// Returns `true` if a URI is within the scope of a document; else reports it.
    pub(super) fn in_scope(&mut self, speaker: Option<&Origin>, uri: &Uri) -> bool {
        if climbs(uri) {
            let what = "It climbs with \"..\": refused".to_owned();
            self.problems.unusable(ProblemKind::OutOfScope, uri.as_str(), what);
            return false;
        }
        let Some(speaker) = speaker else { return true };
        let root = root(uri);
        // Most lists of a million entries have one host: its scope check, which parses the URI, is made only once.
        if self.in_scope.as_ref().is_some_and(|(spoke, known)| spoke == speaker && known == root) {
            return true;
        }
        match self.policy.scope.check(speaker, uri.as_str()) {
            Ok(()) => {
                self.in_scope = Some((speaker.clone(), root.to_owned()));
                true
            }
            Err(refusal) => {
                self.problems.refused(uri.as_str(), &refusal);
                false
            }
        }
    }
}

/// Returns a URI up to where its path begins.
fn root(uri: &Uri) -> &str {
    let text = uri.as_str();
    let authority = text.find("//").map_or(text.len(), |slashes| slashes + 2);
    let end = text[authority..].find(['/', '?', '#']);
    end.map_or(text, |length| &text[..authority + length])
}
