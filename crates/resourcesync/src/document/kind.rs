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
pub trait Snapshot: DocumentKind {}
/// An interval of changes: its root has `from`, and `until` when it is closed (TIME-5, TIME-6).
pub trait Interval: DocumentKind {}
/// An index: its entries are documents of the same capability (GEN-10).
pub trait Index: DocumentKind {}
/// A document whose entries are changes (CL-8, CDM-6).
pub trait Changes: DocumentKind {}
/// The manifest of a package: its entries name bitstreams by `path` (RDM-6, CDM-7).
pub trait Manifest: DocumentKind {}
/// A dump: its entries are packages (RD-6, CD-7).
pub trait Dump: DocumentKind {}

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
    SourceDescriptionIndex: Index Description "Source Description Index" [Index];
    CapabilityList: List CapabilityList "Capability List" [];
    CapabilityListIndex: Index CapabilityList "Capability List Index" [Index];
    ResourceList: List ResourceList "Resource List" [Snapshot];
    ResourceListIndex: Index ResourceList "Resource List Index" [Snapshot Index];
    ResourceDump: List ResourceDump "Resource Dump" [Snapshot Dump];
    ResourceDumpIndex: Index ResourceDump "Resource Dump Index" [Snapshot Index];
    ResourceDumpManifest: List ResourceDumpManifest "Resource Dump Manifest" [Snapshot Manifest];
    ResourceDumpManifestIndex: Index ResourceDumpManifest "Resource Dump Manifest Index" [Snapshot Index];
    ChangeList: List ChangeList "Change List" [Interval Changes];
    ChangeListIndex: Index ChangeList "Change List Index" [Interval Index];
    ChangeDump: List ChangeDump "Change Dump" [Interval Dump];
    ChangeDumpIndex: Index ChangeDump "Change Dump Index" [Interval Index];
    ChangeDumpManifest: List ChangeDumpManifest "Change Dump Manifest" [Interval Changes Manifest];
    ChangeDumpManifestIndex: Index ChangeDumpManifest "Change Dump Manifest Index" [Interval Index];
    ResourceListArchive: List ResourceListArchive "Resource List Archive" [];
    ResourceListArchiveIndex: Index ResourceListArchive "Resource List Archive Index" [Index];
    ResourceDumpArchive: List ResourceDumpArchive "Resource Dump Archive" [];
    ResourceDumpArchiveIndex: Index ResourceDumpArchive "Resource Dump Archive Index" [Index];
    ChangeListArchive: List ChangeListArchive "Change List Archive" [];
    ChangeListArchiveIndex: Index ChangeListArchive "Change List Archive Index" [Index];
    ChangeDumpArchive: List ChangeDumpArchive "Change Dump Archive" [];
    ChangeDumpArchiveIndex: Index ChangeDumpArchive "Change Dump Archive Index" [Index];
    ChangeNotification: List ChangeNotification "Change Notification" [Changes];
    FrameworkNotification: List FrameworkNotification "Framework Notification" [Changes];
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
    let notification = matches!(wanted, Capability::ChangeNotification | Capability::FrameworkNotification);
    header.form == form
        && match header.capability() {
            Some(Capability::ChangeList) if *wanted == Capability::ChangeNotification => true,
            Some(found) => found == wanted,
            None => notification || (*wanted == Capability::ResourceList && header.metadata.is_none()),
        }
}
