//! The request for the next part of a list, and what an error in its answer means.

use super::super::{Harvest, HarvestError, identity::RepositoryIdentity, state::ListPosition};
use crate::{
    datestamp::{Granularity, seconds},
    response::OaiResponse,
};

/// A list begins this many seconds before the last one did, because a record may become visible some time after its
/// datestamp.
pub(super) const OVERLAP: i64 = 600;

/// The consequence of an error that a repository reports for a list.
pub(super) enum Answered {
    /// The error means that there are no more records: the list is complete.
    End,
    /// The error means that the request has to be sent in another form.
    Again,
}

impl Harvest<'_> {
    pub(super) fn arguments(
        &self,
        format: &str,
        at: &ListPosition,
        identity: &RepositoryIdentity,
    ) -> Vec<(&'static str, String)> {
        if let Some(token) = &at.token {
            return vec![("resumptionToken", token.clone())];
        }
        let url = &self.repository.url;
        let mut arguments = vec![("metadataPrefix", format.to_owned())];
        arguments.extend(url.set.clone().map(|set| ("set", set)));
        // The protocol requires one granularity for both limits.
        let is_day = url.until.as_ref().is_some_and(|until| !until.contains('T'));
        let granularity = if is_day { Granularity::Day } else { identity.granularity };
        // A repository that states the present as its earliest datestamp must not hide its changes: only the overlap is
        // given up for it.
        let from = at.began_from.map(|from| from.max(identity.earliest.unwrap_or(from).min(from + OVERLAP)));
        // If `until` is past, the list would begin after its end, which repositories refuse.
        let until = url.until.as_deref().and_then(seconds).unwrap_or(i64::MAX);
        let from = from.map(|from| from.min(until));
        arguments.extend(
            from.map(|from| granularity.write(from)).or_else(|| url.from.clone()).map(|from| ("from", from)),
        );
        arguments.extend(url.until.clone().map(|until| ("until", until)));
        arguments
    }

    /// Decides the effect of an error on the list.
    pub(super) async fn answered(
        &self,
        response: &OaiResponse,
        url: &str,
        at: &mut ListPosition,
        identity: &mut RepositoryIdentity,
    ) -> Result<Answered, HarvestError> {
        let has = |code: &str| response.errors.iter().any(|error| error.code.eq_ignore_ascii_case(code));
        if has("noRecordsMatch") {
            return Ok(Answered::End);
        }
        if at.token.is_some() && (has("badResumptionToken") || has("badArgument")) {
            at.token = None;
            at.began_from = if at.is_ordered { at.reached_at.or(at.began_from) } else { at.began_from };
            return Ok(Answered::Again);
        }
        if has("badArgument") && at.began_from.is_some() && identity.granularity == Granularity::Second {
            identity.granularity = Granularity::Day;
            return Ok(Answered::Again);
        }
        let mut error = response.errors[0].clone();
        if has("cannotDisseminateFormat")
            && let Ok((formats, _)) = self.repository.ask("ListMetadataFormats", &[]).await
            && !formats.formats.is_empty()
        {
            let text =
                if error.message.is_empty() { "no such metadataPrefix" } else { error.message.as_str() };
            error.message = format!("{text} (the repository has {})", formats.formats.join(", "));
        }
        Err(HarvestError::Refused { url: url.to_owned(), error })
    }
}
