//! Looking for resources and changes as people do: by folder, by a part of the URI, by the history of one resource.

use std::ops::ControlFlow;

use resourcesync::Uri;
use rusqlite::{params, params_from_iter, types::Value};

use super::{
    CatalogueError, ChangeRecord, Resource, ResourceTotals, Snapshot,
    error::Doing,
    row::{StateReader, change_columns, read_change, read_resource, resource_columns},
};

const READING: &str = "looking for resources";

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
        let sql = concat!("SELECT ", resource_columns!(), " FROM resource WHERE key >= ?1 ORDER BY key");
        let mut statement = self.connection()?.prepare_cached(sql).doing(READING)?;
        let mut reader = StateReader::default();
        let mut next = Some([prefix, from].concat());
        while let Some(from) = next.take() {
            let mut rows = statement.query([&from]).doing(READING)?;
            while let Some(row) = rows.next().doing(READING)? {
                let resource = read_resource(row, &mut reader)?;
                let Some(rest) = resource.key.strip_prefix(prefix) else { return Ok(()) };
                let (child, is_folder) = match rest.iter().position(|byte| *byte == b'/') {
                    Some(slash) => {
                        let name = rest[..slash].to_vec();
                        // `0` follows `/`: the search goes on behind everything in that folder.
                        next = Some([prefix, &name, b"0"].concat());
                        (KeyChild::Folder(name), true)
                    }
                    None => (KeyChild::Resource(Box::new(resource)), false),
                };
                if visit(child)?.is_break() {
                    return Ok(());
                }
                if is_folder {
                    break;
                }
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
        self.connection()?
            .prepare_cached(
                "SELECT count(*), total(length) FROM
                 (SELECT length FROM resource WHERE key >= ?1 AND key < ?2 LIMIT ?3)",
            )
            .and_then(|mut statement| {
                statement.query_row(params![prefix, end, most as i64], |row| {
                    let (resources, bytes) = (row.get::<_, i64>(0)?, row.get::<_, f64>(1)?);
                    Ok(ResourceTotals { resources: resources as u64, bytes: bytes as u64 })
                })
            })
            .doing(READING)
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
        let conditions: String =
            (0..texts.len()).map(|at| format!(" AND uri LIKE ?{} ESCAPE '\\'", at + 4)).collect();
        let sql = format!(
            concat!(
                "SELECT ",
                resource_columns!(),
                " FROM resource WHERE key >= ?1 AND key < ?2{} ORDER BY key LIMIT ?3"
            ),
            conditions
        );
        let mut statement = self.connection()?.prepare_cached(&sql).doing(READING)?;
        let to = if to.is_empty() { &LAST_KEY } else { to };
        let bounds = [Value::Blob(from.to_vec()), Value::Blob(to.to_vec()), Value::Integer(most as i64)];
        let patterns = texts.iter().map(|text| Value::Text(pattern(text)));
        let mut rows =
            statement.query(params_from_iter(bounds.into_iter().chain(patterns))).doing(READING)?;
        let mut reader = StateReader::default();
        let mut found = Vec::new();
        while let Some(row) = rows.next().doing(READING)? {
            found.push(read_resource(row, &mut reader)?);
        }
        Ok(found)
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
        let sql = concat!(
            "SELECT ",
            change_columns!(),
            " FROM change WHERE sequence > ?1 AND uri = ?2 ORDER BY sequence DESC LIMIT ?3"
        );
        let mut statement = self.connection()?.prepare_cached(sql).doing(READING)?;
        let mut rows = statement.query(params![after as i64, uri.as_str(), most as i64]).doing(READING)?;
        let mut reader = StateReader::default();
        let mut changes = Vec::new();
        while let Some(row) = rows.next().doing(READING)? {
            changes.push(read_change(row, &mut reader)?);
        }
        Ok(changes)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Catalogue, Observation};

    fn catalogue(folder: &tempfile::TempDir, names: &[&str]) -> Catalogue {
        let catalogue = Catalogue::open(&folder.path().join("catalogue.db")).unwrap();
        let found = names.iter().map(|name| {
            let uri = Uri::parse(&format!("http://x/{}", name.replace('%', "%25"))).unwrap();
            Observation::Found(Resource::new([b"\x01", name.as_bytes()].concat(), uri))
        });
        catalogue.record(found.collect()).unwrap();
        catalogue
    }

    #[test]
    fn finding_d14_a_folder_has_its_own_items_only_each_once() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = catalogue(&folder, &["a", "a/1", "a/2/x", "a/2/y", "a0", "b/1", "c"]);
        let snapshot = catalogue.snapshot().unwrap();
        let names = |prefix: &[u8], from: &[u8], most| -> Vec<String> {
            let mut names = Vec::new();
            let mut add = |child| {
                names.push(match child {
                    KeyChild::Folder(name) => format!("{}/", String::from_utf8_lossy(&name)),
                    KeyChild::Resource(resource) => {
                        String::from_utf8_lossy(&resource.key[prefix.len()..]).into_owned()
                    }
                });
                Ok(if names.len() == most { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
            };
            snapshot.for_each_child(prefix, from, &mut add).unwrap();
            names
        };
        assert_eq!(names(b"\x01", b"", 99), ["a", "a/", "a0", "b/", "c"]);
        assert_eq!(names(b"\x01", b"b", 99), ["b/", "c"]);
        assert_eq!(names(b"\x01", b"", 2), ["a", "a/"]);
        assert_eq!(names(b"\x01a/", b"", 99), ["1", "2/"]);
        assert_eq!(names(b"\x01nothing/", b"", 99), [""; 0]);
        assert_eq!(snapshot.totals_below(b"\x01a/", 99).unwrap().resources, 3);
        assert_eq!(snapshot.totals_below(b"\x01a/", 2).unwrap().resources, 2);
    }

    #[test]
    fn finding_d14_a_search_finds_every_part_of_a_uri_and_takes_no_wildcards() {
        let folder = tempfile::tempdir().unwrap();
        let catalogue = catalogue(&folder, &["one/Two.txt", "one/t_o.txt", "one/100%.txt", "other"]);
        let snapshot = catalogue.snapshot().unwrap();
        let found = |texts: &[&str], bounds: (&[u8], &[u8]), most| {
            let texts: Vec<_> = texts.iter().map(|text| (*text).to_owned()).collect();
            snapshot.containing(&texts, bounds, most).unwrap().len()
        };
        let all: (&[u8], &[u8]) = (&[], &[]);
        assert_eq!(found(&["two"], all, 9), 1);
        assert_eq!(found(&["t_o"], all, 9), 1);
        assert_eq!(found(&["0%2"], all, 9), 1);
        assert_eq!(found(&["one%txt"], all, 9), 0);
        assert_eq!(found(&["one", ".TXT"], all, 9), 3);
        assert_eq!(found(&["one", ".txt"], all, 2), 2);
        assert_eq!(found(&[], all, 9), 4);
        assert_eq!(found(&["o"], (b"\x01other", &[]), 9), 1);
    }
}
