//! Advice after an error or a problem: the only place that knows which option helps.
//!
//! The libraries state what failed and why. They do not know the command line, so the program adds its options here.

use std::{io, path::Path};

use instep_destination::{Error as DestinationError, Guard, Permission, Problem, ProblemKind};
use instep_fleet::FleetError;
use instep_net::ProtocolFailure;
use instep_source::{Error as SourceError, UpstreamFault};
use instep_store::{Shortage, database::is_read_only};

use crate::ui::format::name;

#[cfg(test)]
mod tests;

/// Returns what to do about an error that ended a command; `None` if its text is sufficient.
pub(crate) fn for_error(error: &anyhow::Error) -> Option<&'static str> {
    if let Some(shortage) = Shortage::behind(error.as_ref()) {
        return for_shortage(shortage);
    }
    if let Some(error) = error.downcast_ref::<DestinationError>() {
        return for_destination(error);
    }
    if let Some(error) = error.downcast_ref::<FleetError>() {
        return for_fleet(error);
    }
    error.downcast_ref::<SourceError>().and_then(for_source)
}

/// Returns what to do about a shortage. It damages nothing, so nothing must be moved away or restored.
fn for_shortage(shortage: Shortage) -> Option<&'static str> {
    match shortage {
        Shortage::Room => Some(
            "Make room on the disk (df shows its bytes, df -i the number of files), then run the command again",
        ),
        Shortage::OpenFiles => {
            Some("Allow more open files, as with ulimit -n 1024, then run the command again")
        }
        _ => None,
    }
}

/// Returns an error in several lines, one for each reason; `None` if one line is sufficient (P15).
pub(crate) fn for_people(error: &anyhow::Error) -> Option<String> {
    let Some(DestinationError::NotResourceSync { url, reasons, .. }) = error.downcast_ref() else {
        return None;
    };
    (reasons.len() > 1).then(|| {
        let head = format!("No ResourceSync capability found at {}. Tried:", name(url));
        let lines = reasons.iter().map(|reason| format!("\n  {}", name(reason)));
        std::iter::once(head).chain(lines).collect()
    })
}

/// Returns what to do about a problem with one resource or document; `None` if nothing can be done here.
pub(crate) fn for_problem(kind: ProblemKind) -> Option<&'static str> {
    match kind {
        ProblemKind::OutOfScope => Some("--allow-origin ORIGIN allows another host or a private address"),
        ProblemKind::Denied => {
            Some("give a valid login with --bearer-file, --netrc or the [credentials] table of instep.toml")
        }
        _ => None,
    }
}

/// Returns the advice that helps with this very problem: no option allows a path with "..", another scheme or a redirect
/// without an end (B30).
pub(crate) fn for_this_problem(problem: &Problem<'_>) -> Option<&'static str> {
    let may_be_allowed = problem.kind != ProblemKind::OutOfScope || problem.lacks == Some(Permission::Origin);
    for_problem(problem.kind).filter(|_| may_be_allowed)
}

fn for_destination(error: &DestinationError) -> Option<&'static str> {
    match error {
        DestinationError::Refused { guard, .. } => for_guard(*guard),
        DestinationError::Unreachable { .. } => Some(for_unreachable(error)),
        DestinationError::Storage { .. } if is_denied(error) => {
            Some("Run the command as the user who keeps the copy, or allow this user to use that path")
        }
        DestinationError::Storage { .. } if has_fault(error, has_file_for_folder) => Some(
            "A part of this path is a file, but must be a folder: choose another folder, or move that file away",
        ),
        // An error without a fault of the system says what to do.
        DestinationError::Storage { .. } if has_fault(error, |_| true) => {
            Some("Check that you can write to the folder, and that its disk has space")
        }
        DestinationError::NotResourceSync { lacks, .. } => Some(for_nothing_found(*lacks)),
        DestinationError::InvalidDocument { .. } => {
            Some("`instep validate URL` shows each fault of a document")
        }
        DestinationError::NoCopy { .. } => Some("Make one with instep sync URL DIR"),
        DestinationError::Locked { .. } => Some("Wait until the other run has ended"),
        DestinationError::SeveralSets { .. } => Some("Choose one with --set NAME"),
        DestinationError::State { path, .. } if is_server(path) => {
            Some("Check that the server of the state runs and can be reached, then run the command again")
        }
        DestinationError::State { .. } => Some(
            "Check that the disk is writable and has space; a damaged state can be moved away and rebuilt from the \
             files: instep sync URL DIR --adopt",
        ),
        DestinationError::NewerState { .. } => {
            Some("Use the version of instep that wrote it, or a later one")
        }
        _ => None,
    }
}

/// The advice if a server asks who sends the requests.
const LOGIN: &str =
    "Give a valid login with --bearer-file, --netrc or the [credentials] table of instep.toml";

/// The advice if the proxy asks who sends the requests.
const PROXY_LOGIN: &str = "The proxy asks for a login: --proxy http://USER:PASSWORD@HOST:PORT";

/// Returns the advice if no place that was tried has a document.
fn for_nothing_found(lacks: Option<Permission>) -> &'static str {
    match lacks {
        Some(Permission::Login) => LOGIN,
        Some(Permission::ProxyLogin) => PROXY_LOGIN,
        Some(Permission::Origin) => {
            "Allow the other host with --allow-origin ORIGIN, or give the URL of a document of the Source"
        }
        _ => {
            "Give the URL of a ResourceSync document: a Source Description, Capability List, Resource List or Sitemap. \
             A site that has none does not offer ResourceSync; if its server has a fault (5xx), try again later"
        }
    }
}

/// Returns `true` if the permissions of a path are the reason.
fn is_denied(error: &(dyn std::error::Error + 'static)) -> bool {
    has_fault(error, |fault| fault.kind() == io::ErrorKind::PermissionDenied)
}

/// Returns `true` if a folder cannot be opened or made because a file has its name (O806). To make it fails with
/// `AlreadyExists`.
fn has_file_for_folder(fault: &io::Error) -> bool {
    matches!(fault.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::AlreadyExists)
}

/// Returns `true` if an error, or one behind it, is such a fault of the system.
fn has_fault(error: &(dyn std::error::Error + 'static), is_such: fn(&io::Error) -> bool) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(is_such)
        || error.source().is_some_and(|source| has_fault(source, is_such))
}

/// Returns `true` if a state or a catalogue is not a file.
fn is_server(state: &Path) -> bool {
    ["postgres:", "postgresql:"].iter().any(|scheme| state.starts_with(scheme))
}

fn for_unreachable(error: &DestinationError) -> &'static str {
    match error.protocol_failure() {
        Some(ProtocolFailure::UnknownIssuer) => {
            return "If you know the authority, trust it with --ca-file FILE";
        }
        Some(ProtocolFailure::Expired | ProtocolFailure::NotYetValid) => {
            return "Check the clock of this machine; if it is right, the operator of the server has to renew the certificate";
        }
        Some(ProtocolFailure::OtherName) => {
            return "Give the URL with a name that the certificate has, or ask the operator of the server";
        }
        Some(ProtocolFailure::Authority) => {
            return "Ask the operator of the server for a certificate that is made for a server";
        }
        Some(ProtocolFailure::ClientCertificate) => {
            return "Ask the operator for another login, or send the requests through a server that adds the certificate";
        }
        _ => {}
    }
    match error.lacks() {
        Some(Permission::Login) => return LOGIN,
        Some(Permission::ProxyLogin) => return PROXY_LOGIN,
        Some(Permission::Origin) => {
            return "Give the URL that the Source has for itself, or allow the other host with --allow-origin ORIGIN";
        }
        _ => {}
    }
    match error.status() {
        Some(404 | 410) => "Give the URL of the site, of a page of it, or of a document of the Source",
        Some(_) => "The server has a fault; try again later, or ask its operator",
        None => "Check the URL and the network",
    }
}

/// Advises only on errors of typing: the other errors of a fleet say what to do.
fn for_fleet(error: &FleetError) -> Option<&'static str> {
    match error {
        FleetError::Unknown { .. } => Some("`instep source list` shows the names"),
        _ => None,
    }
}

fn for_guard(guard: Guard) -> Option<&'static str> {
    match guard {
        Guard::MaxDelete => {
            Some("See what would be deleted with --dry-run, then allow it with --max-delete N")
        }
        Guard::UnknownFiles => Some(
            "Keep correct files with --adopt, put the copy beside them with --into-existing, or choose another folder",
        ),
        Guard::UnknownObjects => {
            Some("Choose another prefix, or the folder that has the state of the copy there")
        }
        Guard::StateInUse => Some(
            "Move the state away first: .instep/state.sqlite or .instep/state.json in the folder of the copy",
        ),
        Guard::OtherSource => Some("Choose another folder, or add the Source to this copy with --add-source"),
        Guard::Empty => Some("If the Source is meant to be empty, allow it with --allow-empty"),
        Guard::TimeWentBack => Some(
            "A cache on the way may have an old list: run the command again later. If the Source was restored from a backup, \
             this ends with its next change or inventory; its operator can also begin new lists, with instep catalogue restore",
        ),
        Guard::Frozen => Some("Accept an older Source with a larger --max-age, or without it"),
        Guard::MarkerMissing => Some(
            "Make the place of the copy available again, as by mounting its disk; if the copy was emptied on purpose, fetch it again \
             with --repair",
        ),
        _ => None,
    }
}

fn for_source(error: &SourceError) -> Option<&'static str> {
    match error {
        SourceError::Read { source, .. } | SourceError::Write { source, .. }
            if has_file_for_folder(source) =>
        {
            Some(
                "A part of this path is a file, but must be a folder: move that file away, or choose other folders for \
                 documents and state with --out and --state",
            )
        }
        SourceError::Read { source, .. } | SourceError::Write { source, .. }
            if source.kind() == io::ErrorKind::PermissionDenied =>
        {
            Some("Run the command as the user who publishes the Source, or allow this user to use that path")
        }
        SourceError::Locked { .. } => Some(
            "Wait longer for the other run with --wait. A server (instep serve) publishes changed files by itself, and other \
             resources when they are reported: instep change",
        ),
        SourceError::DeletionsRefused { empty: true, .. } => Some(
            "Mount the disk or restore the folder; if the resources are really gone, allow it with --allow-empty \
             --max-delete 100% (upgrade-sitemap: --allow-deletions)",
        ),
        SourceError::DeletionsRefused { .. } => Some(
            "See them with publish --dry-run; if they are really gone, allow it with --max-delete N (upgrade-sitemap: \
             --allow-deletions)",
        ),
        SourceError::SetMoved { .. } => Some(
            "Give the set the folder and prefix it had; if it has moved, allow it with --allow-empty --max-delete 100%",
        ),
        SourceError::UnreadableRefused { .. } => Some(
            "Let everybody read them (chmod o+r), leave them out with --exclude, or give --publish-unreadable skip",
        ),
        SourceError::BaseUrlChanged { .. } => Some(
            "Give the base URL it was published at; if the Source has moved: instep publish DIR --rebase OLD NEW, or for a \
             copy: instep republish DIR --rebase OLD NEW",
        ),
        SourceError::DocumentsInTheWay { .. } => Some(
            "Move them away, write the documents to another folder with --out, or replace them with --overwrite-documents",
        ),
        SourceError::Delivery { .. } => {
            Some("Fix the cause and run the command again: it delivers the remaining documents")
        }
        SourceError::NewerCatalogue { .. } => Some("Use the version of instep that wrote it, or a later one"),
        SourceError::Read { .. } => Some("Check the path, and that you may read it"),
        SourceError::Upstream { fault: UpstreamFault::Denied, .. } => {
            Some("Give a valid login in the [credentials] table of instep.toml")
        }
        SourceError::Upstream { fault: UpstreamFault::Unreachable, .. } => {
            Some("Check the URL; if it is right, try again later: nothing was published as deleted")
        }
        SourceError::Write { .. } => {
            Some("Check that you can write to the folder, and that the disk has space")
        }
        SourceError::Document { .. } => {
            Some("Check that the disk is writable and has space, then run the command again")
        }
        SourceError::Package { .. } => Some(
            "Check that the disk is writable and has space, and that the storage of the resources can be reached, then run \
             the command again",
        ),
        SourceError::Catalogue { path, .. } if is_server(path) => {
            Some("Check that the server of the catalogue runs and can be reached, then run the command again")
        }
        SourceError::Catalogue { source, .. } if is_read_only(&**source) => Some(
            "Run the command as the user who publishes the Source, or allow this user to write that folder and its files",
        ),
        SourceError::Catalogue { .. } => Some(
            "Check the disk; restore a damaged catalogue from a backup with instep catalogue restore, or move it \
             away with the documents and publish again",
        ),
        SourceError::Manifest { .. } => Some("Correct the line, or leave it out"),
        SourceError::Listen { address, .. } if address.ends_with(" for applications") => {
            Some("Choose another address with --admin-listen; port 0 takes any free one")
        }
        SourceError::Listen { .. } => Some("Choose another address with --listen; port 0 takes any free one"),
        _ => None,
    }
}
