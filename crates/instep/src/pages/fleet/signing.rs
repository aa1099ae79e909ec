//! The page and the forms by which operators sign in and out. The sessions are in `access.rs`.

use std::{sync::Arc, time::Duration};

use axum::{
    Form,
    extract::State,
    response::{IntoResponse, Redirect, Response},
};
use http::{HeaderMap, StatusCode, header};
use maud::html;
use serde::Deserialize;
use tokio::time::sleep;

use super::served::{SIGN_IN, ServedFleet};
use crate::pages::design::{PageBody, warning};

/// The pause after a wrong token. It makes guessing tokens too slow to succeed.
const AFTER_GUESS: Duration = Duration::from_millis(500);

/// A form that changes something, with the mark of its operator.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MarkedForm {
    pub(super) mark: String,
}

/// The form with the token.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct TokenForm {
    token: String,
}

pub(super) async fn page(State(served): State<Arc<ServedFleet>>, headers: HeaderMap) -> Response {
    form(&served, &headers, false)
}

fn form(served: &ServedFleet, headers: &HeaderMap, is_wrong: bool) -> Response {
    let operator = served.access.signed_in(headers);
    let content = html! {
        @if is_wrong { (warning("No operator has this token", "")) }
        @if let Some(operator) = &operator {
            p { "Signed in as " strong { (operator.who) } "." }
            form method="post" action="sign-out" {
                input type="hidden" name="mark" value=(operator.mark.as_deref().unwrap_or_default());
                button { "Sign out" }
            }
        } @else if served.access.has_operators() {
            p { "Operators run, pause, resume, approve and forget Sources." }
            form.search.wide method="post" action="sign-in" {
                input type="password" name="token" autocomplete="current-password" required placeholder="Token" aria-label="Token";
                button { "Sign in" }
            }
        } @else { p { "Nobody can sign in here: instep run --operators FILE names operators." } }
    };
    let mut body = PageBody::new("Operator", SIGN_IN, content);
    if is_wrong {
        body.status = StatusCode::FORBIDDEN;
    }
    served.page(&body, "", operator.as_ref())
}

pub(super) async fn sign_in(
    State(served): State<Arc<ServedFleet>>,
    headers: HeaderMap,
    Form(given): Form<TokenForm>,
) -> Response {
    let Some((who, cookie)) = served.access.sign_in(given.token.trim()) else {
        sleep(AFTER_GUESS).await;
        return form(&served, &headers, true);
    };
    if let Err(error) = served.fleet.note_action(&who, "sign in").await {
        return (StatusCode::SERVICE_UNAVAILABLE, format!("{error}\n")).into_response();
    }
    ([(header::SET_COOKIE, cookie)], Redirect::to("./")).into_response()
}

pub(super) async fn sign_out(
    State(served): State<Arc<ServedFleet>>,
    headers: HeaderMap,
    Form(marked): Form<MarkedForm>,
) -> Response {
    if served.access.acting(&headers, &marked.mark).is_none() {
        return (StatusCode::FORBIDDEN, "Use the button of the page.\n").into_response();
    }
    ([(header::SET_COOKIE, served.access.sign_out(&headers))], Redirect::to("./")).into_response()
}
