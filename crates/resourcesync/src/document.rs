//! Typed documents: a header, and entries. One type for each kind of document, index and manifest.

mod any;
mod archive;
mod capability_list;
mod change_list;
mod change_times;
mod collected;
mod dump;
mod entry;
mod header;
pub mod kind;
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
pub use capability_list::CapabilityList;
pub use change_list::{ChangeList, ChangeListIndex};
pub use change_times::{ChangeTimes, ChangeTimesJudge, TimeSource};
pub use collected::Collected;
pub use dump::{
    ChangeDump, ChangeDumpIndex, ChangeDumpManifest, ResourceDump, ResourceDumpIndex, ResourceDumpManifest,
};
pub use entry::Entry;
pub use header::{Form, Header};
pub use link::Link;
pub use metadata::{Attribute, Metadata};
pub use notification::{ChangeNotification, FrameworkNotification};
pub use range::{Fit, TimeRange};
pub use resource_list::{ResourceList, ResourceListIndex};
pub use source_description::{SourceDescription, SourceDescriptionIndex};
