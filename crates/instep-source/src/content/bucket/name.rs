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
    /// Returns the use of an object with a name and a length.
    fn of(name: &str, length: u64) -> Self {
        if (name.is_empty() || name.ends_with('/')) && length == 0 {
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

/// Returns the paths that are names of resources. The storage cannot be asked after all others.
pub(super) fn of_resources(paths: &[Vec<u8>]) -> Vec<String> {
    let names = paths.iter().filter_map(|path| std::str::from_utf8(path).ok());
    names.filter(|name| ObjectName::of(name, 0) == ObjectName::Resource).map(str::to_owned).collect()
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
        match ObjectName::of(&object.name, object.length) {
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
    use instep_objects::ObjectPlace;
    use resourcesync::Algorithm;

    use super::ObjectName;
    use crate::{
        Content, NoMonitor, PublishOptions,
        catalogue::Catalogue,
        content::{BucketContent, Holdings, Supplier as _, Supply},
    };

    #[test]
    fn o814_an_event_of_an_object_that_can_be_no_resource_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let place = ObjectPlace::parse("s3://bucket/data").unwrap();
        let objects = BucketContent::new(place, folder.path(), vec![Algorithm::Sha256]);
        // No service answers here: it is not asked.
        let paths = ["", "folder/", "a//b", "/a", "a/../b", "line\nbreak"];
        objects.look(&paths.map(|path| path.as_bytes().to_vec()), &NoMonitor).unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.org/");
        let supply = Supply(std::sync::Arc::new(objects));
        options.sets[0].content = vec![Content::Supplied { supply, prefix: None }];
        let catalogue = Catalogue::open(&folder.path().join("catalogue.db")).unwrap();
        let holdings = Holdings::new(&options, &catalogue).unwrap();
        let paths_of = |key: &str| -> Vec<Vec<u8>> {
            holdings.of_object("bucket", key).into_iter().map(|(_, path)| path).collect()
        };
        assert_eq!(paths_of("data/a/b"), [b"a/b"]);
        for key in ["data", "data/", "data/folder/", "data//a", "data/a//b"] {
            assert!(paths_of(key).is_empty(), "{key}");
        }
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
            assert_eq!(ObjectName::of(name, 1), ObjectName::Resource, "{name:?}");
        }
        for name in [".hidden", "a/.b/c", "a~", "#a#", ".well-known/resourcesync", "instep.toml"] {
            assert_eq!(ObjectName::of(name, 1), ObjectName::LeftOut, "{name:?}");
        }
        for name in ["resourcesync/capabilitylist.xml", "resourcesync", "robots.txt"] {
            assert_eq!(ObjectName::of(name, 1), ObjectName::OfDocuments, "{name:?}");
        }
        for folder in ["", "a/", "a/b/"] {
            assert_eq!(ObjectName::of(folder, 0), ObjectName::LeftOut, "{folder:?}");
        }
        for name in ["", "/", "/a", "a/", "a//b", "a/./b", "..", "a/../b", "line\nbreak", "\u{7f}"] {
            assert!(matches!(ObjectName::of(name, 1), ObjectName::Unusable(_)), "{name:?}");
        }
    }
}
