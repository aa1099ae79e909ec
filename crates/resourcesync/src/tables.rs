//! Tables 3 and 4 of the standard (§7, Appendix A) and the additions of §8 to §13, as data. The validator and the
//! writer share them, so that the writer refuses exactly what the validator reports.

use crate::{
    document::{Form, Header, Link, Metadata},
    finding::Severity,
    value::{Capability, Change, Relation, Uri},
};

/// The presence that Appendix A requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// M: must be there.
    Mandatory,
    /// R: should be there.
    Recommended,
    /// O: may be there.
    Optional,
    /// X: must not be there.
    Forbidden,
    /// Not in the table.
    Unstated,
}

use Presence::{Forbidden as X, Mandatory as M, Optional as O, Recommended as R, Unstated as U};

/// The rules for one kind of document, by id; empty if there is none.
#[derive(Debug)]
pub(crate) struct DocumentRules {
    pub(crate) capability: Capability,
    pub(crate) form: Form,
    /// Table 4: root `at`, root `from`, entry `at`, entry `from`.
    pub(crate) times: [Presence; 4],
    /// The rule that names root and capability.
    pub(crate) root: &'static str,
    /// The rule that requires `at` or `from` on the root.
    pub(crate) time: &'static str,
    /// The rule that requires `up`.
    pub(crate) up: &'static str,
    /// The rule that requires `index` in a member of an index.
    pub(crate) index: &'static str,
    /// The rule that requires `loc` on entries, beside GEN-14.
    pub(crate) loc: &'static str,
    /// The rule that a second entry of the same URI breaks.
    pub(crate) duplicate: &'static str,
    /// The rule that orders entries by time.
    pub(crate) order: &'static str,
    /// The rule that requires `change` on entries.
    pub(crate) change: &'static str,
    /// The rule that requires `path` on entries.
    pub(crate) path: &'static str,
    /// The rule that requires `type` on entries.
    pub(crate) media_type: &'static str,
    /// `true` if entries have a `capability` (ATT-7).
    pub(crate) entry_capability: bool,
}

macro_rules! documents {
    ($($form:ident $capability:ident [$($time:ident)*] {$($field:ident: $value:expr),* $(,)?})*) => {
        [$(DocumentRules {
            capability: Capability::$capability,
            form: Form::$form,
            times: [$($time),*],
            $($field: $value,)*
            ..NOTHING
        }),*]
    };
}

const NOTHING: DocumentRules = DocumentRules {
    capability: Capability::Description,
    form: Form::List,
    times: [U, U, U, U],
    root: "",
    time: "",
    up: "",
    index: "",
    loc: "",
    duplicate: "",
    order: "",
    change: "",
    path: "",
    media_type: "",
    entry_capability: false,
};

#[rustfmt::skip]
static DOCUMENTS: [DocumentRules; 24] = documents! {
    List  Description          [U U U U] { root: "SD-4", duplicate: "SD-6", entry_capability: true }
    Index Description          [U U U U] { root: "SD-11", duplicate: "SD-6" }
    List  CapabilityList       [U U U U] { root: "CAP-2", up: "CAP-3", entry_capability: true }
    Index CapabilityList       [U U U U] { root: "CAP-1", up: "CAP-3" }
    List  ResourceList         [M X X X] { loc: "RL-6", root: "RL-1", time: "RL-2", up: "RL-3", index: "RL-4", duplicate: "RL-5" }
    Index ResourceList         [M X O X] { loc: "RLI-5", root: "RLI-1", time: "RLI-2", up: "RLI-3", duplicate: "RLI-4" }
    List  ResourceDump         [M X O X] { loc: "RD-6", root: "RD-1", time: "RD-2", up: "RD-3", index: "RD-4", duplicate: "RD-5", media_type: "RD-7" }
    Index ResourceDump         [M X O X] { loc: "RLI-5", root: "RD-11", time: "RD-11", up: "RD-11", duplicate: "RLI-4" }
    List  ResourceDumpManifest [M X X X] { loc: "RDM-5", root: "RDM-1", time: "RDM-2", up: "RDM-3", path: "RDM-6", media_type: "RDM-7" }
    Index ResourceDumpManifest [M X X X] { root: "RDM-1", time: "RDM-2", up: "RDM-3" }
    List  ChangeList           [X M X X] { loc: "CL-7", root: "CL-1", time: "CL-2", up: "CL-3", index: "CL-4", order: "CL-6", change: "CL-8" }
    Index ChangeList           [X M X R] { loc: "CLI-7", root: "CLI-3", time: "CLI-4", up: "CLI-5", duplicate: "CLI-6", order: "CLI-2" }
    List  ChangeDump           [X M X R] { loc: "CD-7", root: "CD-1", time: "CD-2", up: "CD-3", index: "CD-4", duplicate: "CD-5", order: "CD-6", media_type: "CD-8" }
    Index ChangeDump           [X M X R] { loc: "CLI-7", root: "CD-13", time: "CD-13", up: "CD-13", duplicate: "CLI-6", order: "CD-13" }
    List  ChangeDumpManifest   [X M X X] { root: "CDM-1", time: "CDM-2", up: "CDM-3", order: "CDM-4", change: "CDM-6", path: "CDM-7", media_type: "CDM-8" }
    Index ChangeDumpManifest   [X M X X] { root: "CDM-1", time: "CDM-2", up: "CDM-3" }
    List  ResourceListArchive  [U U O X] { root: "ARC-5", up: "ARC-6", order: "ARC-11" }
    List  ResourceDumpArchive  [U U O X] { root: "ARC-5", up: "ARC-6", order: "ARC-11" }
    List  ChangeListArchive    [U U X R] { root: "ARC-5", up: "ARC-6", order: "ARC-11" }
    List  ChangeDumpArchive    [U U X R] { root: "ARC-5", up: "ARC-6", order: "ARC-11" }
    List  ChangeNotification   [X O X X] { root: "CN-6", up: "CN-6", order: "CN-8", change: "CN-6" }
    Index ChangeNotification   [X O X X] { root: "CN-7", up: "CN-6" }
    List  FrameworkNotification [X O X X] { root: "FN-1", up: "CN-6", change: "FN-1", entry_capability: true }
    Index FrameworkNotification [X O X X] { root: "N8-6", up: "CN-6" }
};

/// The rules for indexes of archives (ARC-12), which have no times.
static ARCHIVE_INDEX: DocumentRules =
    DocumentRules { form: Form::Index, root: "ARC-12", up: "ARC-12", ..NOTHING };

/// Returns the rules for a kind of document; `None` for unknown capabilities.
pub(crate) fn document_rules(form: Form, capability: &Capability) -> Option<&'static DocumentRules> {
    let known = DOCUMENTS.iter().find(|rules| rules.form == form && rules.capability == *capability);
    let archive = DOCUMENTS.iter().any(|rules| rules.capability == *capability) && form == Form::Index;
    known.or(archive.then_some(&ARCHIVE_INDEX))
}

/// Returns the rules for the document with a header.
pub(crate) fn header_rules(header: &Header) -> Option<&'static DocumentRules> {
    document_rules(header.form, header.capability()?)
}

impl DocumentRules {
    pub(crate) fn is(&self, form: Form, capability: &Capability) -> bool {
        self.form == form && self.capability == *capability
    }

    pub(crate) fn is_manifest(&self) -> bool {
        matches!(self.capability, Capability::ResourceDumpManifest | Capability::ChangeDumpManifest)
    }

    pub(crate) fn is_dump(&self) -> bool {
        self.form == Form::List
            && matches!(self.capability, Capability::ResourceDump | Capability::ChangeDump)
    }

    pub(crate) fn is_archive(&self) -> bool {
        self.root.starts_with("ARC")
    }

    /// Returns `true` if entries are changes (ATT-8).
    pub(crate) fn has_changes(&self) -> bool {
        !self.change.is_empty()
    }
}

/// Returns the rule that an attribute of Table 3 breaks on `rs:md` or `rs:ln`, if it belongs to the other.
pub(crate) fn misplaced(name: &str, on_link: bool) -> Option<(&'static str, Severity)> {
    Some(match (on_link, name) {
        (true, "at") => ("ATT-1", Severity::Error),
        (true, "completed") => ("ATT-2", Severity::Error),
        (true, "from") => ("ATT-3", Severity::Error),
        (true, "until") => ("ATT-4", Severity::Error),
        (true, "capability") => ("ATT-7", Severity::Warning),
        (true, "change") => ("ATT-8", Severity::Warning),
        (true, "datetime") => ("ATT-9", Severity::Warning),
        (false, "modified") => ("ATT-19", Severity::Warning),
        (false, "pri") => ("ATT-20", Severity::Warning),
        (false, "href" | "rel") => ("GEN-20", Severity::Warning),
        _ => return None,
    })
}

/// Returns the rule about links of a relation (§14).
pub(crate) fn relation_rule(rel: &Relation) -> Option<&'static str> {
    Some(match rel {
        Relation::Duplicate => "LN-3",
        Relation::Alternate => "LN-6",
        Relation::Canonical => "LN-8",
        Relation::Patch => "LN-9",
        Relation::Describes | Relation::DescribedBy => "LN-14",
        Relation::Profile => "LN-15",
        Relation::Memento => "LN-16",
        Relation::TimeGate => "LN-17",
        Relation::TimeMap => "LN-19",
        Relation::Collection => "LN-20",
        Relation::Via => "LN-21",
        Relation::Contents => "LN-24",
        _ => return None,
    })
}

/// Returns the capability that an unknown name most likely means, and `true` if the name adds "index" to it (GEN-10).
pub(crate) fn meant_capability(name: &str) -> Option<(Capability, bool)> {
    let plain = |text: &str| {
        text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
    };
    let name = plain(name);
    Capability::KNOWN.into_iter().find_map(|known| {
        let plain_known = plain(known.as_str());
        let index = name.strip_suffix("index") == Some(&*plain_known);
        (index || name == plain_known).then_some((known, index))
    })
}

/// Returns `true` if a channel can have the URI: that of a topic, or of a WebSocket (CN-3, N8-2).
pub(crate) fn has_channel_scheme(loc: &Uri) -> bool {
    let scheme = loc.as_str().split(':').next().unwrap_or_default();
    ["http", "https", "ws", "wss"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

/// Returns `true` if a document of a capability can have a change (FN-2).
pub(crate) fn can_change(capability: &Capability, change: &Change) -> bool {
    match capability {
        Capability::ResourceList | Capability::ResourceDump => *change == Change::Created,
        Capability::ChangeList | Capability::ChangeDump => *change != Change::Deleted,
        Capability::ResourceDumpManifest | Capability::ChangeDumpManifest => false,
        _ => true,
    }
}

/// Returns the rule that an entry of an archive breaks if it lacks the times of the archived document, with its weight
/// and those times.
pub(crate) fn untimed_archive(
    rules: &DocumentRules,
    md: &Metadata,
) -> Option<(&'static str, Severity, &'static str)> {
    let snapshot = (md.at.is_some(), "at");
    let interval = (md.from.is_some() && md.until.is_some(), "from and until");
    let (rule, severity, (timed, expected)) = match &rules.capability {
        Capability::ResourceListArchive => ("ARC-7", Severity::Warning, snapshot),
        Capability::ResourceDumpArchive => ("ARC-8", Severity::Error, snapshot),
        Capability::ChangeListArchive => ("ARC-9", Severity::Error, interval),
        Capability::ChangeDumpArchive => ("ARC-10", Severity::Error, interval),
        _ => return None,
    };
    (!timed).then_some((rule, severity, expected))
}

/// Returns `true` if a mirror is described as having other bytes than the resource (LN-4).
pub(crate) fn duplicate_differs(md: &Metadata, link: &Link) -> bool {
    let media_types = md.media_type.as_ref().zip(link.media_type.as_ref());
    md.hash.agrees_with(&link.hash) == Some(false)
        || md.length.zip(link.length).is_some_and(|(mine, theirs)| mine != theirs)
        || media_types.is_some_and(|(mine, theirs)| !mine.is_same(theirs))
}
