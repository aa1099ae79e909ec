//! The kinds of documents as types, so that a Change List cannot be taken for a Resource List.

use super::{Form, Header};
use crate::value::Capability;

mod sealed {
    pub trait Sealed {}
}

/// A kind of document: its root element and its capability (GEN-9, GEN-4).
pub trait Kind: sealed::Sealed + Clone + std::fmt::Debug + PartialEq + Eq + Send + Sync + 'static {
    /// Its name in the standard.
    const NAME: &'static str;

    /// Whether a document with this header is one.
    fn accepts(header: &Header) -> bool;

    /// The header of an empty one.
    fn header() -> Header;
}

/// A snapshot: it has `at` and may have `completed` (TIME-3, TIME-4).
pub trait Snapshot: Kind {}
/// An interval of changes: it has `from`, and `until` when it is closed (TIME-5, TIME-6).
pub trait Interval: Kind {}
/// An index: its entries are documents of the same capability (GEN-10).
pub trait Index: Kind {}
/// Entries are changes (CL-8, CDM-6).
pub trait Changes: Kind {}
/// The manifest of a package: its entries name bitstreams by `path` (RDM-6, CDM-7).
pub trait Manifest: Kind {}
/// A dump: its entries are packages (RD-6, CD-7).
pub trait Dump: Kind {}
/// A document that links up to a Capability List or a Source Description and has no time of its own.
pub trait Timeless: Kind {}

macro_rules! kinds {
    ($($name:ident: $form:ident $capability:ident $title:literal [$($role:ident)*];)*) => {$(
        #[doc = concat!("Marks a ", $title, ".")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {}
        impl sealed::Sealed for $name {}
        impl Kind for $name {
            const NAME: &'static str = $title;

            fn accepts(header: &Header) -> bool {
                accepts(header, Form::$form, &Capability::$capability)
            }

            fn header() -> Header {
                Header::new(Form::$form, Capability::$capability)
            }
        }
        $(impl $role for $name {})*
    )*};
}

kinds! {
    SourceDescription: List Description "Source Description" [];
    SourceDescriptionIndex: Index Description "Source Description Index" [Index];
    CapabilityList: List CapabilityList "Capability List" [Timeless];
    ResourceList: List ResourceList "Resource List" [Snapshot];
    ResourceListIndex: Index ResourceList "Resource List Index" [Snapshot Index];
    ResourceDump: List ResourceDump "Resource Dump" [Snapshot Dump];
    ResourceDumpIndex: Index ResourceDump "Resource Dump Index" [Snapshot Index];
    ResourceDumpManifest: List ResourceDumpManifest "Resource Dump Manifest" [Snapshot Manifest];
    ChangeList: List ChangeList "Change List" [Interval Changes];
    ChangeListIndex: Index ChangeList "Change List Index" [Interval Index];
    ChangeDump: List ChangeDump "Change Dump" [Interval Dump];
    ChangeDumpIndex: Index ChangeDump "Change Dump Index" [Interval Index];
    ChangeDumpManifest: List ChangeDumpManifest "Change Dump Manifest" [Interval Changes Manifest];
    ResourceListArchive: List ResourceListArchive "Resource List Archive" [Timeless];
    ResourceListArchiveIndex: Index ResourceListArchive "Resource List Archive Index" [Timeless Index];
    ResourceDumpArchive: List ResourceDumpArchive "Resource Dump Archive" [Timeless];
    ResourceDumpArchiveIndex: Index ResourceDumpArchive "Resource Dump Archive Index" [Timeless Index];
    ChangeListArchive: List ChangeListArchive "Change List Archive" [Timeless];
    ChangeListArchiveIndex: Index ChangeListArchive "Change List Archive Index" [Timeless Index];
    ChangeDumpArchive: List ChangeDumpArchive "Change Dump Archive" [Timeless];
    ChangeDumpArchiveIndex: Index ChangeDumpArchive "Change Dump Archive Index" [Timeless Index];
    ChangeNotification: List ChangeNotification "Change Notification" [Timeless Changes];
    FrameworkNotification: List FrameworkNotification "Framework Notification" [Timeless Changes];
}

/// Marks a document of a capability that has no type here (CAP-13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Any {}

impl sealed::Sealed for Any {}

impl Kind for Any {
    const NAME: &'static str = "document";

    fn accepts(_: &Header) -> bool {
        true
    }

    fn header() -> Header {
        Header::bare(Form::List)
    }
}

/// A root without `rs:md` is a plain Sitemap and serves as Resource List (DIA-7), or a notification, whose drafts
/// have none (N8-5); a notification may also call itself a Change List (C1).
fn accepts(header: &Header, form: Form, wanted: &Capability) -> bool {
    let notification = matches!(wanted, Capability::ChangeNotification | Capability::FrameworkNotification);
    header.form == form
        && match header.capability() {
            Some(Capability::ChangeList) if *wanted == Capability::ChangeNotification => true,
            Some(found) => found == wanted,
            None => notification || (*wanted == Capability::ResourceList && header.metadata.is_none()),
        }
}
