//! The full texts that records name: fetched beside each other, and kept in groups.

use std::io::Write as _;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use instep_net::{HttpError, Origin, Request, Validators};
use resourcesync::Uri;
use ring::digest::{Context, SHA256};

use super::{
    Harvest, HarvestError,
    folder::HarvestFolder,
    requests::Repository,
    state::{FetchedText, OwedText},
};

/// Full texts that are fetched at the same time; the client asks each host less if it is slow.
const AT_ONCE: usize = 8;
/// Full texts that become durable together.
const GROUP: usize = 64;

/// The answer for one full text.
enum TextAnswer {
    New(FetchedText),
    Current,
    /// It is not there any more.
    Gone(String),
}

impl Harvest<'_> {
    /// Fetches the owed full texts. One that cannot be fetched is reported, and requested again by the next harvest.
    pub(super) async fn fetch_full_texts(&mut self) -> Result<(), HarvestError> {
        let mut after = String::new();
        loop {
            let mut group = Vec::new();
            while group.len() < GROUP
                && let Some(owed) = self.state.owed_after(&after)?
            {
                after.clone_from(&owed.path);
                group.push(owed);
            }
            if group.is_empty() || (self.ends)() {
                return Ok(());
            }
            self.fetch_group(group).await?;
        }
    }

    async fn fetch_group(&mut self, group: Vec<OwedText>) -> Result<(), HarvestError> {
        let (repository, folder) = (&self.repository, &self.folder);
        let mut waiting = group.into_iter();
        let mut under_way = FuturesUnordered::new();
        let mut answers = Vec::new();
        loop {
            while under_way.len() < AT_ONCE
                && let Some(owed) = waiting.next()
            {
                under_way.push(async {
                    let fetched = fetch(repository, folder, &owed).await;
                    (owed, fetched)
                });
            }
            match under_way.next().await {
                Some(answer) => answers.push(answer),
                None => break,
            }
        }
        drop(under_way);
        let mut lost = Vec::new();
        let mut commit = self.state.begin(&mut self.folder)?;
        for (owed, fetched) in answers {
            match fetched {
                Ok(TextAnswer::New(text)) => {
                    self.report.changed += 1;
                    commit.keep_text(&owed.path, text)?;
                }
                Ok(TextAnswer::Current) => commit.text_is_current(&owed.path)?,
                Ok(TextAnswer::Gone(what)) => {
                    self.report.changed += u64::from(owed.is_held);
                    commit.remove_text(&owed.path)?;
                    lost.push((owed, what));
                }
                Err(HarvestError::Http(error)) => {
                    let what = instep_store::error_chain(&error);
                    lost.push((owed, format!("cannot be fetched and is requested again: {what}")));
                }
                Err(error) => return Err(error),
            }
        }
        commit.finish(None)?;
        for (owed, what) in lost {
            self.lost(format!("{}, full text of {}", owed.url, owed.identifier), what);
        }
        Ok(())
    }
}

async fn fetch(
    repository: &Repository,
    folder: &HarvestFolder,
    owed: &OwedText,
) -> Result<TextAnswer, HarvestError> {
    let Ok(uri) = Uri::parse(&owed.url) else { return Ok(TextAnswer::Gone("is not a URI".to_owned())) };
    let mut request = Request::get(uri);
    // A record is untrusted text: its scope is its own host and those that the operator allows.
    request.speaker = Origin::parse(&repository.url.base).ok();
    if owed.is_held {
        request.held = Some(Validators::new(owed.etag.as_deref(), owed.modified.as_deref()));
    }
    let mut attempts = repository.client.attempts();
    loop {
        match fetch_once(repository, folder, &request).await {
            Err(HarvestError::Http(error)) => attempts.again(error).await?,
            answer => return answer,
        }
    }
}

async fn fetch_once(
    repository: &Repository,
    folder: &HarvestFolder,
    request: &Request,
) -> Result<TextAnswer, HarvestError> {
    let mut response = repository.client.send_once(request).await?;
    match response.status.as_u16() {
        304 => return Ok(TextAnswer::Current),
        404 | 410 => return Ok(TextAnswer::Gone(format!("is not there: {}", response.status))),
        200..300 => {}
        _ => {
            let (uri, status) = (request.uri.to_string(), response.status);
            return Err(HttpError::Status { uri, status, retry_after: None }.into());
        }
    }
    let media_type = response.header(http::header::CONTENT_TYPE).map(str::to_owned);
    if media_type
        .as_deref()
        .is_some_and(|media_type| media_type.to_ascii_lowercase().starts_with("text/html"))
    {
        return Ok(TextAnswer::Gone("is a web page, not a full text".to_owned()));
    }
    let etag = response.header(http::header::ETAG).map(str::to_owned);
    let modified = response.header(http::header::LAST_MODIFIED).map(str::to_owned);
    let (staged, mut file) = folder.create()?;
    let (mut digest, mut length) = (Context::new(&SHA256), 0);
    loop {
        match response.body.chunk().await {
            Ok(Some(chunk)) => {
                digest.update(&chunk);
                length += chunk.len() as u64;
                file.write_all(&chunk)?;
            }
            Ok(None) => break,
            Err(error) => {
                folder.discard(staged);
                return Err(error.into());
            }
        }
    }
    let digest = digest.finish().as_ref().to_vec();
    Ok(TextAnswer::New(FetchedText { staged, length, digest, media_type, etag, modified }))
}
