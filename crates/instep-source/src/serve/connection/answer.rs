//! The body of an answer, which keeps the request in flight until its last byte is handed over.

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};

use super::places::AnswerInFlight;

/// A body and the request it answers.
#[derive(Debug)]
pub(super) struct AnswerBody {
    body: Body,
    _in_flight: AnswerInFlight,
}

impl AnswerBody {
    pub(super) fn new(body: Body, in_flight: AnswerInFlight) -> Self {
        Self { body, _in_flight: in_flight }
    }
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
