//! The files of a Sitemap and its parts: finds and reads them, writes their entries as a manifest for the Source, and
//! rewrites them. All are read before anything is written.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{BufReader, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};
use instep_source::ReportedChange;
use instep_store::parent_folder;
use percent_encoding::percent_decode_str;
use resourcesync::{
    Capability, DateTime, Decoded, DocumentReader, Entry, Finding, Form, Position, ReadOptions, Severity,
};
use serde_json::json;

use super::{
    amended::{Addition, is_amended},
    rewriting::{read, rewrite},
};
use crate::foreign::ForeignResources;

/// The most Sitemaps of an index, by the protocol.
const MOST_PARTS: usize = 50_000;

/// The entries of a Sitemap that cannot be used, or not completely.
#[derive(Debug)]
pub(crate) struct EntryFaults {
    pub(crate) file: PathBuf,
    /// The number of entries without a usable `loc`.
    pub(crate) nameless: u64,
    /// The findings about entries without a usable `loc`, and about each `lastmod` that cannot be read, with line and
    /// column.
    pub(crate) findings: Vec<Finding>,
    /// The further entries for a page that has an earlier entry, in this file or in one before it.
    pub(crate) repeated: Vec<RepeatedEntry>,
    /// The entries for pages that no Source publishes.
    pub(crate) refused: Vec<RefusedEntry>,
}

/// An entry for a page that no Source publishes, such as one whose `loc` has `..` or a login.
#[derive(Debug)]
pub(crate) struct RefusedEntry {
    /// A sentence that describes the fault.
    pub(crate) what: String,
    pub(crate) position: Position,
}

/// A further entry for a page.
#[derive(Debug)]
pub(crate) struct RepeatedEntry {
    pub(crate) uri: String,
    pub(crate) position: Position,
}

impl EntryFaults {
    fn is_empty(&self) -> bool {
        self.nameless == 0 && self.findings.is_empty() && self.repeated.is_empty() && self.refused.is_empty()
    }
}

/// A Sitemap, and its parts if it is an index.
pub(crate) struct SitemapFiles {
    folder: PathBuf,
    base_url: String,
    top: PathBuf,
    parts: Vec<PathBuf>,
}

impl SitemapFiles {
    /// Finds the parts of the Sitemap in a file whose folder is served at `base_url`.
    ///
    /// Errors: the file or a part of it is not there, or is no Sitemap.
    pub(crate) fn find(file: &Path, base_url: &str) -> anyhow::Result<Self> {
        let folder = parent_folder(file);
        let mut base_url = base_url.to_owned();
        if !base_url.ends_with('/') {
            base_url.push('/');
        }
        let mut files = Self { folder: folder.to_owned(), base_url, top: file.to_owned(), parts: Vec::new() };
        let (mut parts, mut entries) = (Vec::new(), 0);
        let (form, faults) = each_entry(file, &mut |entry| {
            entries += 1;
            // Only an index needs its entries, and has no more, or it is refused; those of a long list must not fill the memory.
            if entries <= MOST_PARTS {
                parts.push(entry.loc.as_str().to_owned());
            }
            Ok(())
        })?;
        if form == Form::Index {
            // A part must not be left out: everything that it lists would seem to be deleted.
            if faults.nameless > 0 {
                let first = faults.findings.first().map(Finding::to_string);
                let first = first.unwrap_or_else(|| "an entry without a usable loc".to_owned());
                bail!("{}: {first}; correct it first", file.display());
            }
            files.parts = parts.iter().map(|loc| files.local(loc)).collect::<Result<_, _>>()?;
        }
        Ok(files)
    }

    /// Returns the file that is served at a URL.
    ///
    /// Errors: the URL is not below the base URL, or leads out of the folder.
    fn local(&self, loc: &str) -> anyhow::Result<PathBuf> {
        let below = loc.strip_prefix(&self.base_url);
        let below = below.map(|path| percent_decode_str(path).decode_utf8_lossy().into_owned());
        let is_inside = |path: &String| path.split('/').all(|step| !matches!(step, "" | "." | ".."));
        let path = below.filter(is_inside).with_context(|| {
            format!("{} names {loc}, which is not below {}", self.top.display(), self.base_url)
        })?;
        Ok(self.folder.join(path))
    }

    /// Returns the folder of the Sitemap.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes the entries of all lists as a manifest for the Source, and passes their URIs to `foreign`. Returns the
    /// files with faults.
    ///
    /// Errors: a list cannot be read to its end. Nothing is written then, because a part of the lists would report
    /// deletions that did not happen.
    pub(crate) fn write_manifest(
        &self,
        path: &Path,
        foreign: &mut ForeignResources,
    ) -> anyhow::Result<Vec<EntryFaults>> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).with_context(|| format!("Cannot make {}", folder.display()))?;
        let mut manifest = tempfile::NamedTempFile::new_in(folder)?;
        let mut out = std::io::BufWriter::new(manifest.as_file_mut());
        let mut all_faults = Vec::new();
        // The digests of URIs and not the URIs, so that many long ones need little memory.
        let mut known = HashSet::new();
        let lists = if self.parts.is_empty() { std::slice::from_ref(&self.top) } else { &self.parts[..] };
        for list in lists {
            let (mut repeated, mut refused) = (Vec::new(), Vec::new());
            let (form, faults) = each_entry(list, &mut |entry| {
                if !known.insert(blake3::hash(entry.loc.as_str().as_bytes())) {
                    repeated.push(RepeatedEntry { uri: entry.loc.to_string(), position: entry.position });
                    return Ok(());
                }
                let line = json!({
                    "uri": entry.loc.as_str(),
                    "lastmod": entry.lastmod.as_ref().map(DateTime::to_string),
                    "changefreq": entry.changefreq.map(|frequency| frequency.as_str()),
                });
                // In the manifest it would be named by a line that the operator does not know, and would withhold all
                // deletions.
                if let Err(what) = ReportedChange::list_from_json(line.clone()) {
                    refused.push(RefusedEntry { what, position: entry.position });
                    return Ok(());
                }
                foreign.see(entry.loc.as_str());
                writeln!(out, "{line}").map_err(Into::into)
            })?;
            let faults = EntryFaults { repeated, refused, ..faults };
            all_faults.extend(Some(faults).filter(|faults| !faults.is_empty()));
            if form == Form::Index && !self.parts.is_empty() {
                bail!(
                    "{} is an index within an index, which the Sitemap protocol does not allow: name its lists in the \
                     outer index, or treat it as a Sitemap of its own",
                    list.display()
                );
            }
        }
        out.flush()?;
        drop(out);
        manifest.persist(path).with_context(|| format!("Cannot write {}", path.display()))?;
        Ok(all_faults)
    }

    /// Turns each file that is not a Resource List yet into one, and updates all of them if something has changed.
    /// Returns the number of files written. A concurrent reader gets the old file or the new one.
    ///
    /// Errors: a file cannot be written.
    pub(crate) fn amend(&self, at: DateTime, has_changed: bool) -> anyhow::Result<u64> {
        let at = at.to_string();
        let name = self.top.file_name().unwrap_or_default().to_string_lossy();
        let index = format!("{}{name}", self.base_url);
        let up = format!("{}resourcesync/capabilitylist.xml", self.base_url);
        let mut written = 0;
        // The index comes last, so that its members are correct when it is written.
        for path in self.parts.iter().chain([&self.top]) {
            let index = (path != &self.top).then_some(&*index);
            written += u64::from(rewrite(path, &Addition { up: &up, index, at: &at }, has_changed)?);
        }
        Ok(written)
    }
}

/// Passes each entry of a Sitemap to `take`. Returns its form, and the entries with faults.
fn each_entry(
    path: &Path,
    take: &mut dyn FnMut(&Entry) -> anyhow::Result<()>,
) -> anyhow::Result<(Form, EntryFaults)> {
    let wrong = || format!("{} is not a usable Sitemap", path.display());
    let mut reader = open(path).with_context(wrong)?;
    let form = reader.header().form;
    let (mut entry, mut usable) = (Entry::default(), 0);
    while reader.read_entry(&mut entry).with_context(wrong)? {
        usable += 1;
        take(&entry)?;
    }
    let nameless = reader.entries_read() - usable;
    // A `lastmod` that cannot be read is a fault, because its changes cannot be noticed. An entry that cannot be used may be
    // one in another place or with another name.
    let concerns = |finding: &Finding| {
        let is_of_entry = matches!(finding.rule, "GEN-14" | "ATT-22");
        finding.severity == Severity::Error && (is_of_entry || nameless > 0 && finding.rule == "GEN-13")
    };
    let findings: Vec<_> = reader.take_findings().into_iter().filter(concerns).collect();
    let (repeated, refused) = (Vec::new(), Vec::new());
    Ok((form, EntryFaults { file: path.to_owned(), nameless, findings, repeated, refused }))
}

/// Opens a Sitemap whose text can be amended.
///
/// Errors: the file cannot be read, or is another document or in another encoding.
fn open(path: &Path) -> anyhow::Result<DocumentReader<Decoded<BufReader<File>>>> {
    let decoded = Decoded::new(BufReader::new(File::open(path)?))?;
    let encoding = decoded.encoding();
    // The addition is ASCII. In a text of these encodings it would make the file unreadable.
    if matches!(encoding, "UTF-16LE" | "UTF-16BE" | "ISO-2022-JP") {
        bail!("it is in {encoding}; write it in UTF-8, as the Sitemap protocol requires");
    }
    let reader = DocumentReader::new(decoded, ReadOptions::new())?;
    match reader.header().capability() {
        Some(Capability::ResourceList) if !is_amended(&read(path)?.0) => {
            bail!("it is a Resource List already, with the changes of another Source")
        }
        None | Some(Capability::ResourceList) => Ok(reader),
        Some(other) => bail!("it is a document of ResourceSync of another kind: {}", other.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(folder: &Path, root: &str, entries: &str) -> PathBuf {
        let file = folder.join("sitemap.xml");
        let namespace = "http://www.sitemaps.org/schemas/sitemap/0.9";
        fs::write(&file, format!("<{root} xmlns=\"{namespace}\">{entries}</{root}>")).unwrap();
        file
    }

    #[test]
    fn o555_the_link_up_leads_to_the_capability_list_also_if_the_base_url_has_no_slash_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = written(folder.path(), "urlset", "<url><loc>https://example.org/shop/a</loc></url>");
        for base_url in ["https://example.org/shop", "https://example.org/shop/"] {
            let files = SitemapFiles::find(&file, base_url).unwrap();
            assert_eq!(files.amend(DateTime::from_unix_seconds(1), true).unwrap(), 1);
            let text = fs::read_to_string(&file).unwrap();
            assert!(text.contains("\"https://example.org/shop/resourcesync/capabilitylist.xml\""), "{text}");
        }
    }

    #[test]
    fn o887_a_part_of_an_index_that_is_in_another_place_or_has_another_name_is_not_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let part = |name: &str| format!("<{name}><loc>https://example.org/a.xml</loc></{name}>");
        let within = part("sitemap").replace("</loc>", &format!("</loc>{}", part("sitemap")));
        for entries in [part("Sitemap"), part("sitemap") + &part("Sitemap"), within] {
            let file = written(folder.path(), "sitemapindex", &entries);
            let refused = SitemapFiles::find(&file, "https://example.org/").err().unwrap();
            assert!(format!("{refused:#}").contains("correct it first"), "{refused:#}");
        }
    }

    #[test]
    fn o558_no_part_of_an_index_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let part = "<sitemap><loc>https://example.org/a.xml</loc></sitemap>";
        let file = written(folder.path(), "sitemapindex", &part.repeat(MOST_PARTS + 1));
        let refused = SitemapFiles::find(&file, "https://example.org/").err().unwrap();
        assert!(format!("{refused:#}").contains("more than 50000 entries"), "{refused:#}");
    }
}
