//! A copy in another form: a bag, a folder, objects under their names, the index of its packs.

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

/// Resources that are read together.
const TOGETHER: usize = 1_024;

/// A resource that is exported, under its path.
#[derive(Debug)]
pub(crate) struct Exported {
    pub(crate) uri: Uri,
    pub(crate) path: CopyPath,
    /// `true` if the copy no longer holds it.
    pub(crate) is_gone: bool,
}

/// The bytes of a resource, or the reason why they cannot be read.
pub(crate) type Bytes = Result<Box<dyn Read + Send>, instep_destination::Error>;

/// A form of a copy while it is written.
pub(crate) trait ExportForm {
    /// Adds a resource, if its bytes match its record. Otherwise returns the fault.
    ///
    /// Errors: it cannot be written.
    fn add(
        &mut self,
        resource: &Exported,
        held: &HeldResource,
        bytes: Bytes,
    ) -> anyhow::Result<Option<String>>;

    /// Gives it its name.
    ///
    /// Errors: it cannot be written.
    fn finish(self: Box<Self>, source: Option<&str>) -> anyhow::Result<()>;
}

/// Visits the resources of a copy, some at a time, as they are or as they were at a time; `each` returns `false` to end
/// that. Returns the number of resources that the copy has only in later versions.
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
