//! The room in one package: its members, their bytes, and the bytes of its manifest (GEN-12).

use resourcesync::Entry;

use crate::{
    DumpOptions, Error,
    render::{EntryMeter, SourcePolicy, room_for_entries},
};

/// Bytes of the paths of a member and its patch, in addition to those of the URI.
const PATH_BYTES: u64 = 256;

/// The room that is left in a package.
pub(super) struct PackageRoom {
    is_empty: bool,
    entries: u64,
    bytes: u64,
    manifest_bytes: u64,
    meter: EntryMeter,
}

impl PackageRoom {
    pub(super) fn new(options: &DumpOptions, policy: &SourcePolicy) -> Result<Self, Error> {
        Ok(Self {
            is_empty: true,
            entries: options.part_entries,
            bytes: options.part_bytes,
            manifest_bytes: room_for_entries(&policy.lists),
            meter: EntryMeter::new(&policy.write)?,
        })
    }

    /// Takes the room for a member with this many bytes; `false` if it has to go into the next package. A package has
    /// one member at least, however large that is.
    pub(super) fn take(&mut self, entry: &Entry, bytes: u64) -> bool {
        let manifest_bytes = self.meter.bytes(entry) + entry.loc.as_str().len() as u64 + PATH_BYTES;
        let fits = self.entries > 0 && bytes <= self.bytes && manifest_bytes <= self.manifest_bytes;
        if !fits && !self.is_empty {
            return false;
        }
        self.is_empty = false;
        self.entries = self.entries.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
        self.manifest_bytes = self.manifest_bytes.saturating_sub(manifest_bytes);
        true
    }
}

#[cfg(test)]
mod tests {
    use resourcesync::Uri;

    use super::*;
    use crate::PublishOptions;

    #[test]
    fn o624_a_package_has_neither_more_bytes_nor_a_larger_manifest_than_its_bounds() {
        let mut options = PublishOptions::new("/nowhere", "http://example.org/");
        options.lists.bytes = 16_384;
        options.dumps.part_bytes = 10;
        let policy = SourcePolicy::new(&options).unwrap();
        let room = || PackageRoom::new(&options.dumps, &policy).unwrap();
        let taken = |entry: &Entry, bytes: u64| {
            let mut room = room();
            (0..50).take_while(|_| room.take(entry, bytes)).count()
        };
        let entry = |path: &str| Entry::new(Uri::parse(&format!("http://example.org/{path}")).unwrap());
        assert_eq!(taken(&entry("a"), 4), 2);
        assert_eq!(taken(&entry("a"), 11), 1, "a member that is too large has a package of its own");
        let most = taken(&entry(&"b".repeat(1_500)), 0);
        assert!((2..6).contains(&most), "{most}");
    }
}
