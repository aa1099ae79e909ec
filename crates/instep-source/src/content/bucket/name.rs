//! The names of objects that are resources.

use instep_objects::{ListedObject, ObjectPlace};

use crate::{
    PublishMonitor, PublishProblem,
    content::{filter::is_left_out, root::OWN_NAMES},
    render::{DOCUMENTS, ROBOTS},
};

/// Names that a report shows.
const SHOWN: usize = 5;

/// The use of an object according to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectName {
    Resource,
    /// The object is left out, as a file with that name would be, or it marks a folder.
    LeftOut,
    /// The object is left out because its name belongs to the documents of a Source.
    OfDocuments,
    /// The object is meant as a resource but cannot have a URI; the reason.
    Unusable(&'static str),
}

impl ObjectName {
    /// Returns the use of a listed object.
    pub(super) fn of(object: &ListedObject) -> Self {
        let name = &object.name;
        if (name.is_empty() || name.ends_with('/')) && object.length == 0 {
            return Self::LeftOut;
        }
        let first = name.split('/').next().unwrap_or_default();
        let mut left_out = OWN_NAMES.contains(&first);
        for segment in name.split('/') {
            match segment {
                "" => return Self::Unusable("has a slash at an end of its name, or two in a row"),
                "." | ".." => return Self::Unusable("has a part of its name that is '.' or '..'"),
                _ if segment.chars().any(|character| character.is_ascii_control()) => {
                    return Self::Unusable("has a control character in its name");
                }
                _ => left_out |= is_left_out(segment.as_bytes()),
            }
        }
        match left_out {
            true if first == DOCUMENTS || name == ROBOTS => Self::OfDocuments,
            true => Self::LeftOut,
            false => Self::Resource,
        }
    }
}

/// Objects that are no resources because of their names.
#[derive(Debug, Default)]
pub(super) struct UnusableNames {
    pub(super) count: u64,
    first: Option<(String, &'static str)>,
    of_documents: u64,
    first_of_documents: Vec<String>,
}

impl UnusableNames {
    /// Returns an object if it is a resource. Otherwise counts it, unless it is left out as a file of that name is.
    pub(super) fn resource(&mut self, object: ListedObject) -> Option<ListedObject> {
        match ObjectName::of(&object) {
            ObjectName::Resource => return Some(object),
            ObjectName::LeftOut => {}
            ObjectName::OfDocuments => {
                self.of_documents += 1;
                if self.first_of_documents.len() < SHOWN {
                    self.first_of_documents.push(object.name);
                }
            }
            ObjectName::Unusable(why) => {
                self.count += 1;
                self.first.get_or_insert((object.name, why));
            }
        }
        None
    }

    /// Reports those whose names belong to documents with one line. They are no fault, as such files are none.
    fn report_of_documents(&self, place: &ObjectPlace, monitor: &dyn PublishMonitor) {
        if self.of_documents == 0 {
            return;
        }
        let shown = self.first_of_documents.join(", ");
        let more = match self.of_documents - self.first_of_documents.len() as u64 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let what = format!(
            "has objects that are not published, because their names belong to the documents of a Source: \
             {}{more}; move them to other names",
            shown.escape_debug()
        );
        monitor.problem(&PublishProblem::warning(place.to_string(), what));
    }

    /// Reports those that cannot be resources with one line, which names the first; and those whose names belong to
    /// documents, unless the documents lie there.
    pub(super) fn report(&self, place: &ObjectPlace, has_documents: bool, monitor: &dyn PublishMonitor) {
        if !has_documents {
            self.report_of_documents(place, monitor);
        }
        if let Some((name, why)) = &self.first {
            let what = format!("{why}, so it is not published; {} in all", self.count);
            monitor.problem(&PublishProblem::skipped(format!("{place}/{}", name.escape_debug()), what));
        }
    }
}

#[cfg(test)]
mod tests {
    use instep_objects::ListedObject;

    use super::ObjectName;

    fn named(name: &str, length: u64) -> ObjectName {
        let etag = None;
        let name = name.to_owned();
        ObjectName::of(&ListedObject { name, length, etag, modified: 0, keeps_sha256: None, md5: None })
    }

    #[test]
    fn an_object_is_a_resource_if_a_uri_leads_back_to_it() {
        for name in [
            "a",
            "a b",
            "100%",
            "a%2Fb",
            "what?",
            "a#b",
            "caf\u{e9}",
            "\u{fffd}",
            "a+b",
            "a\\b",
            " ",
            "a/robots.txt",
        ] {
            assert_eq!(named(name, 1), ObjectName::Resource, "{name:?}");
        }
        for name in [".hidden", "a/.b/c", "a~", "#a#", ".well-known/resourcesync", "instep.toml"] {
            assert_eq!(named(name, 1), ObjectName::LeftOut, "{name:?}");
        }
        for name in ["resourcesync/capabilitylist.xml", "resourcesync", "robots.txt"] {
            assert_eq!(named(name, 1), ObjectName::OfDocuments, "{name:?}");
        }
        for folder in ["", "a/", "a/b/"] {
            assert_eq!(named(folder, 0), ObjectName::LeftOut, "{folder:?}");
        }
        for name in ["", "/", "/a", "a/", "a//b", "a/./b", "..", "a/../b", "line\nbreak", "\u{7f}"] {
            assert!(matches!(named(name, 1), ObjectName::Unusable(_)), "{name:?}");
        }
    }
}
