//! Typed documents: a header and entries. Each kind of document, index and manifest has a type of its own.
//!
//! A document is built with `new`, which takes the required metadata of its root, and `push`. It is written with
//! `write_to` or `to_xml` and read with `read`. Documents too large for memory are streamed:
//! [`crate::DocumentReader`], [`crate::DocumentWriter`].

mod any;
mod archive;
mod build;
mod capability_list;
mod change_list;
mod change_times;
mod collected;
mod dump;
mod entry;
mod header;
mod kind;
mod link;
mod metadata;
mod notification;
mod range;
mod resource_list;
mod source_description;

pub use any::Document;
pub use archive::{
    ChangeDumpArchive, ChangeDumpArchiveIndex, ChangeListArchive, ChangeListArchiveIndex,
    ResourceDumpArchive, ResourceDumpArchiveIndex, ResourceListArchive, ResourceListArchiveIndex,
};
pub use capability_list::{CapabilityList, CapabilityListIndex};
pub use change_list::{ChangeList, ChangeListIndex};
pub use change_times::{ChangeTimes, ChangeTimesJudge, TimeSource};
pub use collected::Collected;
pub use dump::{
    ChangeDump, ChangeDumpIndex, ChangeDumpManifest, ChangeDumpManifestIndex, ResourceDump,
    ResourceDumpIndex, ResourceDumpManifest, ResourceDumpManifestIndex,
};
pub use entry::Entry;
pub use header::{Form, Header};
pub use link::Link;
pub use metadata::{Attribute, Metadata};
pub use notification::{ChangeNotification, FrameworkNotification};
pub use range::TimeRange;
pub use resource_list::{ResourceList, ResourceListIndex};
pub use source_description::{SourceDescription, SourceDescriptionIndex};
