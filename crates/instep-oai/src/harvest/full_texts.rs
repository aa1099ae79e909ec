//! The full texts that records name: several are fetched at the same time, and they become durable in groups.

mod writer;

use std::io;

use futures_util::stream::{FuturesUnordered, StreamExt as _};
use instep_net::{Body, HttpError, Origin, Request, Validators};
use instep_store::Shortage;
use resourcesync::Uri;
use writer::{HashedText, TextWriter};

use super::{
    Harvest, HarvestError,
    folder::HarvestFolder,
    requests::Repository,
    state::{FetchedText, OwedText},
};
use crate::response::NotOai;

/// The most full texts that are fetched at the same time. The client sends fewer requests to a slow host.
const AT_ONCE: usize = 8;
/// The most full texts that become durable together.
const GROUP: usize = 64;

/// The content codings that are decoded.
const GZIP: [&str; 2] = ["gzip", "x-gzip"];

/// The answer for one full text.
enum TextAnswer {
    New(FetchedText),
    Current,
    /// The server answers that it is not there any more: it is no longer requested.
    Gone(String),
    /// With it the disk would have less free space than stays free.
    TooLarge,
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
        let (mut lost, mut is_short) = (Vec::new(), false);
        let mut commit = self.state.begin(&mut self.folder)?;
        for (owed, fetched) in answers {
            match fetched {
                Ok(TextAnswer::New(text)) => {
                    self.report.changed += 1;
                    commit.keep_text(&owed.path, text)?;
                }
                Ok(TextAnswer::Current) => commit.note_current_text(&owed.path)?,
                Ok(TextAnswer::Gone(what)) => {
                    self.report.changed += u64::from(owed.is_held);
                    commit.remove_text(&owed.path)?;
                    lost.push((owed, what));
                }
                Ok(TextAnswer::TooLarge) => {
                    is_short = true;
                    let what = "the disk has no room for it; it is requested again by the next harvest";
                    lost.push((owed, what.to_owned()));
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
        // One that is too large has left the disk by now. Without room for others, nothing more is requested.
        if is_short { Ok(self.folder.expect_space()?) } else { Ok(()) }
    }
}

async fn fetch(
    repository: &Repository,
    folder: &HarvestFolder,
    owed: &OwedText,
) -> Result<TextAnswer, HarvestError> {
    let Ok(uri) = Uri::parse(&owed.url) else { return Ok(TextAnswer::Gone("is not a URI".to_owned())) };
    let mut request = Request::get(uri);
    // The URL comes from a record, which is untrusted: only the repository's own host and those that the operator allows
    // are requested.
    request.speaker = Origin::parse(&repository.url.base).ok();
    if owed.is_held {
        request.held = Some(Validators::new(owed.etag.as_deref(), owed.modified.as_deref()));
    }
    let mut attempts = repository.client.attempts();
    loop {
        if has_no_room(folder.expect_space())? {
            return Ok(TextAnswer::TooLarge);
        }
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
    let failed = |status| HttpError::Status { uri: request.uri.to_string(), status, retry_after: None };
    match response.status.as_u16() {
        304 => return Ok(TextAnswer::Current),
        // A file that was there may be back soon, and a 404 alone deletes nothing (B5). Without validators the held bytes may
        // be those of another URL, which the record named before.
        404 if request.held.as_ref().is_some_and(|held| !held.is_empty()) => {
            return Err(failed(response.status).into());
        }
        404 | 410 => return Ok(TextAnswer::Gone(format!("is not there: {}", response.status))),
        // Any other success, such as 206, does not carry the complete file.
        200 | 203 => {}
        _ => return Err(failed(response.status).into()),
    }
    let media_type = response.header(http::header::CONTENT_TYPE).map(str::to_owned);
    if media_type
        .as_deref()
        .is_some_and(|media_type| media_type.to_ascii_lowercase().starts_with("text/html"))
    {
        // A page in the place of a full text that was there is about maintenance or a login, and passes.
        return match request.held {
            Some(_) => Err(broken(request, "a web page, not the full text that was there".to_owned()).into()),
            None => Ok(TextAnswer::Gone("is a web page, not a full text".to_owned())),
        };
    }
    let etag = response.header(http::header::ETAG).map(str::to_owned);
    let modified = response.header(http::header::LAST_MODIFIED).map(str::to_owned);
    let coding = response.coding();
    if let Some(coding) = coding.as_deref().filter(|coding| !GZIP.contains(coding)) {
        let what = format!("it arrives in the content coding {coding:?}, although none was accepted");
        return Err(broken(request, what).into());
    }
    let (staged, file) = folder.create()?;
    let writer = TextWriter::new(file, coding.is_some(), None);
    match write_body(request, &mut response.body, writer).await {
        Ok(HashedText { digest, length, .. }) => {
            let digest = digest.finish().as_ref().to_vec();
            Ok(TextAnswer::New(FetchedText { staged, length, digest, media_type, etag, modified }))
        }
        Err(error) => {
            folder.discard(staged);
            match error {
                HarvestError::Io(fault) => has_no_room(Err(fault)).map(|_| TextAnswer::TooLarge),
                error => Err(error),
            }
        }
    }
}

/// Writes the body of an answer to a file.
async fn write_body(
    request: &Request,
    body: &mut Body,
    mut writer: TextWriter,
) -> Result<HashedText, HarvestError> {
    let failed = |error| writing_failed(request, error);
    while let Some(chunk) = body.chunk().await? {
        writer.write_all(&chunk).map_err(failed)?;
    }
    writer.finish().map_err(failed)
}

/// Returns the error of an answer that is not the full text.
fn broken(request: &Request, what: String) -> HttpError {
    HttpError::Transfer { uri: request.uri.to_string(), source: Box::new(NotOai(what)) }
}

/// Returns `true` if writing failed because the disk has no room.
///
/// # Errors
/// Any other failure.
fn has_no_room(written: io::Result<()>) -> Result<bool, HarvestError> {
    match written {
        Err(error) if Shortage::behind(&error) == Some(Shortage::Room) => Ok(true),
        Err(error) => Err(error.into()),
        Ok(()) => Ok(false),
    }
}

/// Returns the error of bytes that cannot be written: those that cannot be decompressed are the server's fault.
fn writing_failed(request: &Request, error: io::Error) -> HarvestError {
    match error.kind() {
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof => {
            broken(request, format!("it cannot be decompressed: {error}")).into()
        }
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use instep_store::WRITTEN_BETWEEN_LOOKS;

    use super::*;

    #[test]
    fn o675_a_full_text_that_never_ends_leaves_a_part_of_the_disk_free() {
        let mut text = TextWriter::new(tempfile::tempfile().unwrap(), false, Some(u64::MAX));
        // The free space is not checked for each of many small files.
        text.write_all(&vec![0; WRITTEN_BETWEEN_LOOKS as usize - 1]).unwrap();
        assert!(has_no_room(text.write_all(&[0; 2])).unwrap());
        let mut text = TextWriter::new(tempfile::tempfile().unwrap(), false, Some(0));
        assert!(!has_no_room(text.write_all(&vec![0; WRITTEN_BETWEEN_LOOKS as usize])).unwrap());
    }
}
