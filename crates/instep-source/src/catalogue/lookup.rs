//! Looking for resources and changes as people do: by folder, by a part of the URI, by the history of one resource.

use std::ops::ControlFlow;

use resourcesync::Uri;

use super::{CatalogueError, ChangeRecord, Resource, ResourceTotals, Snapshot};

/// A key behind all others: keys begin with the number of a root, and there are fewer than 255.
const LAST_KEY: [u8; 1] = [u8::MAX];

/// An item of a folder.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KeyChild {
    /// Everything whose key begins with that of the folder, this name and a slash.
    Folder(Vec<u8>),
    /// A resource in the folder itself.
    Resource(Box<Resource>),
}

impl Snapshot {
    /// Calls the function with each item directly below a prefix of keys, from the first whose name is not less than `from`,
    /// until it breaks off. A folder costs one search in the index, however much it holds; resources that follow each other
    /// are read in one go.
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
                        // `0` follows `/`: the search goes on behind everything in that folder.
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

    /// Returns the size of everything whose key begins with a prefix that ends in a slash, and stops at `most` resources.
    pub(crate) fn totals_below(&self, prefix: &[u8], most: u64) -> Result<ResourceTotals, CatalogueError> {
        let mut end = prefix.to_vec();
        if let Some(last) = end.last_mut() {
            *last += 1;
        }
        self.reader.totals_between(prefix, &end, most)
    }

    /// Returns the first resources, in the order of the keys from one to below another (an empty one: to the end), whose
    /// URI contains each of these texts; letters of ASCII match in both cases. Reads the URI of each resource in between.
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

    /// Returns the newest changes of a resource among those behind a sequence number, the newest first. Reads each change
    /// in between.
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

/// A pattern for any text that contains this one.
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
