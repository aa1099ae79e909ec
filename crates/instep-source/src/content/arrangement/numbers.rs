//! The numbers of folders and manifests in the catalogue: the first byte of each key.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    Error, NoMonitor,
    catalogue::{Catalogue, Snapshot},
    content::{manifest::Manifest, root::Root},
    records::CONTENT,
};

/// The names that have a number, and those that are configured now.
struct Numbers<'a> {
    given: BTreeMap<String, u8>,
    configured: BTreeSet<String>,
    snapshot: &'a Snapshot,
    is_changed: bool,
}

/// Gives each root and manifest its permanent number, and a new one the next number; sorts by number.
pub(super) fn number(
    roots: &mut [Root],
    manifests: &mut [Manifest],
    catalogue: &Catalogue,
) -> Result<(), Error> {
    let snapshot = catalogue.snapshot()?;
    let names = roots.iter().map(|root| root.prefix.clone());
    let mut numbers = Numbers {
        given: CONTENT.read(&snapshot)?.unwrap_or_default(),
        configured: names.chain(manifests.iter().map(Manifest::name)).collect(),
        snapshot: &snapshot,
        is_changed: false,
    };
    for root in &mut *roots {
        root.number = numbers.of(root.prefix.clone())?;
    }
    for manifest in &mut *manifests {
        if let Some(former) = numbers.former_name(manifest)? {
            numbers.rename(&former, manifest.name());
        }
        manifest.number = numbers.of(manifest.name())?;
    }
    if numbers.is_changed && !catalogue.is_beside() {
        catalogue.set_meta(vec![CONTENT.write(&numbers.given)])?;
    }
    roots.sort_unstable_by_key(|root| root.number);
    manifests.sort_unstable_by_key(|manifest| manifest.number);
    Ok(())
}

impl Numbers<'_> {
    /// Returns the number of a name: its own, the next one, or one without resources whose name is not configured any
    /// more. Otherwise names with a date would use up all of them in a year.
    fn of(&mut self, name: String) -> Result<u8, Error> {
        if let Some(number) = self.given.get(&name) {
            return Ok(*number);
        }
        if let Some((unused, number)) = self.unused()? {
            self.rename(&unused, name);
            return Ok(number);
        }
        // Not their count: names that a move to another base URL made equal have left a gap.
        let next = (1..u8::MAX).find(|number| !self.given.values().any(|given| given == number));
        let too_many = || Error::option("content", "more than 254 folders and manifests that have resources");
        let number = next.ok_or_else(too_many)?;
        self.given.insert(name, number);
        self.is_changed = true;
        Ok(number)
    }

    fn rename(&mut self, former: &str, name: String) {
        if let Some(number) = self.given.remove(former) {
            self.given.insert(name, number);
            self.is_changed = true;
        }
    }

    /// Returns the name that a new manifest had before, if most resources recorded under that are in it: a file with
    /// another name, as one with a date, or standard input in its place, would otherwise announce each resource as created
    /// (O415, O725).
    fn former_name(&self, manifest: &mut Manifest) -> Result<Option<String>, Error> {
        if self.given.contains_key(&manifest.name()) {
            return Ok(None);
        }
        let mut forsaken: Vec<_> =
            self.forsaken().filter(|(name, _)| name.starts_with(Manifest::NAME)).collect();
        // The newest first.
        forsaken.sort_unstable_by_key(|(_, number)| std::cmp::Reverse(*number));
        for (name, number) in forsaken {
            manifest.number = number;
            if self.names_most(manifest, number)? {
                return Ok(Some(name.clone()));
            }
        }
        Ok(None)
    }

    /// Returns `true` if a manifest names more than half of the resources with a number.
    fn names_most(&self, manifest: &Manifest, number: u8) -> Result<bool, Error> {
        let mut rows = self.snapshot.resources_after(u64::MAX, &[number]).peekable();
        let is_own = |key: &[u8]| key.first() == Some(&number);
        if !matches!(rows.peek(), Some(Ok(row)) if is_own(&row.key)) {
            return Ok(false);
        }
        // Its faults are reported when it is scanned.
        let Ok(Some(listing)) = manifest.look(&NoMonitor) else { return Ok(false) };
        let (mut named, mut all) = (0_u64, 0_u64);
        for row in rows {
            let row = row?;
            if !is_own(&row.key) {
                break;
            }
            all += 1;
            named += u64::from(listing.names(row.uri.as_str())?);
        }
        Ok(named * 2 > all)
    }

    /// Returns the numbers of names that are not configured any more.
    fn forsaken(&self) -> impl Iterator<Item = (&String, u8)> {
        let given = self.given.iter().map(|(name, number)| (name, *number));
        given.filter(|(name, _)| !self.configured.contains(*name))
    }

    fn unused(&self) -> Result<Option<(String, u8)>, Error> {
        for (name, number) in self.forsaken() {
            let first = self.snapshot.resources_after(u64::MAX, &[number]).next().transpose()?;
            if first.is_none_or(|row| row.key.first() != Some(&number)) {
                return Ok(Some((name.clone(), number)));
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::{Content, PublishOptions, catalogue::Catalogue, content::Holdings, records::CONTENT};

    #[test]
    fn o818_no_two_folders_have_the_same_number() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::open(&folder.path().join("catalogue.db")).unwrap();
        // As after a move to the base URL of another folder, which had the number 1.
        let names = [("http://example.com/".to_owned(), 2)].into();
        catalogue.set_meta(vec![CONTENT.write(&names)]).unwrap();
        fs::create_dir(folder.path().join("b")).unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.com/");
        let (root, prefix) = (folder.path().join("b"), Some("http://example.com/c/".to_owned()));
        options.sets[0].content.push(Content::Folder { root, prefix });
        let holdings = Holdings::new(&options, &catalogue).unwrap();
        let numbers: Vec<_> =
            holdings.roots().iter().map(|root| (root.uri(b"").into_string(), root.number)).collect();
        let expected = [("http://example.com/c/", 1), ("http://example.com/", 2)];
        assert_eq!(numbers, expected.map(|(prefix, number)| (prefix.to_owned(), number)));
    }

    #[test]
    fn o415_names_that_are_not_used_any_more_do_not_use_up_the_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::open(&folder.path().join("catalogue.db")).unwrap();
        let names = (1..=254).map(|number: u8| (format!("manifest:/{number}.csv"), number)).collect();
        catalogue.set_meta(vec![CONTENT.write(&names)]).unwrap();
        let path = folder.path().join("255.csv");
        fs::write(&path, "uri\n").unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.com/");
        options.sets[0].content = vec![Content::Manifest { path, root: folder.path().to_owned() }];
        Holdings::new(&options, &catalogue).unwrap();
        let numbers = CONTENT.read(&catalogue.snapshot().unwrap()).unwrap().unwrap();
        assert_eq!(numbers.len(), 254);
        assert!(numbers.keys().any(|name| name.ends_with("/255.csv")));
    }
}
