//! The times of the members of an index, taken from the members if the index does not state them.

use std::collections::BTreeMap;

use resourcesync::{DateTime, Form, Uri};

use crate::{
    Error,
    clock::latest_time,
    documents::Document,
    plan::{IndexMember, Survey},
    run::SyncRun,
};

/// Members of an index that are opened to find their times; later ones are read in their turn.
const MOST_OPENED: usize = 256;

/// Finds the times of members for which the index states neither beginning nor end: from the member itself, otherwise
/// from the index's own beginning for the first one, otherwise from the entries (§12.2 only recommends the
/// attributes). Times that no clock has reached are none: a list that seems to end in years would be read after each
/// inventory, and take it back. Returns the documents that were opened for this.
pub(super) async fn find_times(
    run: &SyncRun<'_>,
    index: &Document,
    members: &mut [IndexMember],
) -> Result<BTreeMap<Uri, Document>, Error> {
    let (mut opened, mut begun) = (BTreeMap::new(), None);
    let root = run.believed(index.header.metadata.as_ref().and_then(|root| root.from));
    for (place, member) in members.iter_mut().enumerate() {
        member.keep_believed(&mut begun, |time| run.believed(time));
        if member.from.is_some() || member.until.is_some() || opened.len() >= MOST_OPENED {
            continue;
        }
        let document = match run.network.open(&member.uri, Some(&index.uri), None).await {
            Ok(Some(document)) => document,
            Ok(None) => continue,
            // It is tried again when it is read, and reported there.
            Err(error) if error.loses_document() => continue,
            Err(error) => return Err(error),
        };
        let header = document.header.metadata.clone().unwrap_or_default();
        (member.from, member.until) = (header.from, header.until);
        member.keep_believed(&mut begun, |time| run.believed(time));
        if member.from.is_none() && place == 0 {
            member.from = root;
        }
        if member.from.is_none() {
            match first_time(&document) {
                Err(error) if error.loses_document() => continue,
                from => member.from = from?,
            }
        }
        opened.insert(member.uri.clone(), document);
    }
    Ok(opened)
}

/// Returns the time at which a list begins. If no clock has reached the time that it states, that of its first entry
/// counts: otherwise the list would seem to begin after each inventory, and archived lists would revert the inventory.
pub(super) fn find_beginning(run: &SyncRun<'_>, document: &Document) -> Result<Option<DateTime>, Error> {
    let stated = document.header.metadata.as_ref().and_then(|root| root.from);
    if document.header.form == Form::Index || run.believed(stated) == stated {
        return Ok(stated);
    }
    match first_time(document) {
        // It is reported when it is read.
        Err(error) if error.loses_document() => Ok(stated),
        first => Ok(first?.or(stated)),
    }
}

/// Returns the earliest time of an entry: of a package its beginning, of a change the time that it has (DIA-4).
fn first_time(document: &Document) -> Result<Option<DateTime>, Error> {
    let mut survey = Survey::new(&document.header, None, Some(latest_time(document.date)));
    document.for_each(|entry| survey.observe(entry))?;
    let shape = survey.finish();
    let mut first: Option<DateTime> = None;
    document.for_each(|entry| {
        let time = entry.metadata.from.or(shape.own_time(entry));
        first = [first, time].into_iter().flatten().min_by_key(DateTime::instant);
    })?;
    Ok(first)
}
