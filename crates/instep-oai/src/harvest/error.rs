//! The reasons why a harvest ends early.

use std::io;

use instep_net::{HttpError, Permission, Refusal};
use instep_source::{UpstreamFailure, UpstreamFault};
use instep_store::{database::DatabaseError, error_chain};

use crate::response::ProtocolError;

/// A reason why a harvest cannot continue. Records harvested until then stay, and the next harvest continues from
/// there.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HarvestError {
    /// A request failed for good, or its answers are no OAI-PMH.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The repository answers with an error of the protocol: the arguments may be wrong.
    #[error("{url} answers {}{}", code(&error.code), message(&error.message))]
    Refused {
        /// The request.
        url: String,
        /// The error that it reports.
        error: ProtocolError,
    },
    /// The response does not have what was requested.
    #[error("{url} answers {what}")]
    Unusable {
        /// The request.
        url: String,
        /// The fault.
        what: &'static str,
    },
    /// A resumption token leads back to a part of the list that was read: it would never end.
    #[error("the list of {format} repeats itself after {records} records: {url}")]
    Circle {
        /// The format.
        format: String,
        /// Records until then.
        records: u64,
        /// The request that brought the part again.
        url: String,
    },
    /// The list has parts without records, one after the other.
    #[error("the list of {format} continues without records: {url}")]
    Empty {
        /// The format.
        format: String,
        /// The last request.
        url: String,
    },
    /// The token expired again and again, without a new record in between.
    #[error("the repository accepts none of its own resumption tokens: {url}")]
    Tokens {
        /// The last request.
        url: String,
    },
    /// A statement on the state of the harvest failed.
    #[error("the state of the harvest fails")]
    Database(#[from] rusqlite::Error),
    /// The file of the state cannot be opened.
    #[error(transparent)]
    State(#[from] DatabaseError),
    /// The folder with the harvested records cannot be read or written.
    #[error("the folder of the records fails")]
    Io(#[from] io::Error),
}

impl HarvestError {
    /// Returns `true` if the repository answers, but not with the rest of one list: others may be read.
    pub(crate) fn is_of_one_list(&self) -> bool {
        match self {
            Self::Refused { .. }
            | Self::Unusable { .. }
            | Self::Circle { .. }
            | Self::Empty { .. }
            | Self::Tokens { .. } => true,
            Self::Http(_) | Self::Database(_) | Self::State(_) | Self::Io(_) => false,
        }
    }

    /// Returns the error with its causes. If the repository has moved to another host, the text says where to harvest it.
    pub(crate) fn in_words(&self) -> String {
        let what = error_chain(self);
        match self {
            Self::Http(HttpError::Refused { uri, reason: Refusal::OutOfScope { .. } }) => {
                let moved = uri.split('?').next().unwrap_or(uri);
                format!("{what}; if the repository has moved there, harvest oai+{moved}")
            }
            _ => what,
        }
    }

    /// Returns the error as that of the repository, unless this machine is at fault.
    pub(crate) fn of_repository(self, url: &str) -> io::Error {
        let fault = match &self {
            Self::Database(_) | Self::State(_) | Self::Io(_) => return io::Error::other(self),
            Self::Http(error) if error.lacks() == Some(Permission::Login) => UpstreamFault::Denied,
            // The arguments may be wrong.
            Self::Http(HttpError::Option { .. }) | Self::Refused { .. } => UpstreamFault::Refused,
            Self::Http(_)
            | Self::Unusable { .. }
            | Self::Circle { .. }
            | Self::Empty { .. }
            | Self::Tokens { .. } => UpstreamFault::Unreachable,
        };
        io::Error::other(UpstreamFailure { url: url.to_owned(), what: self.in_words(), fault })
    }
}

fn code(text: &str) -> &str {
    if text.is_empty() { "an error without a code" } else { text }
}

fn message(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

#[cfg(test)]
mod tests {
    use instep_net::Origin;

    use super::*;

    #[test]
    fn o618_a_repository_that_has_moved_to_another_host_is_named_as_it_is_harvested_there() {
        let [speaker, target] =
            ["http://old.example/", "https://new.example/"].map(|url| Origin::parse(url).unwrap());
        let uri = "https://new.example/oai?verb=Identify".to_owned();
        let moved = HttpError::Refused { uri, reason: Refusal::OutOfScope { speaker, target } };
        let text = HarvestError::from(moved).of_repository("http://old.example/oai").to_string();
        assert!(text.ends_with("harvest oai+https://new.example/oai"), "{text}");
    }
}
