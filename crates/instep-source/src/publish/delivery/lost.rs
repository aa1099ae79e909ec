//! Documents that object storage has lost since their delivery: somebody emptied the bucket, made it anew, or replaced an
//! object. The record of deliveries cannot show it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::ControlFlow,
    path::Path,
};

use instep_objects::{Bucket, BucketError, ObjectPlace};

use super::steps;
use crate::{
    Error,
    records::{Outbox, UndeliveredDocument},
    render::DOCUMENTS,
};

/// Returns the documents of a folder that were delivered and that a place has not, or has in another length. None if the
/// service does not let these credentials list objects.
///
/// # Errors
/// If object storage fails, or the folder cannot be read.
pub(super) fn documents(
    folder: &Path,
    place: &ObjectPlace,
    outbox: &Outbox,
) -> Result<Vec<UndeliveredDocument>, Error> {
    let pending: BTreeSet<&str> = outbox.documents.iter().map(|document| document.name.as_str()).collect();
    let mut documents = steps::all_in(folder)?;
    documents.retain(|document| !pending.contains(document.name.as_str()));
    if documents.is_empty() {
        return Ok(documents);
    }
    let total = documents.len() + pending.len();
    let names = documents.iter().map(|document| document.name.as_str());
    let found = match lengths(place, names) {
        Ok(found) => found,
        Err(error) if error.is_denied() => return Ok(Vec::new()),
        Err(error) => {
            let (place, what) = (place.to_string(), error.to_string());
            return Err(Error::Delivery { place, delivered: 0, total, what });
        }
    };
    let mut lost = Vec::new();
    for document in documents {
        let path = folder.join(&document.name);
        let length = fs::metadata(&path).map_err(Error::read(&path))?.len();
        if found.get(&document.name) != Some(&length) {
            lost.push(document);
        }
    }
    Ok(lost)
}

/// Returns the bytes of the objects that there are: by a listing of their folder, since it has a thousand in one answer. The
/// few documents elsewhere may have resources beside them, and are requested one by one.
fn lengths<'n>(
    place: &ObjectPlace,
    names: impl Iterator<Item = &'n str>,
) -> Result<BTreeMap<String, u64>, BucketError> {
    let bucket = Bucket::open(place)?;
    let mut found = BTreeMap::new();
    bucket.list_below(DOCUMENTS, &mut |object| {
        found.insert(object.name, object.length);
        ControlFlow::Continue(())
    })?;
    let is_listed = |name: &str| name.strip_prefix(DOCUMENTS).is_some_and(|rest| rest.starts_with('/'));
    for name in names.filter(|name| !is_listed(name)) {
        if let Some(length) = bucket.length(name)? {
            found.insert(name.to_owned(), length);
        }
    }
    Ok(found)
}
