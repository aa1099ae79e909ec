//! The rules that the writer enforces: every *must* that a document can break while it is written. They come from the
//! tables that the validator uses, so that the two cannot disagree.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use super::version::SpecVersion;
use crate::{
    document::{Attribute, Entry, Form, Header, Link, Metadata},
    error::WriteError,
    tables::{
        DocumentRules, Presence, can_change, duplicate_differs, has_channel_scheme, header_rules,
        meant_capability, untimed_archive,
    },
    value::{Capability, Change, DateTime, DigestValue, Digests, PackagePath, Relation, Uri, lacks_host},
    xml::names::RS,
};

/// The part of a document's earlier content that rules about later entries depend on.
#[derive(Debug)]
pub(super) struct Obligations {
    rules: Option<&'static DocumentRules>,
    version: SpecVersion,
    from: Option<DateTime>,
    until: Option<DateTime>,
    last_time: Option<DateTime>,
    capabilities: BTreeSet<Capability>,
    paths: BTreeSet<u64>,
}

/// Returns an error unless a rule holds.
fn require(holds: bool, rule: &'static str, what: impl FnOnce() -> String) -> Result<(), WriteError> {
    if holds { Ok(()) } else { Err(WriteError::Rule { rule, what: what() }) }
}

impl Obligations {
    /// Checks the header.
    pub(super) fn of(header: &Header, version: SpecVersion) -> Result<Self, WriteError> {
        let rules = header_rules(header);
        let md = header.metadata.as_ref();
        require(md.is_some(), "GEN-3", || "A document with links needs metadata too".into())?;
        let empty = Metadata::new();
        let md = md.unwrap_or(&empty);
        require(md.capability.is_some(), "GEN-4", || "A document needs a capability".into())?;
        if let Some(Capability::Other(name)) = &md.capability
            && let Some((meant, index)) = meant_capability(name)
        {
            let rule = if index { "GEN-10" } else { "GEN-5" };
            require(false, rule, || format!("The capability \"{name}\" is written \"{meant}\""))?;
        }
        if let Some(rules) = rules {
            check_root(rules, header, md)?;
        }
        check_pairs(md)?;
        check_metadata(md)?;
        require(md.path.is_none(), "ATT-16", || "The root has no path".into())?;
        for link in &header.links {
            check_link(link)?;
            require(link.path.is_none(), "ATT-16", || "A link of the root has no path".into())?;
        }
        Ok(Self {
            rules,
            version,
            from: md.from,
            until: md.until,
            last_time: None,
            capabilities: BTreeSet::new(),
            paths: BTreeSet::new(),
        })
    }

    /// Checks the next entry.
    pub(super) fn check(&self, entry: &Entry) -> Result<(), WriteError> {
        let Entry { loc, metadata: md, links, .. } = entry;
        require(!loc.as_str().is_empty() && loc.as_str().len() < 2_048, "GEN-14", || {
            format!("A loc must have 1 to 2047 characters: {loc}")
        })?;
        require(!lacks_host(loc.as_str()), "GEN-14", || format!("A loc of the web needs a host: {loc}"))?;
        check_pairs(md)?;
        check_metadata(md)?;
        links.iter().try_for_each(check_link)?;
        let differs =
            links.iter().find(|link| link.rel == Relation::Duplicate && duplicate_differs(md, link));
        require(differs.is_none(), "LN-4", || format!("A mirror with another hash, length or type: {loc}"))?;
        let Some(rules) = self.rules else { return Ok(()) };
        check_entry_times(rules, entry)?;
        if let Some((rule, _, expected)) = untimed_archive(rules, md) {
            require(false, rule, || format!("An archived document without {expected}: {loc}"))?;
        }
        let open = rules.form == Form::Index && md.from.is_some() && md.until.is_none();
        require(!open || self.until.is_none(), "TIME-6", || {
            format!("An open member of a closed index: {loc}")
        })?;
        self.check_change(rules, entry)?;
        self.check_path(rules, entry)?;
        self.check_order(rules, entry)?;
        self.check_capability(rules, entry)?;
        links.iter().try_for_each(|link| check_placed_link(rules, link))
    }

    /// Takes in an entry that was written. One that is refused does not count as one before the next: it may come again
    /// without what was wrong.
    pub(super) fn take_in(&mut self, entry: &Entry) {
        let (Some(rules), md) = (self.rules, &entry.metadata) else { return };
        if let Some(path) = md.path.as_ref().filter(|_| has_own_paths(rules)) {
            self.paths.insert(hash_of(path));
        }
        if let Some(time) = ordering_time(rules, md) {
            self.last_time = Some(time);
        }
        if let Some(capability) = md.capability.as_ref().filter(|_| offers_each_once(rules)) {
            self.capabilities.insert(capability.clone());
        }
    }

    fn check_change(&self, rules: &DocumentRules, entry: &Entry) -> Result<(), WriteError> {
        let Entry { loc, metadata: md, .. } = entry;
        let known = !matches!(md.change, Some(Change::Other(_)));
        require(known, "ATT-8", || format!("change must be created, updated or deleted: {loc}"))?;
        if !rules.has_changes() {
            return Ok(());
        }
        require(md.change.is_some(), rules.change, || format!("No change: {loc}"))?;
        let early = md.datetime.zip(self.from).is_some_and(|(time, from)| time.end() <= from.instant());
        let late = md.datetime.zip(self.until).is_some_and(|(time, until)| until.end() <= time.instant());
        require(!early && !late, "ATT-10", || format!("datetime is outside the document's interval: {loc}"))?;
        let dated = self.version == SpecVersion::V1_1 || md.datetime.or(entry.lastmod).is_some();
        require(dated, "DIA-9", || format!("Version 1.0 requires the time of each change: {loc}"))
    }

    fn check_path(&self, rules: &DocumentRules, entry: &Entry) -> Result<(), WriteError> {
        let Entry { loc, metadata: md, .. } = entry;
        let Some(path) = &md.path else {
            let needless = rules.path.is_empty() || md.change == Some(Change::Deleted);
            return require(needless, rules.path, || format!("No path: {loc}"));
        };
        require(rules.is_manifest(), "ATT-16", || format!("A path outside a manifest: {loc}"))?;
        require(path.is_as_specified(), "ATT-17", || {
            format!("A path must begin with a slash and stay inside the package: {path}")
        })?;
        let is_fresh = !has_own_paths(rules) || !self.paths.contains(&hash_of(path));
        require(is_fresh, "CDM-10", || format!("A path used before: {path}"))
    }

    fn check_order(&self, rules: &DocumentRules, entry: &Entry) -> Result<(), WriteError> {
        let Entry { loc, metadata: md, .. } = entry;
        let Some(time) = ordering_time(rules, md) else { return Ok(()) };
        let falls = self.last_time.is_some_and(|last| time.end() <= last.instant());
        require(!falls, rules.order, || format!("The time is before that of the entry above: {loc}"))
    }

    fn check_capability(&self, rules: &DocumentRules, entry: &Entry) -> Result<(), WriteError> {
        let Entry { loc, metadata: md, .. } = entry;
        match (&rules.capability, rules.form, &md.capability) {
            (Capability::CapabilityList, Form::List, None) => {
                require(false, "CAP-7", || format!("No capability: {loc}"))
            }
            (Capability::CapabilityList, Form::List, Some(capability)) => {
                let reachable = !capability.is_channel() || has_channel_scheme(loc);
                require(reachable, "CN-3", || format!("A channel needs an http or ws URI: {loc}"))?;
                let fresh = !self.capabilities.contains(capability);
                require(fresh, "CAP-8", || format!("{capability} is offered twice: {loc}"))
            }
            (Capability::Description, Form::List, Some(capability)) => {
                require(*capability == Capability::CapabilityList, "SD-8", || format!("{capability}: {loc}"))
            }
            (Capability::FrameworkNotification, _, None) => {
                require(false, "FN-1", || format!("No capability: {loc}"))
            }
            (Capability::FrameworkNotification, _, Some(capability)) => {
                let channel = capability.is_channel();
                require(!channel, "FN-6", || format!("A notification about a channel: {loc}"))?;
                let possible = md.change.as_ref().is_none_or(|change| can_change(capability, change));
                require(possible, "FN-2", || format!("A {capability} cannot have this change: {loc}"))
            }
            _ => Ok(()),
        }
    }
}

/// Returns `true` for a document in which each path is there once.
fn has_own_paths(rules: &DocumentRules) -> bool {
    rules.is(Form::List, &Capability::ChangeDumpManifest)
}

/// Returns `true` for a document that offers each capability once.
fn offers_each_once(rules: &DocumentRules) -> bool {
    rules.is(Form::List, &Capability::CapabilityList)
}

/// Returns the time of an entry by which the entries of a document are ordered; `None` if they have no order.
fn ordering_time(rules: &DocumentRules, md: &Metadata) -> Option<DateTime> {
    let time = if rules.has_changes() { md.datetime } else { md.from };
    time.filter(|_| !rules.order.is_empty() && !rules.is_archive())
}

fn hash_of(path: &PackagePath) -> u64 {
    let mut hasher = DefaultHasher::new();
    path.member().unwrap_or(path.as_str()).hash(&mut hasher);
    hasher.finish()
}

fn check_root(rules: &DocumentRules, header: &Header, md: &Metadata) -> Result<(), WriteError> {
    let whole =
        rules.form == Form::List || !(rules.is_manifest() || rules.root == "CN-7" || rules.root == "N8-6");
    require(whole, rules.root, || format!("A {} cannot be an index", rules.capability))?;
    for (presence, name, start, end, rule) in [
        (rules.times[0], "at", md.at, md.completed, "ATT-1"),
        (rules.times[1], "from", md.from, md.until, "ATT-3"),
    ] {
        let mandatory = presence == Presence::Mandatory;
        require(!mandatory || start.is_some(), rules.time, || format!("No {name} on the root"))?;
        let allowed = mandatory || presence == Presence::Optional || start.or(end).is_none();
        require(allowed, rule, || format!("{name} or its end on the root of a {}", rules.capability))?;
    }
    let up = header.link_for(&Relation::Up).is_some() || rules.up.is_empty();
    require(up, rules.up, || "No link rel=\"up\"".into())
}

fn check_entry_times(rules: &DocumentRules, entry: &Entry) -> Result<(), WriteError> {
    let Entry { loc, metadata: md, .. } = entry;
    let barred = |presence| matches!(presence, Presence::Forbidden | Presence::Unstated);
    let at = md.at.or(md.completed).is_none() || !barred(rules.times[2]);
    require(at, "ATT-5", || format!("at or completed on an entry: {loc}"))?;
    let from = md.from.or(md.until).is_none() || !barred(rules.times[3]);
    require(from, "ATT-6", || format!("from or until on an entry: {loc}"))
}

fn check_pairs(md: &Metadata) -> Result<(), WriteError> {
    let falls = |start: Option<DateTime>, end: Option<DateTime>| {
        start.zip(end).is_some_and(|(start, end)| end.end() <= start.instant())
    };
    require(!falls(md.at, md.completed), "TIME-4", || "completed is before at".into())?;
    require(!falls(md.from, md.until), "TIME-8", || "until is before from".into())
}

fn check_metadata(md: &Metadata) -> Result<(), WriteError> {
    check_digests(&md.hash)?;
    check_other(&md.other)
}

fn check_digests(hash: &Digests) -> Result<(), WriteError> {
    let opaque = hash.iter().find(|digest| {
        digest.algorithm.digest_bytes().is_some() && matches!(digest.value, DigestValue::Opaque(_))
    });
    require(opaque.is_none(), "ATT-13", || format!("Not hexadecimal: {hash}"))
}

/// Checks that attributes outside Table 3 are in a namespace other than that of ResourceSync (GEN-6, GEN-7).
fn check_other(other: &[Attribute]) -> Result<(), WriteError> {
    let name =
        |attribute: &Attribute| format!("The attribute {} needs a namespace of its own", attribute.name);
    let bare = other.iter().find(|attribute| attribute.namespace.is_empty());
    require(bare.is_none(), "GEN-7", || bare.map(name).unwrap_or_default())?;
    let ours = other.iter().find(|attribute| &*attribute.namespace == RS);
    require(ours.is_none(), "GEN-6", || ours.map(name).unwrap_or_default())
}

fn check_link(link: &Link) -> Result<(), WriteError> {
    let known = match &link.rel {
        Relation::Other(name) => Relation::is_registered(name) || Uri::parse(name).is_ok(),
        _ => true,
    };
    require(known, "GEN-21", || format!("The relation \"{}\" is neither registered nor a URI", link.rel))?;
    let typed = link.rel != Relation::Patch || link.media_type.is_some();
    require(typed, "LN-9", || format!("A patch without type: {}", link.href))?;
    check_digests(&link.hash)?;
    check_other(&link.other)
}

fn check_placed_link(rules: &DocumentRules, link: &Link) -> Result<(), WriteError> {
    if let Some(path) = &link.path {
        require(rules.is_manifest(), "ATT-16", || format!("A path outside a manifest: {path}"))?;
        require(path.is_as_specified(), "ATT-17", || {
            format!("A path must begin with a slash and stay inside the package: {path}")
        })?;
    }
    if link.rel != Relation::Patch {
        return Ok(());
    }
    let snapshot = matches!(
        rules.capability,
        Capability::ResourceList | Capability::ResourceDump | Capability::ResourceDumpManifest
    );
    require(!snapshot, "LN-11", || format!("A patch in a {}: {}", rules.capability, link.href))?;
    let packed = rules.capability != Capability::ChangeDumpManifest || link.path.is_some();
    require(packed, "CDM-11", || format!("A patch without path: {}", link.href))
}
