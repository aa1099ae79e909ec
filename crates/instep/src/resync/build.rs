//! `resync-build`: writes one document about local files, or about other documents.

mod files;

use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{ArgGroup, Parser};
use resourcesync::{
    Algorithm, Capability, DocumentWriter, Entry, Form, Header, Link, Relation, SpecVersion, Uri,
    WriteOptions,
};

use super::{
    sync::{Mapping, mappings},
    translation::{NO_LOG, NO_SPLIT, refuse},
};
use crate::replacing::replace_file;
use files::{ComparedList, ListChanges};

/// Write one document as resync-build does, with the options of the reference client
///
/// `instep publish` writes all documents of a Source, keeps them consistent, and rewrites only what changed.
#[derive(Debug, Parser)]
#[command(name = "resync-build", infer_long_args = true, max_term_width = 100, after_help = HELP)]
#[command(group = ArgGroup::new("mode").required(true))]
pub(super) struct ResyncBuild {
    /// Write a Resource List of local files
    #[arg(long, visible_alias = "write-resource-list", group = "mode")]
    write_resourcelist: bool,
    /// Write the changes since --reference, up to --newreference or the local files
    #[arg(long, visible_alias = "write-change-list", group = "mode")]
    write_changelist: bool,
    /// Write a Capability List
    #[arg(long, visible_alias = "write-capability-list", value_name = "NAME=URI,...", group = "mode")]
    write_capabilitylist: Option<String>,
    /// Write a Source Description of Capability Lists
    #[arg(long, visible_alias = "write-source-description", value_name = "URI,...", group = "mode")]
    write_sourcedescription: Option<String>,
    #[arg(short = 'd', long, visible_alias = "write-resource-dump", group = "mode", hide = true)]
    write_resourcedump: bool,
    #[arg(long, visible_alias = "write-change-dump", group = "mode", hide = true)]
    write_changedump: bool,
    /// URI PATH, or any number of URI=PATH
    map: Vec<String>,
    /// Write here instead of to standard output
    #[arg(long, value_name = "FILE")]
    outfile: Option<PathBuf>,
    /// Look only at these files and folders, with commas between them
    #[arg(long, value_name = "PATH,...", value_delimiter = ',')]
    paths: Vec<PathBuf>,
    /// Resource List to compare with
    #[arg(long, value_name = "FILE")]
    reference: Option<PathBuf>,
    /// Resource List that is compared with --reference, instead of local files
    #[arg(long, value_name = "FILE")]
    newreference: Option<PathBuf>,
    /// Write a Change List without changes
    #[arg(long)]
    empty: bool,
    /// Add a link
    #[arg(long, value_name = "REL,URI,NAME=VALUE...")]
    link: Vec<String>,
    /// Add a link to a description
    #[arg(long, value_name = "URI")]
    describedby_link: Option<String>,
    /// Add a link from a Capability List to its Source Description
    #[arg(long, visible_alias = "source-description-link", value_name = "URI")]
    sourcedescription_link: Option<String>,
    /// Add a link from another document to its Capability List
    #[arg(long, visible_alias = "capability-list-link", value_name = "URI")]
    capabilitylist_link: Option<String>,
    /// Add digests: md5, sha-1 or sha-256
    #[arg(long, value_name = "HASH", value_parser = ["md5", "sha-1", "sha-256"])]
    hash: Vec<String>,
    /// As --hash md5
    #[arg(long)]
    checksum: bool,
    /// Version of the standard to write
    #[arg(long, value_name = "VERSION", default_value = "1.1")]
    spec_version: SpecVersion,
    /// Accepted
    #[arg(short, long)]
    verbose: bool,
    /// Accepted: the document is never split
    #[arg(short, long)]
    multifile: bool,
    #[arg(long, hide = true)]
    exclude: Vec<String>,
    #[arg(long, hide = true)]
    max_sitemap_entries: Option<u32>,
    #[arg(long, hide = true)]
    warc: bool,
    #[arg(short = 'n', long, hide = true)]
    dryrun: bool,
    #[arg(long, hide = true)]
    from: Option<String>,
    #[arg(short, long, hide = true)]
    eval: bool,
    #[arg(short, long, hide = true)]
    logger: bool,
    #[arg(long, hide = true)]
    logfile: Option<PathBuf>,
}

const HELP: &str = "\
Refused, with the reason: --write-resourcedump, --write-changedump, --exclude, --max-sitemap-entries, --warc, --dryrun,
--from, --eval, --logger, --logfile. A document that lacks what the standard asks for, such as the link `up`, is written
all the same; instep validate names what is missing.";

/// The most entries of one document, by the Sitemap protocol.
const MOST_ENTRIES: usize = 50_000;

impl ResyncBuild {
    /// Writes the document to the file of `--outfile`, or returns it if there is none.
    ///
    /// Errors: an option has no counterpart, a file or URI cannot be used, or there are too many entries.
    pub(super) fn run(&self) -> anyhow::Result<Option<String>> {
        self.refuse()?;
        let (header, entries) = self.document()?;
        if entries.len() > MOST_ENTRIES {
            bail!("{} entries are too many for one document: instep publish writes an index", entries.len());
        }
        let mut options = WriteOptions::unchecked();
        options.version = self.spec_version;
        let mut writer = DocumentWriter::new(Vec::new(), &header, options)?;
        for entry in &entries {
            writer.write_entry(entry).with_context(|| format!("{} cannot be listed", entry.loc))?;
        }
        let bytes = writer.finish()?;
        let Some(file) = &self.outfile else { return Ok(Some(String::from_utf8(bytes)?)) };
        replace_file(file, &bytes).with_context(|| format!("{} cannot be written", file.display()))?;
        Ok(None)
    }

    fn refuse(&self) -> anyhow::Result<()> {
        let dumps = "use instep publish --dump always or --change-dump, which pack and list in one step";
        refuse(&[
            ("--write-resourcedump", self.write_resourcedump, dumps),
            ("--write-changedump", self.write_changedump, dumps),
            (
                "--exclude",
                !self.exclude.is_empty(),
                "regular expressions are not read; use instep publish --exclude '*.tmp'",
            ),
            ("--max-sitemap-entries", self.max_sitemap_entries.is_some(), NO_SPLIT),
            ("--warc", self.warc, "packages are ZIP files by the standard"),
            (
                "--dryrun",
                self.dryrun,
                "the reference client writes all the same; leave out --outfile to see the document",
            ),
            ("--from", self.from.is_some(), "the reference client does not use this option here"),
            ("--eval", self.eval, NO_LOG),
            ("--logger", self.logger, NO_LOG),
            ("--logfile", self.logfile.is_some(), NO_LOG),
        ])
    }

    fn document(&self) -> anyhow::Result<(Header, Vec<Entry>)> {
        if let Some(capabilities) = &self.write_capabilitylist {
            let up = self.sourcedescription_link.as_deref();
            return Ok((self.header(Capability::CapabilityList, up)?, capability_list(capabilities)?));
        }
        if let Some(lists) = &self.write_sourcedescription {
            let entry = |list| Ok(Entry::new(uri(list)?).with_capability(Capability::CapabilityList));
            let entries = lists.split(',').map(entry).collect::<anyhow::Result<_>>()?;
            return Ok((self.header(Capability::Description, None)?, entries));
        }
        let up = self.capabilitylist_link.as_deref();
        if self.write_resourcelist {
            let mut header = self.header(Capability::ResourceList, up)?;
            let listed = self.local_files()?;
            let metadata = header.metadata.get_or_insert_default();
            (metadata.at, metadata.completed) = (listed.at, listed.completed);
            return Ok((header, listed.entries.into_values().collect()));
        }
        let mut header = self.header(Capability::ChangeList, up)?;
        let metadata = header.metadata.get_or_insert_default();
        if self.empty {
            metadata.from = Some(files::now());
            return Ok((header, Vec::new()));
        }
        let Some(reference) = &self.reference else {
            bail!("Name the list to compare with: --reference FILE")
        };
        let before = ComparedList::read(reference)?;
        let after = self.newreference.as_deref().map_or_else(|| self.local_files(), ComparedList::read)?;
        let changes = ListChanges::between(&before, after);
        metadata.from = Some(changes.from);
        Ok((header, changes.entries))
    }

    fn header(&self, capability: Capability, up: Option<&str>) -> anyhow::Result<Header> {
        let mut header = Header::new(Form::List, capability);
        if let Some(description) = &self.describedby_link {
            header.links.push(Link::new(Relation::DescribedBy, uri(description)?));
        }
        if let Some(up) = up {
            header.links.push(Link::new(Relation::Up, uri(up)?));
        }
        for text in &self.link {
            header.links.push(link(text).with_context(|| format!("--link {text}"))?);
        }
        Ok(header)
    }

    fn local_files(&self) -> anyhow::Result<ComparedList> {
        let mappings = mappings(&self.map)?;
        if mappings.is_empty() {
            bail!("Name the files and their URIs: URI PATH");
        }
        let algorithms = self.hash.iter().map(String::as_str).chain(self.checksum.then_some("md5"));
        let mut algorithms: Vec<_> = algorithms.map(Algorithm::parse).collect();
        algorithms.sort();
        algorithms.dedup();
        ComparedList::of_files(&self.roots(&mappings)?, &algorithms)
    }

    /// Returns the places to scan, each with its URI.
    fn roots(&self, mappings: &[Mapping]) -> anyhow::Result<Vec<(PathBuf, String)>> {
        if self.paths.is_empty() {
            let root = |mapping: &Mapping| (mapping.folder.clone(), mapping.uri.clone());
            return Ok(mappings.iter().map(root).collect());
        }
        let root = |path: &PathBuf| {
            let below = |mapping: &Mapping| {
                let rest = path.strip_prefix(&mapping.folder).ok()?;
                Some((path.clone(), files::uri_below(&mapping.uri, rest)?))
            };
            let found = mappings.iter().find_map(below);
            found.with_context(|| format!("No mapping gives {} a URI", path.display()))
        };
        self.paths.iter().map(root).collect()
    }
}

fn uri(text: &str) -> anyhow::Result<Uri> {
    Uri::parse(text).with_context(|| format!("{text:?}"))
}

/// Reads `NAME=URI,NAME=URI`.
fn capability_list(text: &str) -> anyhow::Result<Vec<Entry>> {
    let entry = |pair: &str| {
        let (name, location) = pair.split_once('=').context("Write capabilities as NAME=URI,NAME=URI")?;
        Ok(Entry::new(uri(location)?).with_capability(Capability::parse(name)))
    };
    text.split(',').map(entry).collect()
}

/// Reads `REL,URI,NAME=VALUE...`.
fn link(text: &str) -> anyhow::Result<Link> {
    let mut parts = text.split(',');
    let (Some(rel), Some(href)) = (parts.next(), parts.next()) else {
        bail!("Write a link as REL,URI,NAME=VALUE")
    };
    let mut link = Link::new(Relation::parse(rel), uri(href)?);
    for part in parts {
        let (name, value) = part.split_once('=').context("Write attributes as NAME=VALUE")?;
        match name {
            "type" => link.media_type = Some(value.parse()?),
            "length" => link.length = Some(value.parse()?),
            "pri" => link.pri = Some(value.parse()?),
            "modified" => link.modified = Some(value.parse()?),
            "hash" => link.hash = value.parse()?,
            "path" => link.path = Some(value.parse()?),
            "encoding" => link.encoding = Some(value.into()),
            _ => bail!("A link has no attribute {name}"),
        }
    }
    Ok(link)
}

#[cfg(test)]
mod tests;
