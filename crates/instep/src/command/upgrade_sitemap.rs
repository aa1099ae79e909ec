//! `instep upgrade-sitemap`: turns a Sitemap that another program writes into a Resource List, and adds Change Lists.
//! The reading and rewriting of Sitemaps is in `sitemap/`.

use std::{
    fs::{self, DirBuilder, File},
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

use anyhow::Context as _;
use clap::Args;
use instep_source::{Content, DumpPolicy, Error, MaxDeletions, PublishOptions};
use instep_store::{Lock, LockError};
use resourcesync::{Finding, Position};
use serde_json::json;

use crate::{
    args::{headings::WHAT_TO_PUBLISH, values, waiting::WaitArgs},
    exit::Exit,
    foreign::ForeignResources,
    publication::{preview, publish_once_and},
    sitemap::{EntryFaults, RepeatedEntry, SitemapFiles},
    ui::{
        LineLevel, Output,
        format::{counted, name},
    },
};

/// Turn a Sitemap into a Resource List with Change Lists, in place
///
/// The first run writes the documents of a Source beside the Sitemap: a Source Description, a Capability List and a
/// Change List. Each run compares the Sitemap with the run before, lists the changes, and adds the elements of a
/// Resource List to the Sitemap. Search engines read it as before. Run it from cron after the program that writes the
/// Sitemap.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct UpgradeSitemapCommand {
    /// The Sitemap, or an index whose Sitemaps lie in the same folder or below it
    #[arg(value_name = "SITEMAP")]
    file: PathBuf,
    /// The URL at which the folder of the Sitemap is served
    #[arg(long, value_name = "URL", help_heading = WHAT_TO_PUBLISH)]
    base_url: String,
    /// Show what would be published; write nothing
    #[arg(short = 'n', long, help_heading = WHAT_TO_PUBLISH)]
    dry_run: bool,
    /// Folder of the catalogue, with the state of the last run [default: .instep beside the Sitemap]
    #[arg(long, value_parser = values::path, value_name = "DIR", help_heading = WHAT_TO_PUBLISH)]
    state: Option<PathBuf>,
    /// Publish any number of deletions
    #[arg(long, help_heading = WHAT_TO_PUBLISH)]
    allow_deletions: bool,
    #[command(flatten, next_help_heading = WHAT_TO_PUBLISH)]
    wait: WaitArgs,
}

const EXAMPLES: &str = "\
Examples:
  instep upgrade-sitemap /srv/www/sitemap.xml --base-url https://example.org/
  15 * * * *  instep upgrade-sitemap /srv/www/sitemap.xml --base-url https://example.org/ --quiet";

const NAME: &str = "upgrade-sitemap";

/// The name of the manifest in the folder of the catalogue.
const MANIFEST: &str = "sitemap.jsonl";

impl UpgradeSitemapCommand {
    /// Runs the command.
    pub(crate) fn run(self, output: &Output) -> anyhow::Result<Exit> {
        let sitemap = SitemapFiles::find(&self.file, &self.base_url)?;
        let mut options = PublishOptions::new(sitemap.folder(), &self.base_url);
        if let Some(state) = self.state {
            options.state = state;
        }
        // Held from before the Sitemap is read: a run that publishes it after a later one would report the pages that are
        // new since as deleted.
        let turn = (!self.dry_run).then(|| take_turn(&options.state, self.wait, output)).transpose()?;
        // Read again, because it may have been written while this run waited.
        let sitemap = match &turn {
            Some(_) => SitemapFiles::find(&self.file, &self.base_url)?,
            None => sitemap,
        };
        let manifest = options.state.join(MANIFEST);
        let scratch = self.dry_run.then(tempfile::tempdir).transpose()?;
        let draft = scratch.as_ref().map(|scratch| scratch.path().join(MANIFEST));
        let mut foreign = ForeignResources::of(&self.base_url);
        let faults = sitemap.write_manifest(draft.as_ref().unwrap_or(&manifest), &mut foreign)?;
        options.manifest_drafts.extend(draft.map(|draft| (manifest.clone(), draft)));
        foreign.warn(output);
        faults.iter().for_each(|faults| show(faults, output));
        if faults.iter().any(|faults| faults.nameless > 0) {
            // No deletion is published: the resource of an entry without a usable `loc` would seem to be deleted (B33).
            options.guard.most = MaxDeletions::Count(0);
        }
        let root = sitemap.folder().to_owned();
        options.sets[0].content = vec![Content::Manifest { path: manifest, root }];
        options.out = sitemap.folder().to_owned();
        options.dumps.policy = DumpPolicy::Never;
        // No robots.txt is written. The host has one already, or search engines would not find its Sitemap.
        options.robots = false;
        if self.allow_deletions {
            options.guard.most = MaxDeletions::Count(u64::MAX);
            options.guard.allow_empty = true;
        }
        let publish = || {
            publish_once_and(NAME, &options, self.wait, output, &|report| {
                let has_changed = report.created + report.updated + report.deleted > 0;
                let written = sitemap.amend(report.at, has_changed)?;
                output.note(format!("Written as Resource Lists: {}", counted(written, "Sitemap")));
                Ok(())
            })
        };
        let exit = if self.dry_run { preview(NAME, &options, output)? } else { publish()? };
        Ok(if exit == Exit::Done && !faults.is_empty() { Exit::Problems } else { exit })
    }
}

/// Takes the right to read a Sitemap and to publish it, for one run at a time.
///
/// Errors: another run has it and does not end in time, or the folder of the catalogue cannot be written.
fn take_turn(state: &Path, wait: WaitArgs, output: &Output) -> anyhow::Result<Lock> {
    let folder = state.join(NAME);
    let failed = || format!("Cannot write {}", folder.display());
    // With the permissions that the folder of a catalogue has: it may lie below the files of a web server. Missing
    // folders above the state get the usual ones, because a web server may have to read others in them.
    if let Some(above) = state.parent().filter(|above| !above.as_os_str().is_empty()) {
        fs::create_dir_all(above).with_context(failed)?;
    }
    DirBuilder::new().recursive(true).mode(0o700).create(&folder).with_context(failed)?;
    let opened = File::open(&folder).with_context(failed)?;
    let holder = format!("process {}", std::process::id());
    wait.until_free(
        state,
        output,
        || false,
        || match Lock::take(&opened, &holder) {
            Err(LockError::Held { holder }) => Err(Error::Locked { path: state.to_owned(), holder }.into()),
            taken => taken.with_context(failed),
        },
    )
}

/// Reports the entries of a file that cannot be used, or whose changes cannot be noticed, each with its line.
fn show(faults: &EntryFaults, output: &Output) {
    let subject = faults.file.display().to_string();
    let at = |position: Position| format!("line {}, column {}", position.line, position.column);
    let place = |finding: &Finding| {
        // The page of the entry is published all the same.
        let is_published = finding.rule == "ATT-22";
        let consequence = if is_published { "; changes of this page are not noticed" } else { "" };
        let (found, expected) = (&finding.found, &finding.expected);
        (format!("{}: {found}, not {expected}{consequence}", at(finding.position)), !is_published)
    };
    let is_nameless = |finding: &&Finding| matches!(finding.rule, "GEN-13" | "GEN-14");
    let nameless = faults.findings.iter().filter(is_nameless).count() as u64;
    let mut problems: Vec<_> = faults.findings.iter().map(place).collect();
    if faults.nameless > nameless {
        problems.push((format!("{} entries have no usable loc", faults.nameless), true));
    }
    let again = |repeated: &RepeatedEntry| {
        let what = format!("{}: {} is listed before; that entry counts", at(repeated.position), repeated.uri);
        (what, true)
    };
    problems.extend(faults.repeated.iter().map(again));
    let refused = faults.refused.iter();
    problems.extend(refused.map(|refused| (format!("{}: {}", at(refused.position), refused.what), true)));
    for (what, skipped) in problems {
        output.problem(
            LineLevel::Error,
            &format!("! {}: {}", name(&subject), name(&what)),
            json!({ "subject": subject, "what": what, "skipped": skipped }),
        );
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::global::Global;

    /// A command line of `upgrade-sitemap` alone.
    #[derive(Parser)]
    struct UpgradeLine {
        #[command(flatten)]
        upgrade: UpgradeSitemapCommand,
    }

    #[test]
    fn o612_a_sitemap_is_read_by_one_run_at_a_time() {
        let site = tempfile::tempdir().unwrap();
        let (file, state) = (site.path().join("sitemap.xml"), site.path().join(".instep"));
        let list = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'><url><loc>http://example.org/a</loc></url></urlset>";
        fs::write(&file, list).unwrap();
        let output = Output::new(&Global::as_written(&[]));
        let run = || {
            let words = ["upgrade-sitemap", file.to_str().unwrap(), "--base-url", "http://example.org/"];
            let line = UpgradeLine::try_parse_from(words.into_iter().chain(["--wait", "0s"])).unwrap();
            line.upgrade.run(&output)
        };
        let line = UpgradeLine::try_parse_from(["x", "s.xml", "--base-url", "http://example.org/"]).unwrap();
        let other = take_turn(&state, line.upgrade.wait, &output).unwrap();
        assert!(matches!(run().unwrap_err().downcast_ref(), Some(Error::Locked { .. })));
        assert!(!state.join(MANIFEST).exists());
        drop(other);
        run().unwrap();
        assert!(state.join(MANIFEST).exists());
    }
}
