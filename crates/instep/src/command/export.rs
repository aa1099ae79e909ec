//! `instep export`: writes a copy in another form, for archives and for tools that know no packs. The forms are in
//! `export/`; here are the options, the loop over the resources and the counts.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use instep_destination::{Contents, CopyLocation};
use instep_objects::ObjectPlace;
use resourcesync::DateTime;
use serde_json::json;

use crate::{
    args::values,
    exit::Exit,
    export::{BagWriter, ExportForm, FolderWriter, IndexWriter, ObjectWriter, in_parts},
    ui::{
        LineLevel, Output,
        format::{bytes, counted},
    },
};

/// Export a copy as a bag (BagIt 1.0), a folder, objects, or the index of its packs
///
/// Each resource is compared with the copy's record while it is written; one that differs is left out and reported. A
/// bag or a folder gets its name only when it is complete. The resources.jsonl of a bag has the URI of each file, and
/// instep publish --from reads it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportCommand {
    /// Folder of the copy
    #[arg(value_parser = values::path)]
    dir: PathBuf,
    #[command(flatten)]
    form: ExportForms,
    /// Take the state of this time
    ///
    /// A copy has former states only if it keeps versions: sync --all-versions.
    #[arg(long, value_parser = values::datetime, value_name = "DATETIME", conflicts_with = "cdxj")]
    as_of: Option<DateTime>,
    /// State of the copy in PostgreSQL, if DIR does not know it: postgres://USER@HOST/DATABASE?copy=NAME
    ///
    /// The copy of a Source that instep run keeps with --state has the name of the Source.
    #[arg(long, value_name = "URL")]
    state: Option<String>,
}

/// The forms, one of which must be selected.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct ExportForms {
    /// Write a bag into this folder, which must not exist
    #[arg(long, value_parser = values::path, value_name = "DIR")]
    bagit: Option<PathBuf>,
    /// Write a file for each resource, under its path, into this folder, which must not exist
    #[arg(long, value_parser = values::path, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Put an object for each resource, under its path, into object storage: s3://BUCKET/PREFIX, which must be empty
    #[arg(long, value_parser = ObjectPlace::parse, value_name = "URL")]
    objects: Option<ObjectPlace>,
    /// Write the CDXJ index of the packs of a copy in object storage to this file, which must not exist
    #[arg(long, value_parser = values::path, value_name = "FILE")]
    cdxj: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  instep export ./copy --bagit ./bag
  instep publish ./bag --from ./bag/resources.jsonl --base-url https://example.org/ --out /srv/documents --state /srv/state
  instep export ./copy --bagit ./bag-of-january --as-of 2026-01-31
  instep export ./state --folder ./files
  instep export ./state --cdxj ./index.cdxj
  instep export ./none --folder ./files --state 'postgres://me@db.example/copies?copy=letters'";

/// The counts of an export.
#[derive(Default)]
struct ExportTally {
    files: u64,
    bytes: u64,
    problems: u64,
    gone: u64,
    /// Resources of which the copy has only later versions.
    later: u64,
    /// Resources that are objects of their own and so in no pack.
    unpacked: u64,
}

/// Refuses a folder within the copy, because its files could get the names of resources.
fn expect_outside(copy: &Path, folder: &Path) -> anyhow::Result<()> {
    let folder = std::path::absolute(folder)?;
    let above = folder.ancestors().find_map(|above| above.canonicalize().ok());
    match above.zip(copy.canonicalize().ok()) {
        Some((above, copy)) if above.starts_with(&copy) => {
            bail!("{} lies within the copy; name a folder outside it", folder.display())
        }
        _ => Ok(()),
    }
}

impl ExportCommand {
    /// Runs the command.
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let contents = Contents::open_at(&self.copy())?;
        for folder in self.form.bagit.iter().chain(&self.form.folder) {
            expect_outside(&self.dir, folder)?;
        }
        let mut tally = ExportTally::default();
        let ExportForms { bagit, folder, objects, cdxj } = &self.form;
        let place = match (bagit, folder, objects, cdxj) {
            (Some(bag), ..) => {
                self.fill(Box::new(BagWriter::begin(bag)?), &contents, &mut tally, output)?;
                bag.display().to_string()
            }
            (_, Some(folder), ..) => {
                self.fill(Box::new(FolderWriter::begin(folder)?), &contents, &mut tally, output)?;
                folder.display().to_string()
            }
            (.., Some(objects), _) => {
                self.fill(Box::new(ObjectWriter::begin(objects)?), &contents, &mut tally, output)?;
                objects.to_string()
            }
            (.., Some(index)) => {
                let lines = IndexWriter::begin(&contents, index)?;
                tally.index(&contents, &lines, output)?;
                lines.finish(index)?;
                index.display().to_string()
            }
            _ => return Ok(Exit::Usage),
        };
        tally.show(&place, cdxj.is_some(), output);
        Ok(if tally.problems > 0 { Exit::Problems } else { Exit::Done })
    }

    fn fill(
        &self,
        mut form: Box<dyn ExportForm>,
        contents: &Contents,
        tally: &mut ExportTally,
        output: &Output,
    ) -> anyhow::Result<()> {
        let mut failed = Ok(());
        tally.later = in_parts(contents, self.as_of, &mut |resources, all| {
            contents.read_all(all, &mut |index, found| {
                let (resource, held) = (&resources[index], &all[index]);
                match form.add(resource, held, found) {
                    Ok(None) => {
                        tally.files += 1;
                        tally.bytes += held.metadata.length.unwrap_or_default();
                        tally.gone += u64::from(resource.is_gone);
                    }
                    Ok(Some(what)) => tally.problem(resource.uri.as_str(), &what, output),
                    Err(error) => failed = Err(error),
                }
                failed.is_ok()
            });
            failed.is_ok()
        })?;
        failed?;
        form.finish(self.copy().status()?.url.as_deref())
    }

    /// Returns the place of the copy.
    fn copy(&self) -> CopyLocation {
        let copy = CopyLocation::in_folder(&self.dir);
        match &self.state {
            Some(url) => copy.with_state(url),
            None => copy,
        }
    }
}

impl ExportTally {
    fn index(&mut self, contents: &Contents, lines: &IndexWriter, output: &Output) -> anyhow::Result<()> {
        let mut failed = Ok(());
        in_parts(contents, None, &mut |resources, all| {
            contents.captures(all, &mut |index, found| {
                match found {
                    Ok(Some(line)) => {
                        self.files += 1;
                        self.bytes += line.as_str().len() as u64 + 1;
                        failed = lines.add(&line);
                    }
                    Ok(None) => self.unpacked += 1,
                    Err(error) => {
                        let what = format!("its record cannot be read: {:#}", anyhow::Error::from(error));
                        self.problem(resources[index].uri.as_str(), &what, output);
                    }
                }
                failed.is_ok()
            });
            failed.is_ok()
        })?;
        failed
    }

    fn problem(&mut self, uri: &str, what: &str, output: &Output) {
        self.problems += 1;
        output.problem(
            LineLevel::Warn,
            &format!("{uri}: {what}"),
            json!({ "severity": "error", "kind": "storage", "uri": uri, "what": what, "hint": null }),
        );
    }

    fn show(&self, place: &str, is_index: bool, output: &Output) {
        let what = if is_index { "line" } else { "file" };
        output.closing(format!("Exported: {}, {} to {place}", counted(self.files, what), bytes(self.bytes)));
        if self.gone > 0 {
            let gone = counted(self.gone, "resource");
            output
                .note(format!("{gone} of them held no more: the copy does not know when they were deleted"));
        }
        if self.later > 0 {
            let later = counted(self.later, "resource");
            output.note(format!(
                "{later} left out: the copy has only later versions; it keeps former ones with sync --all-versions"
            ));
        }
        if self.unpacked > 0 {
            let unpacked = counted(self.unpacked, "resource");
            output.note(format!(
                "{unpacked} not in the index: large ones are objects of their own, not records"
            ));
        }
        output.object(
            "summary",
            json!({
                "command": "export", "files": self.files, "bytes": self.bytes, "skipped": self.problems,
                "gone": self.gone, "later": self.later, "unpacked": self.unpacked, "to": place,
            }),
        );
    }
}
