//! Searches for the pages: by folder, by a part of the URI, and by the history of one resource.

use std::ops::ControlFlow;

use resourcesync::Uri;

use super::{CatalogueError, ChangeRecord, Resource, ResourceTotals, Snapshot};

/// A key that is larger than all others: keys begin with the number of a root, and there are fewer than 255 roots.
const LAST_KEY: [u8; 1] = [u8::MAX];

/// An item of a folder.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KeyChild {
    /// A folder of that name: all resources whose key continues with the name and a slash.
    Folder(Vec<u8>),
    /// A resource directly in the folder.
    Resource(Box<Resource>),
}

impl Snapshot {
    /// Calls a function with each item directly below a key prefix, from the first whose name is not less than
    /// `from`, until the function stops. A folder costs one index search, however many resources it has; consecutive
    /// resources are read together.
    pub(crate) fn for_each_child(
        &self,
        prefix: &[u8],
        from: &[u8],
        visit: &mut dyn FnMut(KeyChild) -> Result<ControlFlow<()>, CatalogueError>,
    ) -> Result<(), CatalogueError> {
        let mut next = Some([prefix, from].concat());
        while let Some(from) = next.take() {
            let mut is_over = false;
            self.reader.resources_from(&from, &mut |resource| {
                let Some(rest) = resource.key.strip_prefix(prefix) else { return Ok(ControlFlow::Break(())) };
                let (child, is_folder) = match rest.iter().position(|byte| *byte == b'/') {
                    Some(slash) => {
                        let name = rest[..slash].to_vec();
                        // `0` is the character after `/`, so the search continues after everything in that folder.
                        next = Some([prefix, &name, b"0"].concat());
                        (KeyChild::Folder(name), true)
                    }
                    None => (KeyChild::Resource(Box::new(resource)), false),
                };
                is_over = visit(child)?.is_break();
                Ok(if is_over || is_folder { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            })?;
            if is_over {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Returns the totals of the resources below a key prefix that ends in a slash. Stops counting at `most`
    /// resources.
    pub(crate) fn totals_below(&self, prefix: &[u8], most: u64) -> Result<ResourceTotals, CatalogueError> {
        let mut end = prefix.to_vec();
        if let Some(last) = end.last_mut() {
            *last += 1;
        }
        self.reader.totals_between(prefix, &end, most)
    }

    /// Returns the first resources in a range of keys whose URI contains all of the texts, in the order of the keys.
    /// An empty end means no end. ASCII letters match in both cases. Reads each URI in the range.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn containing(
        &self,
        texts: &[String],
        (from, to): (&[u8], &[u8]),
        most: usize,
    ) -> Result<Vec<Resource>, CatalogueError> {
        let patterns: Vec<String> = texts.iter().map(|text| pattern(text)).collect();
        let to = if to.is_empty() { &LAST_KEY } else { to };
        self.reader.matching(&patterns, (from, to), most)
    }

    /// Returns the newest changes of a resource after a sequence number, the newest first. Reads each change after
    /// that number.
    ///
    /// # Errors
    /// If the catalogue cannot be read.
    pub fn changes_of(
        &self,
        uri: &Uri,
        after: u64,
        most: usize,
    ) -> Result<Vec<ChangeRecord>, CatalogueError> {
        self.reader.changes_of(uri, after, most)
    }
}

/// Returns a pattern that matches any text containing this one.
fn pattern(text: &str) -> String {
    let mut pattern = "%".to_owned();
    for character in text.chars() {
        if matches!(character, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern.push('%');
    pattern
}
