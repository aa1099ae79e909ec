//! The choice of the documents that a Framework Notification names (FN-2 to FN-6). PURE.

use std::collections::BTreeSet;

use resourcesync::{Capability, Change};

use super::payload::WrittenDocument;
use crate::render::{SOURCE_DESCRIPTION, SetPlace};

/// The documents that were announced.
#[derive(Debug, Default)]
pub(super) struct AnnouncedDocuments {
    newest_list: String,
    newest_dump: String,
    /// The documents that keep their name: they are created once and updated afterwards.
    lasting: BTreeSet<String>,
}

/// The families of documents: the name of the index or the only document, and its capability.
const FAMILIES: [(&str, Capability); 4] = [
    ("resourcelist", Capability::ResourceList),
    ("resourcedump", Capability::ResourceDump),
    ("changelist", Capability::ChangeList),
    ("changedump", Capability::ChangeDump),
];

impl AnnouncedDocuments {
    /// Takes the names that are there before the first announcement, in the folder of a set and below `out`.
    pub(super) fn new(present: impl IntoIterator<Item = String>) -> Self {
        let mut announced = Self::default();
        let present: BTreeSet<String> = present.into_iter().collect();
        for name in present.iter().filter(|name| !present.contains(&package_of(name))) {
            announced.remember(name);
        }
        announced.lasting = present;
        announced
    }

    /// Returns the notifications for documents of a set, by their names below `out`.
    pub(super) fn written(&mut self, place: &SetPlace, names: &[String]) -> Vec<WrittenDocument> {
        let mut written = Vec::new();
        let folder = place.name("");
        let own: BTreeSet<&str> = names
            .iter()
            .filter(|name| !names.contains(&package_of(name)))
            .filter_map(|name| name.strip_prefix(folder.as_str()))
            .filter(|name| !name.contains('/') && name.ends_with(".xml"))
            .collect();
        for (family, capability) in FAMILIES {
            written.extend(self.written_of(place, family, capability, &own));
        }
        if own.contains("capabilitylist.xml") {
            let change = self.written_again("capabilitylist.xml");
            written.push(source_document(place.capability_list(), Capability::CapabilityList, change));
        }
        if names.iter().any(|name| name == SOURCE_DESCRIPTION) {
            let change = self.written_again(SOURCE_DESCRIPTION);
            let description = place.source().source_description();
            written.push(source_document(description, Capability::Description, change));
        }
        written
    }

    /// Returns the notifications for documents of a family: for its only document, for each list of changes under an index,
    /// or for the first part of another index.
    fn written_of(
        &mut self,
        place: &SetPlace,
        family: &str,
        capability: Capability,
        own: &BTreeSet<&str>,
    ) -> Vec<WrittenDocument> {
        let root = format!("{family}.xml");
        let members: Vec<&str> = own.iter().copied().filter(|name| is_member(name, family)).collect();
        let index = (!members.is_empty() || self.has_members(family)).then(|| place.uri(&root));
        let document = |name: &str, change: Change, index: Option<resourcesync::Uri>| WrittenDocument {
            uri: place.uri(name),
            capability: capability.clone(),
            change,
            index,
        };
        match family {
            "changelist" | "changedump" if index.is_some() => {
                let announce = |member: &str| {
                    let change = if self.remember(member) { Change::Created } else { Change::Updated };
                    document(member, change, index.clone())
                };
                members.into_iter().map(announce).collect()
            }
            "changelist" | "changedump" if own.contains(root.as_str()) => {
                let change = self.written_again(&root);
                vec![document(&root, change, None)]
            }
            _ => match members.first() {
                Some(first) => vec![document(first, Change::Created, index)],
                None if own.contains(root.as_str()) => vec![document(&root, Change::Created, None)],
                None => Vec::new(),
            },
        }
    }

    /// Returns the change of a document that keeps its name.
    fn written_again(&mut self, name: &str) -> Change {
        if self.lasting.insert(name.to_owned()) { Change::Created } else { Change::Updated }
    }

    /// Returns `true` if lists of this family have been seen under an index.
    fn has_members(&self, family: &str) -> bool {
        match family {
            "changelist" => !self.newest_list.is_empty(),
            "changedump" => !self.newest_dump.is_empty(),
            _ => false,
        }
    }

    /// Returns `true` if a name is newer than every other of its family. Numbers have leading zeros, so text can be
    /// compared.
    fn remember(&mut self, name: &str) -> bool {
        let newest = match name {
            _ if is_member(name, "changelist") => &mut self.newest_list,
            _ if is_member(name, "changedump") => &mut self.newest_dump,
            _ => return false,
        };
        let is_newer = name > newest.as_str();
        if is_newer {
            name.clone_into(newest);
        }
        is_newer
    }
}

/// Returns the entry that reports the Capability List of a set as deleted.
pub(super) fn withdrawn(place: &SetPlace) -> WrittenDocument {
    source_document(place.capability_list(), Capability::CapabilityList, Change::Deleted)
}

fn source_document(uri: resourcesync::Uri, capability: Capability, change: Change) -> WrittenDocument {
    WrittenDocument { uri, capability, change, index: None }
}

/// Returns the package whose manifest a document may be a copy of. Such a copy lies beside its package and is not
/// announced.
fn package_of(name: &str) -> String {
    format!("{}.zip", name.strip_suffix(".xml").unwrap_or(name))
}

/// Returns `true` if a name ends with the number of a part. An archived document ends with a moment.
fn is_member(name: &str, family: &str) -> bool {
    let rest = name.strip_prefix(family).and_then(|rest| rest.strip_prefix('-'));
    let number = rest.and_then(|rest| rest.strip_suffix(".xml")?.rsplit('-').next());
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::SourcePlace;

    fn announced(state: &mut AnnouncedDocuments, names: &[&str]) -> Vec<String> {
        let place = SourcePlace::new("http://example.com/").unwrap().set("");
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let written = state.written(&place, &names);
        let name = |uri: &resourcesync::Uri| uri.as_str().rsplit('/').next().unwrap().to_owned();
        let line = |written: &WrittenDocument| {
            let index = written.index.as_ref().map_or(String::new(), |index| format!(" < {}", name(index)));
            format!("{} {}{index}", written.change, name(&written.uri))
        };
        written.iter().map(line).collect()
    }

    #[test]
    fn one_resource_list_is_created_whatever_happened_to_the_one_before() {
        let mut state = AnnouncedDocuments::default();
        assert_eq!(announced(&mut state, &["resourcesync/resourcelist.xml"]), ["created resourcelist.xml"]);
        assert_eq!(announced(&mut state, &["resourcesync/resourcelist.xml"]), ["created resourcelist.xml"]);
    }

    #[test]
    fn a_family_under_an_index_has_one_entry_and_the_index_none() {
        let names = [
            "resourcesync/resourcelist-20261121T000000Z-0001.xml",
            "resourcesync/resourcelist-20261121T000000Z-0002.xml",
            "resourcesync/resourcelist.xml",
        ];
        let expected = ["created resourcelist-20261121T000000Z-0001.xml < resourcelist.xml"];
        assert_eq!(announced(&mut AnnouncedDocuments::default(), &names), expected);
    }

    #[test]
    fn a_change_list_is_created_once_and_updated_afterwards() {
        let mut state = AnnouncedDocuments::new(["changelist-000001.xml".to_owned()]);
        let first = "resourcesync/changelist-000001.xml";
        assert_eq!(announced(&mut state, &[first]), ["updated changelist-000001.xml < changelist.xml"]);
        let both = [first, "resourcesync/changelist-000002.xml", "resourcesync/changelist.xml"];
        let expected = [
            "updated changelist-000001.xml < changelist.xml",
            "created changelist-000002.xml < changelist.xml",
        ];
        assert_eq!(announced(&mut state, &both), expected);
    }

    #[test]
    fn the_only_change_list_is_created_once_and_updated_afterwards() {
        let mut state = AnnouncedDocuments::default();
        for change in ["created", "updated", "updated"] {
            let told = announced(&mut state, &["resourcesync/changelist.xml"]);
            assert_eq!(told, [format!("{change} changelist.xml")]);
        }
    }

    #[test]
    fn a5_what_goes_to_the_archive_is_not_announced_and_what_takes_its_place_is() {
        let present = ["changelist-000001.xml", "capabilitylist.xml", ".well-known/resourcesync"];
        let mut state = AnnouncedDocuments::new(present.map(str::to_owned));
        let names = [
            "resourcesync/resourcelist-20261121T000000.000001Z.xml",
            "resourcesync/resourcedump-20261121T000000.000001Z.xml",
            "resourcesync/changedump-20261121T000000.000001Z.xml",
            "resourcesync/resourcelist-archive.xml",
            "resourcesync/resourcelist.xml",
            "resourcesync/resourcedump.xml",
            "resourcesync/changelist-000001.xml",
            "resourcesync/changelist.xml",
            "resourcesync/changedump.xml",
            "resourcesync/capabilitylist.xml",
            ".well-known/resourcesync",
        ];
        let expected = [
            "created resourcelist.xml",
            "created resourcedump.xml",
            "updated changelist-000001.xml < changelist.xml",
            "created changedump.xml",
            "updated capabilitylist.xml",
            "updated resourcesync",
        ];
        assert_eq!(announced(&mut state, &names), expected);
    }

    #[test]
    fn the_copy_of_a_manifest_is_no_dump() {
        let names = [
            "resourcesync/resourcedump.xml",
            "resourcesync/resourcedump-20261121T000000Z-0001.xml",
            "resourcesync/resourcedump-20261121T000000Z-0001.zip",
            "resourcesync/changedump-20261121T000000Z-0001.xml",
            "resourcesync/changedump-20261121T000000Z-0001.zip",
            "resourcesync/changedump.xml",
        ];
        let expected = ["created resourcedump.xml", "created changedump.xml"];
        assert_eq!(announced(&mut AnnouncedDocuments::default(), &names), expected);
    }

    #[test]
    fn documents_of_the_source_are_told_and_other_sets_and_packages_are_not() {
        let names = [
            "resourcesync/capabilitylist.xml",
            ".well-known/resourcesync",
            "resourcesync/other/resourcelist.xml",
            "resourcesync/resourcedump-20261121T000000Z-0001.zip",
            "robots.txt",
        ];
        assert_eq!(
            announced(&mut AnnouncedDocuments::default(), &names),
            ["created capabilitylist.xml", "created resourcesync"]
        );
    }
}
