//! `instep export`: a copy in the form that an archive takes in.

use std::path::PathBuf;

use clap::Args;
use instep_destination::Contents;
use serde_json::json;

use crate::{
    args::values,
    bag::BagWriter,
    exit::Exit,
    ui::{
        LineLevel, Output,
        format::{bytes, counted},
    },
};

/// Export a copy as a bag (BagIt 1.0)
///
/// Each file is compared with what the copy recorded while it is written; one that differs is left out and reported. The
/// bag has its name only when it is whole. Its resources.jsonl has the URI of each file, and instep publish --from reads it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ExportCommand {
    /// Folder of the copy
    #[arg(value_parser = values::path)]
    dir: PathBuf,
    /// Folder of the bag; it must not be there yet
    #[arg(long, value_parser = values::path, value_name = "DIR")]
    bagit: PathBuf,
}

const EXAMPLES: &str = "\
Examples:
  instep export ./copy --bagit ./bag
  instep publish ./bag --from ./bag/resources.jsonl --base-url https://example.org/ --out /srv/documents --state /srv/state";

impl ExportCommand {
    /// Runs the command.
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let contents = Contents::open(&self.dir)?;
        let source = instep_destination::status(&self.dir)?.url;
        let mut bag = BagWriter::begin(&self.bagit)?;
        let (mut problems, mut failed) = (0_u64, Ok(()));
        contents.by_path(&mut |held| match bag.add(&contents, &held) {
            Ok(None) => true,
            Ok(Some(what)) => {
                problems += 1;
                output.log(LineLevel::Warn, &format!("{}: {what}", held.uri));
                output.object(
                    "problem",
                    json!({ "severity": "error", "kind": "storage", "uri": held.uri.as_str(), "what": what, "hint": null }),
                );
                true
            }
            Err(error) => {
                failed = Err(error);
                false
            }
        })?;
        failed?;
        let (files, size) = (bag.files, bag.bytes);
        bag.finish(source.as_deref())?;
        output.closing(format!(
            "Exported: {}, {} to {}",
            counted(files, "file"),
            bytes(size),
            self.bagit.display()
        ));
        output.object(
            "summary",
            json!({ "command": "export", "files": files, "bytes": size, "skipped": problems, "bag": self.bagit }),
        );
        Ok(if problems > 0 { Exit::Problems } else { Exit::Done })
    }
}
