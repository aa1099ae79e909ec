//! The names of objects that are resources.

use instep_objects::{ListedObject, ObjectPlace};

use crate::{
    PublishMonitor, PublishProblem,
    content::{filter::is_left_out, root::OWN_NAMES},
};

/// The use of an object according to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectName {
    Resource,
    /// The object is left out, as a file with that name would be, or it marks a folder.
    LeftOut,
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
        let mut left_out = name.split('/').next().is_some_and(|first| OWN_NAMES.contains(&first));
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
        if left_out { Self::LeftOut } else { Self::Resource }
    }
}

/// Objects that cannot be resources because of their names.
#[derive(Debug, Default)]
pub(super) struct UnusableNames {
    pub(super) count: u64,
    first: Option<(String, &'static str)>,
}

impl UnusableNames {
    /// Adds one. Returns `false`: the listing continues.
    pub(super) fn add(&mut self, name: String, why: &'static str) -> bool {
        self.count += 1;
        self.first.get_or_insert((name, why));
        false
    }

    /// Reports them with one line, which names the first.
    pub(super) fn report(&self, place: &ObjectPlace, monitor: &dyn PublishMonitor) {
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
        for name in [".hidden", "a/.b/c", "a~", "#a#", "resourcesync/capabilitylist.xml", "robots.txt"] {
            assert_eq!(named(name, 1), ObjectName::LeftOut, "{name:?}");
        }
        for folder in ["", "a/", "a/b/"] {
            assert_eq!(named(folder, 0), ObjectName::LeftOut, "{folder:?}");
        }
        for name in ["", "/", "/a", "a/", "a//b", "a/./b", "..", "a/../b", "line\nbreak", "\u{7f}"] {
            assert!(matches!(named(name, 1), ObjectName::Unusable(_)), "{name:?}");
        }
    }
}
