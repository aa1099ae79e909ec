//! The data that all pages and the API of a fleet share, and the frame of the pages.

use std::{sync::Arc, time::Instant};

use axum::body::Body;
use http::StatusCode;
use instep_destination::now;
use instep_fleet::{Fleet, FleetError};
use instep_source::serve::PageTurns;
use maud::html;

use super::{
    access::{OperatorAccess, SignedIn},
    overview::OVERVIEW,
};
use crate::{
    fleet::FleetDisplay,
    pages::{
        copy::HostThroughput,
        design::{self, Frame, PageBody},
    },
};

/// The names of pages in the navigation.
pub(super) const HOSTS: &str = "Hosts";
pub(super) const LOG: &str = "Log";
pub(super) const SIGN_IN: &str = "Operator";

/// The fleet behind the pages.
pub(super) struct ServedFleet {
    pub(super) fleet: Fleet,
    pub(super) display: Arc<FleetDisplay>,
    pub(super) access: OperatorAccess,
    /// The name of the folder of the fleet.
    pub(super) name: String,
    /// `true` if the address is a loopback one, so that only this machine can send requests.
    pub(super) is_local: bool,
    /// The port of the address.
    pub(super) port: u16,
    pub(super) turns: PageTurns,
    /// Turns for the parts of pages that read the state of a copy: its database may not answer.
    pub(super) copies: PageTurns,
}

/// Returns the current time, in seconds since 1970.
pub(super) fn seconds() -> i64 {
    now().unix_micros().div_euclid(1_000_000)
}

/// Returns the status of the answer to a request that a fleet refuses or cannot do.
pub(super) fn status_of(error: &FleetError) -> StatusCode {
    match error {
        FleetError::Unknown { .. } => StatusCode::NOT_FOUND,
        FleetError::Twice { .. } | FleetError::Overlap { .. } | FleetError::Unfit { .. } => {
            StatusCode::CONFLICT
        }
        FleetError::Definition { .. } => StatusCode::UNPROCESSABLE_ENTITY,
        _ => StatusCode::SERVICE_UNAVAILABLE,
    }
}

impl ServedFleet {
    /// Returns the bytes per second in the last seconds.
    pub(super) fn rate(&self) -> u64 {
        let now = Instant::now();
        self.display.hosts().values().map(|host| HostThroughput::rate(host, now)).sum()
    }

    /// Puts a page into its frame; `up` leads from its address to the first page.
    pub(super) fn page(
        &self,
        body: &PageBody,
        up: &str,
        operator: Option<&SignedIn>,
    ) -> http::Response<Body> {
        let mut links =
            vec![(OVERVIEW, format!("{up}./")), (HOSTS, format!("{up}hosts")), (LOG, format!("{up}log"))];
        if operator.is_some() || self.access.has_operators() {
            links.push((SIGN_IN, format!("{up}sign-in")));
        }
        let frame = Frame {
            name: format!("Fleet in {}", self.name),
            assets: format!("{up}assets/"),
            links,
            search: None,
            lists: Vec::new(),
            refresh: Some(10),
            events: Some(format!("{up}events")),
        };
        design::page(&frame, body, "").map(Body::from)
    }

    /// Answers for an unknown address.
    pub(super) fn nothing(&self) -> http::Response<Body> {
        let content = html! { p { "There is no such page. " a href="/" { "To the Sources" } } };
        let body =
            PageBody { status: StatusCode::NOT_FOUND, ..PageBody::new("Not found", OVERVIEW, content) };
        self.page(&body, "/", None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o891_a_record_that_cannot_be_used_is_no_conflict() {
        let name = "a".parse().unwrap();
        let away = FleetError::Folder { dir: "fleet".into(), what: "no such file".to_owned() };
        assert_eq!(status_of(&away), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(status_of(&FleetError::Unfit { name, what: "is approved" }), StatusCode::CONFLICT);
    }
}
