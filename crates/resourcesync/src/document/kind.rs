//! The kinds of documents as types, so that a Change List cannot be mistaken for a Resource List.
//!
//! The markers and traits stay inside the crate: users name the aliases (`ResourceList`, `ChangeList`, ...), and the
//! traits decide which methods each alias has.

use super::{Form, Header};
use crate::value::Capability;

mod sealed {
    pub trait Sealed {}
}

/// A kind of document, known by its root element and its capability (GEN-9, GEN-4).
pub trait DocumentKind:
    sealed::Sealed + Clone + std::fmt::Debug + PartialEq + Eq + Send + Sync + 'static
{
    /// The name in the standard, as error messages use it.
    const NAME: &'static str;

    /// Returns `true` if a document with this header is of this kind.
    fn accepts(header: &Header) -> bool;

    /// Returns the header of an empty document.
    fn header() -> Header;
}

/// A snapshot: its root has `at` and may have `completed` (TIME-3, TIME-4).
pub trait SnapshotKind: DocumentKind {}
/// An interval of changes: its root has `from`, and `until` when it is closed (TIME-5, TIME-6).
pub trait IntervalKind: DocumentKind {}
/// An index: its entries are documents of the same capability (GEN-10).
pub trait IndexKind: DocumentKind {}
/// A document whose entries are changes (CL-8, CDM-6).
pub trait ChangesKind: DocumentKind {}
/// The manifest of a package: its entries name bitstreams by `path` (RDM-6, CDM-7).
pub trait ManifestKind: DocumentKind {}
/// A dump: its entries are packages (RD-6, CD-7).
pub trait DumpKind: DocumentKind {}

macro_rules! kinds {
    ($($name:ident: $form:ident $capability:ident $title:literal [$($role:ident)*];)*) => {$(
        #[doc = concat!("Marks a ", $title, ".")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {}
        impl sealed::Sealed for $name {}
        impl DocumentKind for $name {
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
    SourceDescriptionIndex: Index Description "Source Description Index" [IndexKind];
    CapabilityList: List CapabilityList "Capability List" [];
    CapabilityListIndex: Index CapabilityList "Capability List Index" [IndexKind];
    ResourceList: List ResourceList "Resource List" [SnapshotKind];
    ResourceListIndex: Index ResourceList "Resource List Index" [SnapshotKind IndexKind];
    ResourceDump: List ResourceDump "Resource Dump" [SnapshotKind DumpKind];
    ResourceDumpIndex: Index ResourceDump "Resource Dump Index" [SnapshotKind IndexKind];
    ResourceDumpManifest: List ResourceDumpManifest "Resource Dump Manifest" [SnapshotKind ManifestKind];
    ResourceDumpManifestIndex: Index ResourceDumpManifest "Resource Dump Manifest Index" [SnapshotKind IndexKind];
    ChangeList: List ChangeList "Change List" [IntervalKind ChangesKind];
    ChangeListIndex: Index ChangeList "Change List Index" [IntervalKind IndexKind];
    ChangeDump: List ChangeDump "Change Dump" [IntervalKind DumpKind];
    ChangeDumpIndex: Index ChangeDump "Change Dump Index" [IntervalKind IndexKind];
    ChangeDumpManifest: List ChangeDumpManifest "Change Dump Manifest" [IntervalKind ChangesKind ManifestKind];
    ChangeDumpManifestIndex: Index ChangeDumpManifest "Change Dump Manifest Index" [IntervalKind IndexKind];
    ResourceListArchive: List ResourceListArchive "Resource List Archive" [];
    ResourceListArchiveIndex: Index ResourceListArchive "Resource List Archive Index" [IndexKind];
    ResourceDumpArchive: List ResourceDumpArchive "Resource Dump Archive" [];
    ResourceDumpArchiveIndex: Index ResourceDumpArchive "Resource Dump Archive Index" [IndexKind];
    ChangeListArchive: List ChangeListArchive "Change List Archive" [];
    ChangeListArchiveIndex: Index ChangeListArchive "Change List Archive Index" [IndexKind];
    ChangeDumpArchive: List ChangeDumpArchive "Change Dump Archive" [];
    ChangeDumpArchiveIndex: Index ChangeDumpArchive "Change Dump Archive Index" [IndexKind];
    ChangeNotification: List ChangeNotification "Change Notification" [ChangesKind];
    FrameworkNotification: List FrameworkNotification "Framework Notification" [ChangesKind];
}

/// Marks a document whose capability has no type here (CAP-13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Any {}

impl sealed::Sealed for Any {}

impl DocumentKind for Any {
    const NAME: &'static str = "document";

    fn accepts(_: &Header) -> bool {
        true
    }

    fn header() -> Header {
        Header::bare(Form::List)
    }
}

/// Returns `true` if a header fits a form and a capability.
///
/// A root without `rs:md` is a plain Sitemap and is read as a Resource List (DIA-7), or a notification, whose drafts
/// have none (N8-5). A notification may also call itself a Change List, as the reference publisher's do.
fn accepts(header: &Header, form: Form, wanted: &Capability) -> bool {
    header.form == form
        && match header.capability() {
            Some(Capability::ChangeList) if *wanted == Capability::ChangeNotification => true,
            Some(found) => found == wanted,
            None => wanted.is_channel() || (*wanted == Capability::ResourceList && header.metadata.is_none()),
        }
}
