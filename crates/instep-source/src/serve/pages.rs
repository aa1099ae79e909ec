//! The interface for web pages: a program adds them to a Source, and they answer requests for neither a document nor
//! a resource.

use std::{fmt, sync::Arc};

use axum::{
    body::Body,
    extract::{Request, State},
    middleware::Next,
    response::{IntoResponse as _, Response},
};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::{turns::PageTurns, view::SourceView};

/// Pages for people. They come last: a document or a resource under the same path is served instead.
///
/// # Contract
/// `answer` is called on a thread that may block, and for GET and HEAD alone; of an answer to HEAD the body is not sent.
pub trait Pages: fmt::Debug + Send + Sync {
    /// Answers a request that the Source answers with an error, or not at all; `None` leaves that answer as it is.
    fn answer(&self, source: &SourceView, request: &PageRequest) -> Option<Response<Vec<u8>>>;
}

/// A request for a page.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PageRequest {
    /// The path below that of the base URL, as it is written, without its leading slash.
    pub path: String,
    /// The query, without its question mark.
    pub query: String,
    /// `true` if the client accepts HTML explicitly, as browsers do and programs do not.
    pub accepts_html: bool,
    /// The status of the answer without a page.
    pub status: StatusCode,
}

/// The pages of a Source, and the data for them.
#[derive(Clone, Debug)]
pub(crate) struct PagesOfSource {
    pub(crate) pages: Arc<dyn Pages>,
    pub(crate) view: Arc<SourceView>,
    pub(crate) turns: PageTurns,
}

/// Answers with a page if there would be no other answer.
pub(crate) async fn answer_with_page(
    State(source): State<PagesOfSource>,
    request: Request,
    next: Next,
) -> Response {
    let method = request.method().clone();
    if method != Method::GET && method != Method::HEAD {
        return next.run(request).await;
    }
    let (uri, accepts_html) = (request.uri().clone(), accepts_html(request.headers()));
    let response = next.run(request).await;
    if !has_room_for_page(response.status()) {
        return response;
    }
    let request = PageRequest {
        path: uri.path().strip_prefix('/').unwrap_or(uri.path()).to_owned(),
        query: uri.query().unwrap_or_default().to_owned(),
        accepts_html,
        status: response.status(),
    };
    let turns = source.turns.clone();
    match turns.make(move || source.pages.answer(&source.view, &request)).await {
        Some(Some(page)) => whole(&method, page),
        Some(None) => response,
        None => StatusCode::SERVICE_UNAVAILABLE.into_response(),
    }
}

/// Returns `true` for a browser: a program that accepts anything gets the answer for programs.
pub(crate) fn accepts_html(headers: &HeaderMap) -> bool {
    let fields = headers.get_all(header::ACCEPT).iter().filter_map(|field| field.to_str().ok());
    fields.flat_map(|field| field.split(',')).any(|range| {
        let essence = range.split(';').next().unwrap_or_default().trim();
        essence.eq_ignore_ascii_case("text/html")
    })
}

/// Returns `true` for answers without content: absent, another method, no message on a channel yet.
fn has_room_for_page(status: StatusCode) -> bool {
    matches!(status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED | StatusCode::NO_CONTENT)
}

fn whole(method: &Method, page: Response<Vec<u8>>) -> Response {
    let (mut parts, body) = page.into_parts();
    parts.headers.insert(header::CONTENT_LENGTH, body.len().into());
    parts.headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let body = if method == Method::HEAD { Body::empty() } else { Body::from(body) };
    Response::from_parts(parts, body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_names_html_is_a_person() {
        for (accept, is_person) in [
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true),
            ("application/json, Text/HTML ; q=0.5", true),
            ("*/*", false),
            ("application/json", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(accepts_html(&headers), is_person, "{accept}");
        }
        assert!(!accepts_html(&HeaderMap::new()));
    }
}
