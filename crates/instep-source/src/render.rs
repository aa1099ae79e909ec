//! PURE: (snapshot, changes, policy, now) to the documents to write.

mod about;
mod archive;
mod capability_list;
mod change_dump;
mod change_list;
mod entry;
mod facts;
mod host;
mod pages;
mod place;
mod policy;
mod resource_dump;
mod resource_list;
mod robots;
mod rotation;
mod story;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use entry::{change_entry, resource_entry};
pub use facts::{
    ArchiveBrief, ArchiveFacts, ArchivedChanges, ArchivedFact, ChangeDumpFacts, ChangeListFacts,
    ChangePackageFact, DocumentFact, DumpFacts, Facts, Moment, PackageFact, ResourceListFacts, SetFacts,
};
pub use host::host_setup;
pub use place::{DOCUMENTS, Place, SOURCE_DESCRIPTION, SetPlace};
pub use policy::{Policy, SetPolicy};
pub(crate) use resource_list::part_name;
pub use rotation::Span;
pub use story::{Before, Built, Now, SetView, render};
pub use writer::ReadArchive;
