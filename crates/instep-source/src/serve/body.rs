//! The body of a request, within bounds of size and time (S10).

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use http::StatusCode;
use http_body_util::LengthLimitError;
use tokio::time::timeout;

/// The time in which a client has to send a body.
const BODY_TIME: Duration = Duration::from_secs(30);

/// Reads a body; returns the status of the refusal if it is too long or takes too long.
pub(crate) async fn read(body: Body, most_bytes: usize) -> Result<Bytes, StatusCode> {
    match timeout(BODY_TIME, to_bytes(body, most_bytes)).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if is_too_long(&error) => Err(StatusCode::PAYLOAD_TOO_LARGE),
        Ok(Err(_)) => Err(StatusCode::BAD_REQUEST),
        Err(_) => Err(StatusCode::REQUEST_TIMEOUT),
    }
}

fn is_too_long(error: &axum::Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<LengthLimitError>)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn s10_a_body_that_never_ends_or_never_comes_is_refused() {
        let never = Body::from_stream(futures_util::stream::pending::<Result<Bytes, Infallible>>());
        assert_eq!(read(never, 10).await, Err(StatusCode::REQUEST_TIMEOUT));
        let piece = || Ok::<_, Infallible>(Bytes::from_static(b"abc"));
        let endless = Body::from_stream(futures_util::stream::repeat_with(piece));
        assert_eq!(read(endless, 10).await, Err(StatusCode::PAYLOAD_TOO_LARGE));
        assert_eq!(read(Body::from("abc"), 3).await, Ok(Bytes::from_static(b"abc")));
    }

    #[tokio::test]
    async fn c23_a_body_that_breaks_off_is_no_long_one() {
        let broken = futures_util::stream::iter([Ok(Bytes::from_static(b"a")), Err("damaged chunk")]);
        assert_eq!(read(Body::from_stream(broken), 10).await, Err(StatusCode::BAD_REQUEST));
    }
}
