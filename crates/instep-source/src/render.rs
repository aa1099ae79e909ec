//! The documents of a publication. PURE: sets, policy and time are arguments; documents are written to a sink.
//!
//! `place` names the documents; the documents in place are a record ([`crate::records`]); lists, dumps and archives
//! build on these two; `set` orders the documents of one set, `source` those of the complete Source.

mod about;
mod archive;
mod capability_list;
mod change_dump;
mod change_list;
mod entry;
mod fit;
mod headers;
mod host;
mod measure;
mod packages;
mod pages;
mod place;
mod policy;
mod resource_dump;
mod resource_list;
mod robots;
mod rotation;
mod set;
mod set_input;
mod source;
mod view;
mod writer;

#[cfg(test)]
mod tests;

pub(crate) use entry::{change_entry, resource_entry};
pub(crate) use fit::{Fitting, Omissions};
pub(crate) use headers::{cache_control, is_immutable, media_type};
pub(crate) use host::host_setup;
pub use host::{HostSetup, Redirect};
pub(crate) use measure::{EntryMeter, room_for_entries};
pub(crate) use place::{
    CHANGE_DUMP, DOCUMENTS, MEMENTO, PATCHES, RESOURCE_DUMP, ROBOTS, SOURCE_DESCRIPTION, TIMEGATE, TIMEMAP,
    part_name,
};
pub use place::{SetPlace, SourcePlace};
pub(crate) use policy::{SetPolicy, SourcePolicy};
pub(crate) use source::render;
pub(crate) use view::{Before, Now, SetResources, SetView};
