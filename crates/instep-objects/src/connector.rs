//! Requests to object storage through our own client: its connections, its certificates, its timeouts.

use std::{
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http_body::{Body, Frame};
use instep_net::{Client, HttpError, HttpOptions, Request, Scope};
use object_store::{
    ClientOptions,
    client::{
        HttpClient, HttpConnector, HttpErrorKind, HttpRequest, HttpRequestBody, HttpResponse,
        HttpResponseBody, HttpService,
    },
};
use resourcesync::Uri;
use tokio::sync::mpsc;

/// The most requests that one call sends at the same time.
pub(crate) const AT_ONCE: usize = 8;

/// The most requests at the same time over the shared connections to a bucket.
const OF_ALL: usize = 4 * AT_ONCE;

/// The longest wait for an answer. It includes sending a part of 8 MiB.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The longest wait for the service of a cloud machine that hands out credentials: it is there at once, or not at all.
const METADATA_TIMEOUT: Duration = Duration::from_secs(2);

/// Pieces of an answer that wait to be read.
const PIECES: usize = 4;

/// Sends the requests of the object storage library. Every URL belongs to the operator or to the cloud that the
/// program runs in, so private addresses are allowed. Redirects are not followed, and the library repeats requests
/// itself.
#[derive(Clone, Debug)]
pub(crate) struct ObjectRequests {
    client: Client,
    /// For requests that the library does not repeat.
    repeating: Client,
    metadata: Client,
}

impl ObjectRequests {
    /// Returns a connector without any connection yet. `retries` is for requests that the library does not repeat.
    ///
    /// # Errors
    /// If a certificate of `AWS_CA_BUNDLE` cannot be used.
    pub(crate) fn new(retries: u32) -> Result<Self, HttpError> {
        let client = |timeout, retries| {
            let anywhere = ["0.0.0.0/0", "::/0"].iter().filter_map(|network| network.parse().ok());
            let mut options = HttpOptions::new(Scope::for_networks(anywhere.collect::<Vec<_>>()));
            (options.timeout, options.redirects, options.retries) = (timeout, 0, retries);
            (options.adaptive, options.per_host) = (false, OF_ALL);
            options.ca_file = std::env::var_os("AWS_CA_BUNDLE").map(Into::into);
            Client::new(options)
        };
        let repeating = client(TIMEOUT, retries)?;
        let (client, metadata) = (client(TIMEOUT, 0)?, client(METADATA_TIMEOUT, 0)?);
        Ok(Self { client, repeating, metadata })
    }

    /// Returns the client of requests that the library does not send, which repeats them.
    pub(crate) fn repeating(&self) -> Client {
        self.repeating.clone()
    }
}

impl HttpConnector for ObjectRequests {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(self.clone()))
    }
}

#[async_trait]
impl HttpService for ObjectRequests {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, object_store::client::HttpError> {
        let (head, body) = request.into_parts();
        let uri = Uri::parse(&head.uri.to_string())
            .map_err(|error| object_store::client::HttpError::new(HttpErrorKind::Unknown, error))?;
        let content = whole(body).await?;
        let content = (!content.is_empty() || head.method == http::Method::PUT).then_some(content);
        let is_metadata = head.uri.host().is_some_and(|host| host.starts_with("169.254."));
        let client = if is_metadata { &self.metadata } else { &self.client };
        let sent = client.send_once(&Request::of(head.method, uri, head.headers, content)).await;
        let response = match sent {
            // The library decides by the status if a request is repeated.
            Err(HttpError::Status { status, .. }) => {
                let mut response = HttpResponse::new(Bytes::new().into());
                *response.status_mut() = status;
                return Ok(response);
            }
            sent => sent.map_err(failure)?,
        };
        let mut answer = HttpResponse::new(HttpResponseBody::new(ArrivingBody::of(response.body)));
        (*answer.status_mut(), *answer.headers_mut()) = (response.status, response.headers);
        Ok(answer)
    }
}

/// Returns the content of a request, which is in memory already.
async fn whole(mut body: HttpRequestBody) -> Result<Bytes, object_store::client::HttpError> {
    if let Some(bytes) = body.as_bytes() {
        return Ok(bytes.clone());
    }
    let mut all = Vec::with_capacity(body.content_length());
    while let Some(frame) = std::future::poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        if let Ok(data) = frame?.into_data() {
            all.extend_from_slice(&data);
        }
    }
    Ok(all.into())
}

fn failure(error: HttpError) -> object_store::client::HttpError {
    let kind = match &error {
        HttpError::Connect { transient: true, .. } => HttpErrorKind::Connect,
        HttpError::Timeout { .. } => HttpErrorKind::Timeout,
        HttpError::Transfer { .. } => HttpErrorKind::Interrupted,
        _ => HttpErrorKind::Unknown,
    };
    object_store::client::HttpError::new(kind, error)
}

/// A body whose pieces a task passes on, since several tasks may hold it.
struct ArrivingBody(mpsc::Receiver<Result<Bytes, object_store::client::HttpError>>);

impl ArrivingBody {
    fn of(mut body: instep_net::Body) -> Self {
        let (sender, receiver) = mpsc::channel(PIECES);
        tokio::spawn(async move {
            loop {
                let piece = match body.chunk().await {
                    Ok(Some(piece)) => Ok(piece),
                    Ok(None) => return,
                    Err(error) => Err(failure(error)),
                };
                let is_last = piece.is_err();
                if sender.send(piece).await.is_err() || is_last {
                    return;
                }
            }
        });
        Self(receiver)
    }
}

impl Body for ArrivingBody {
    type Data = Bytes;
    type Error = object_store::client::HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| piece.map(Frame::data)))
    }
}
