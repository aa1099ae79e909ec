//! Archives: the closed lists that a Source still offers, with which a gap before its current lists is closed (§15).

use resourcesync::{DateTime, Form, Uri};

use super::{
    change_lists::{ChangeDocuments, MemberDocument},
    kind::unusable_members,
};
use crate::{
    Error,
    discover::CapabilitySet,
    plan::{IndexMember, Reach, count_repeated, members_to_read},
    run::SyncRun,
};

impl ChangeDocuments {
    /// Closes a gap with closed lists of the archive, if it reaches back to the checkpoint without a gap of its own
    /// (ARC-14).
    pub(super) async fn bridge(
        &mut self,
        run: &mut SyncRun<'_>,
        set: &CapabilitySet,
        checkpoint: DateTime,
        earliest: DateTime,
    ) -> Result<(), Error> {
        let Some(offer) = set.get(&self.kind.archive()) else { return Ok(()) };
        let mut archived = match archived_lists(run, set, &offer.uri).await {
            Ok((archived, None)) => archived,
            // A list that is lost may be one within the gap.
            Ok((_, Some(error))) => {
                run.reporter.lost_document(&offer.uri, &error);
                return Ok(());
            }
            Err(error) if error.loses_document() => {
                run.reporter.lost_document(&offer.uri, &error);
                return Ok(());
            }
            // A fault of the disk, or the end of the run (O459).
            Err(error) => return Err(error),
        };
        for member in &mut archived {
            (member.from, member.until) = (run.believed(member.from), run.believed(member.until));
        }
        // The current lists have everything that begins after they begin. Of two dates of one day, either may be the
        // earlier one (O13).
        archived.retain(|member| member.from.is_none_or(|from| from.instant() < earliest.end()));
        archived.retain(|member| self.lists.iter().all(|list| list.member.uri != member.uri));
        archived.extend(self.lists.first().map(|list| list.member.clone()));
        let (wanted, reach) = members_to_read(&checkpoint, &archived);
        if reach != Reach::Covered || wanted.len() < 2 {
            return Ok(());
        }
        run.reporter.note(&format!("the archive closes a gap before {earliest}"));
        let bridge = wanted[..wanted.len() - 1]
            .iter()
            .map(|member| MemberDocument { member: (*member).clone(), document: None });
        self.lists.splice(0..0, bridge);
        self.reach = Reach::Covered;
        Ok(())
    }
}

/// Returns the lists of an archive, or of all archives under an index (ARC-12), oldest first; and the error for others that
/// entries without a usable `loc` of their own, or an index within the index, should name.
pub(crate) async fn archived_lists(
    run: &mut SyncRun<'_>,
    set: &CapabilitySet,
    uri: &Uri,
) -> Result<(Vec<IndexMember>, Option<Error>), Error> {
    let (mut members, mut lost) = (Vec::new(), None);
    let mut archives = vec![uri.clone()];
    let mut indexes = 1;
    while let Some(uri) = archives.pop() {
        let Some(document) = run.network.open(&uri, set.capability_list.as_ref(), None).await? else {
            continue;
        };
        let unusable = match document.header.form {
            Form::List => document.for_each_usable(|entry| members.push(IndexMember::from(entry)))?,
            Form::Index if indexes > 0 => {
                indexes -= 1;
                document.for_each_usable(|entry| archives.push(entry.loc.clone()))?
            }
            Form::Index => {
                let (url, what) = (uri.as_str().to_owned(), "an index within an index (GEN-12)".to_owned());
                lost.get_or_insert(Error::InvalidDocument { url, what });
                0
            }
        };
        lost = lost.or(unusable_members(&uri, unusable));
    }
    lost = lost.or(unusable_members(uri, count_repeated(&members)));
    // They are sorted by their times. If one has no time, the order of the archive counts.
    if members.iter().all(|member| member.from.or(member.at).is_some()) {
        members.sort_by_key(|member| member.from.or(member.at).map(|time| time.instant()));
    }
    Ok((members, lost))
}
