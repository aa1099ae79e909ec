//! Forms in which a copy is exported: a bag, a folder, objects under their names, and the index of its packs. The
//! command `export` visits the resources and counts; here is the interface of a form, and the visit in parts.

mod bag;
mod folder;
mod index;
mod objects;
mod verified;

use std::io::Read;

use instep_destination::{Contents, CopyPath, HeldResource, ResourceAt};
use resourcesync::{DateTime, Uri};

pub(crate) use bag::BagWriter;
pub(crate) use folder::FolderWriter;
pub(crate) use index::IndexWriter;
pub(crate) use objects::ObjectWriter;

/// The number of resources that are read together, so that the parts of a pack are fetched with few requests.
const TOGETHER: usize = 1_024;

/// A resource that is exported, under its path.
#[derive(Debug)]
pub(crate) struct Exported {
    pub(crate) uri: Uri,
    pub(crate) path: CopyPath,
    /// `true` if the copy no longer holds the resource, and its bytes come from a kept version.
    pub(crate) is_gone: bool,
}

/// The bytes of a resource, or the reason why they cannot be read.
pub(crate) type Bytes = Result<Box<dyn Read + Send>, instep_destination::Error>;

/// A form of a copy while it is written.
pub(crate) trait ExportForm {
    /// Adds a resource. Returns `None` if it was added, or the fault if its bytes differ from its record or cannot be
    /// read; then it is left out.
    ///
    /// Errors: the form cannot be written.
    fn add(
        &mut self,
        resource: &Exported,
        held: &HeldResource,
        bytes: Bytes,
    ) -> anyhow::Result<Option<String>>;

    /// Completes the form and gives it its name. `source` is the URL of the Source.
    ///
    /// Errors: the form cannot be written.
    fn finish(self: Box<Self>, source: Option<&str>) -> anyhow::Result<()>;
}

/// Passes the resources of a copy on in parts, as they are or as they were at a time, until `each` returns `false`.
/// Returns the number of resources that the copy has only in later versions.
///
/// Errors: the state of the copy cannot be read.
pub(crate) fn in_parts(
    contents: &Contents,
    as_of: Option<DateTime>,
    each: &mut dyn FnMut(&[Exported], &[HeldResource]) -> bool,
) -> anyhow::Result<u64> {
    let (mut resources, mut all) = (Vec::with_capacity(TOGETHER), Vec::with_capacity(TOGETHER));
    let mut goes_on = true;
    let mut add = |resource: Exported, held: HeldResource| {
        resources.push(resource);
        all.push(held);
        if all.len() == TOGETHER {
            goes_on = each(&resources, &all);
            resources.clear();
            all.clear();
        }
        goes_on
    };
    let later = match as_of {
        None => {
            contents.by_path(&mut |held| {
                let (uri, path) = (held.uri.clone(), held.path.clone());
                add(Exported { uri, path, is_gone: false }, held)
            })?;
            0
        }
        Some(time) => contents.as_of(time, &mut |ResourceAt { uri, path, held, is_gone, .. }| {
            add(Exported { uri, path, is_gone }, held)
        })?,
    };
    if goes_on && !all.is_empty() {
        each(&resources, &all);
    }
    Ok(later)
}
