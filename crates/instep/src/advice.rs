//! Advice after an error or a problem: the only place that knows which option helps.
//!
//! The libraries state what failed and why. They do not know the command line, so the program adds its options here.

use std::{io, path::Path};

use instep_destination::{Error as DestinationError, Guard, ProblemKind};
use instep_fleet::FleetError;
use instep_net::ProtocolFailure;
use instep_source::Error as SourceError;

use crate::ui::format::name;

/// Returns what to do about an error that ended a command; `None` if its text is sufficient.
pub(crate) fn for_error(error: &anyhow::Error) -> Option<&'static str> {
    if let Some(error) = error.downcast_ref::<DestinationError>() {
        return for_destination(error);
    }
    if let Some(error) = error.downcast_ref::<FleetError>() {
        return for_fleet(error);
    }
    error.downcast_ref::<SourceError>().and_then(for_source)
}

/// Returns an error in several lines, one for each reason; `None` if one line is sufficient (D15).
pub(crate) fn for_people(error: &anyhow::Error) -> Option<String> {
    let Some(DestinationError::NotResourceSync { url, reasons }) = error.downcast_ref() else { return None };
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
            Some("give a login with --bearer-file, --netrc or the [credentials] table of instep.toml")
        }
        _ => None,
    }
}

/// Returns the advice that helps with this very problem: no option allows a path with "..", another scheme or a redirect
/// without an end (B30).
pub(crate) fn for_this_problem(kind: ProblemKind, what: &str) -> Option<&'static str> {
    let is_about_host = ["on another host", "private address"].iter().any(|words| what.contains(words));
    for_problem(kind).filter(|_| kind != ProblemKind::OutOfScope || is_about_host)
}

fn for_destination(error: &DestinationError) -> Option<&'static str> {
    match error {
        DestinationError::Refused { guard, .. } => for_guard(*guard),
        DestinationError::Unreachable { .. } => Some(for_unreachable(error)),
        DestinationError::Storage { .. } => {
            Some("Check that you can write to the folder, and that its disk has space")
        }
        DestinationError::NotResourceSync { reasons, .. }
            if reasons.iter().any(|reason| is_denial(reason)) =>
        {
            Some(LOGIN)
        }
        DestinationError::NotResourceSync { reasons, .. }
            if reasons.iter().any(|reason| reason.contains("it answers 407")) =>
        {
            Some(PROXY_LOGIN)
        }
        DestinationError::NotResourceSync { reasons, .. }
            if reasons.iter().any(|reason| reason.contains("is on another host")) =>
        {
            Some(
                "Allow the other host with --allow-origin ORIGIN, or give the URL of a document of the Source",
            )
        }
        DestinationError::NotResourceSync { .. } => Some(
            "Give the URL of a ResourceSync document: a Source Description, Capability List, Resource List or Sitemap. \
             A site that has none does not offer ResourceSync",
        ),
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
const LOGIN: &str = "Give a login with --bearer-file, --netrc or the [credentials] table of instep.toml";

/// The advice if the proxy asks who sends the requests.
const PROXY_LOGIN: &str = "The proxy asks for a login: --proxy http://USER:PASSWORD@HOST:PORT";

/// Returns `true` if a place was not readable without a login: what lies there is unknown.
fn is_denial(reason: &str) -> bool {
    ["it answers 401", "it answers 403"].iter().any(|answer| reason.contains(answer))
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
        Some(ProtocolFailure::ClientCertificate) => {
            return "Ask the operator for another login, or send the requests through a server that adds the certificate";
        }
        _ => {}
    }
    match error.status() {
        Some(401 | 403) => LOGIN,
        Some(407) => PROXY_LOGIN,
        Some(404 | 410) => "Give the URL of the site, of a page of it, or of a document of the Source",
        Some(_) => "The server has a fault; try again later, or ask its operator",
        None if error.is_out_of_scope() => {
            "Give the URL that the Source has for itself, or allow the other host with --allow-origin ORIGIN"
        }
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
             this ends with its next change; its operator can also begin new lists, with instep catalogue restore",
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
            if source.kind() == io::ErrorKind::NotADirectory =>
        {
            Some(
                "A part of this path is a file, but must be a folder: move that file away, or choose other folders for \
                 documents and state with --out and --state",
            )
        }
        SourceError::Locked { .. } => Some(
            "Wait longer for the other run with --wait; changes can be reported to a running server: instep change",
        ),
        SourceError::DeletionsRefused { empty: true, .. } => Some(
            "Mount the disk or restore the folder; if the resources are really gone, allow it with --allow-empty \
             --max-delete 100% (upgrade-sitemap: --allow-deletions)",
        ),
        SourceError::DeletionsRefused { .. } => {
            Some("If they are really gone, allow it with --max-delete N (upgrade-sitemap: --allow-deletions)")
        }
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
        SourceError::Origin { what, .. }
            if ["answers 401", "answers 403"].iter().any(|it| what.contains(it)) =>
        {
            Some("Give a login in the [credentials] table of instep.toml")
        }
        SourceError::Origin { is_unreachable: true, .. } => {
            Some("Check the URL; if it is right, try again later: nothing was published as deleted")
        }
        SourceError::Write { .. } => {
            Some("Check that you can write to the folder, and that the disk has space")
        }
        SourceError::Document { .. } | SourceError::Package { .. } => {
            Some("Check that the disk is writable and has space, then run the command again")
        }
        SourceError::Catalogue { path, .. } if is_server(path) => {
            Some("Check that the server of the catalogue runs and can be reached, then run the command again")
        }
        SourceError::Catalogue { .. } => Some(
            "Check the disk; restore a damaged catalogue from a backup with instep catalogue restore, or move it \
             away with the documents and publish again",
        ),
        SourceError::Manifest { .. } => Some("Correct the line, or leave it out"),
        SourceError::Listen { .. } => Some("Choose another address with --listen; port 0 takes any free one"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b30_an_origin_is_only_offered_where_a_host_is_refused() {
        let helps = |what: &str| for_this_problem(ProblemKind::OutOfScope, what).is_some();
        assert!(helps("http://b is on another host than http://a, which lists it"));
        assert!(helps("h has the private address 10.0.0.1 (private use)"));
        assert!(!helps("It climbs with \"..\": refused"));
        assert!(!helps("it is not requested: more than 5 redirects"));
        assert!(for_this_problem(ProblemKind::Denied, "it answers 401").is_some());
    }
    #[test]
    fn o114_a_source_that_asks_for_a_login_is_not_said_to_offer_nothing() {
        for (answer, part) in [("401 Unauthorized", "--bearer-file"), ("404 Not Found", "does not offer")] {
            assert!(for_answer(answer).contains(part), "{answer}");
        }
    }

    #[test]
    fn o362_a_repository_that_asks_for_a_login_is_answered_with_how_to_give_one() {
        for (status, part) in [("401 Unauthorized", "[credentials]"), ("404 Not Found", "Check the URL")] {
            let what = format!("http://a.example/oai?verb=Identify answers {status}");
            let origin = "http://a.example/oai".to_owned();
            let error = SourceError::Origin { origin, what, is_unreachable: true };
            assert!(for_error(&error.into()).unwrap().contains(part), "{status}");
        }
    }

    #[test]
    fn o159_a_proxy_that_asks_for_a_login_is_told_from_a_site_that_offers_nothing() {
        assert_eq!(for_answer("407 Proxy Authentication Required"), PROXY_LOGIN);
    }

    /// The advice if each place where a Source is looked for has this answer.
    fn for_answer(answer: &str) -> String {
        let reasons = vec![format!("http://a.example/: it answers {answer}")];
        let error = DestinationError::NotResourceSync { url: "http://a.example/".to_owned(), reasons };
        for_error(&error.into()).unwrap().to_owned()
    }
}
