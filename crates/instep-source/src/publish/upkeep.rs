//! Upkeep of a catalogue: recording, compaction and checks beside publishing from it.

use std::path::{Path, PathBuf};

use super::{Publisher, needed::needed_after, published, rebase, remembered, sets};
use crate::{
    Error, PublishMonitor, PublishOptions,
    catalogue::{CATALOGUE, Catalogue, CatalogueLocation, Recorded},
    content::Holdings,
    render::{HostSetup, SourcePlace, SourcePolicy, host_setup},
    scan::{self, Difference, ReportedChange, ScanOptions, ScanReport, record_reported},
};

/// The space that a compaction freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Compaction {
    /// The number of entries of the change log that were removed.
    pub forgotten: u64,
    /// Bytes of the catalogue before.
    pub before: u64,
    /// Bytes of the catalogue after.
    pub after: u64,
}

impl Publisher {
    /// Warns of files among the resources that are not published, because their names are those of documents.
    pub(crate) fn report_hidden(&self, monitor: &dyn PublishMonitor) -> Result<(), Error> {
        self.context.report_hidden(monitor)
    }

    /// Records the changes that an application reports, durably when this returns; the next publication shows them.
    ///
    /// # Errors
    /// If the catalogue fails, or a folder of the Source cannot be read.
    pub fn record(
        &self,
        changes: Vec<ReportedChange>,
        monitor: &dyn PublishMonitor,
    ) -> Result<Recorded, Error> {
        let options = ScanOptions::new(&self.context.options);
        record_reported(&self.context.holdings, &self.context.catalogue, changes, &options, monitor)
    }

    /// Drops the lines of the change log that no published document shows any more, and gives their space back.
    ///
    /// # Errors
    /// If the catalogue fails, or the disk has no room for a copy of it.
    pub fn compact(&self) -> Result<Compaction, Error> {
        compact(&self.context.catalogue)
    }
}

/// Hashes all content of a Source that was opened before, and compares it with its catalogue; nothing is recorded.
/// Each difference is passed to `differs`. If another process holds the Source, the catalogue is read while it
/// changes; if this process can only read the state, its catalogue is read all the same.
///
/// # Errors
/// If nothing has been published with this state, a folder or manifest cannot be read, or the catalogue fails or is
/// damaged.
pub fn check(
    state: &Path,
    monitor: &dyn PublishMonitor,
    differs: &mut (dyn FnMut(Difference) + Send),
) -> Result<ScanReport, Error> {
    check_state(state, monitor, differs).map_err(|error| error.in_state(state))
}

fn check_state(
    state: &Path,
    monitor: &dyn PublishMonitor,
    differs: &mut (dyn FnMut(Difference) + Send),
) -> Result<ScanReport, Error> {
    let compare = |options: &PublishOptions, holdings: &Holdings, catalogue: &Catalogue, differs| {
        if holdings.manifests().iter().any(|manifest| manifest.is_standard_input()) {
            let what = "resources that were read from standard input cannot be read again";
            return Err(Error::option("from", what));
        }
        refuse_damage(catalogue)?;
        scan::check(holdings, catalogue, &ScanOptions::new(options).of_every_file(), monitor, differs)
    };
    match Publisher::reopen(state) {
        Ok(publisher) => compare(
            &publisher.context.options,
            &publisher.context.holdings,
            &publisher.context.catalogue,
            differs,
        ),
        Err(Error::Locked { .. } | Error::Write { .. }) => {
            let catalogue =
                CatalogueLocation::known(state)?.beside()?.ok_or_else(|| remembered::unknown(state))?;
            let options = remembered::load(&catalogue.snapshot()?, state)?;
            let mut options = options.ok_or_else(|| remembered::unknown(state))?;
            sets::number_beside(&mut options.sets, &catalogue)?;
            let holdings = Holdings::new(&options, &catalogue)?;
            compare(&options, &holdings, &catalogue, differs)
        }
        Err(error) => Err(error),
    }
}

/// Refuses a catalogue whose file is damaged. A comparison with the content reads only a part of it: the log of changes and
/// the totals may be wrong although every file is recorded as it is.
fn refuse_damage(catalogue: &Catalogue) -> Result<(), Error> {
    let damage = catalogue.snapshot()?.damage()?;
    // SQLite names the database, which is the only one, in a line of its own.
    let fault = damage.iter().flat_map(|fault| fault.lines()).find(|line| !line.starts_with("***"));
    match fault {
        Some(fault) => Err(Error::Catalogue { path: PathBuf::new(), source: fault.into() }),
        None => Ok(()),
    }
}

/// Scans all content like a publication; nothing is recorded or written. Each difference from the catalogue is passed
/// to `differs`.
///
/// # Errors
/// If an option is invalid, a folder or manifest cannot be read, or the catalogue fails; and, after all differences, if the
/// guard would refuse deletions.
pub fn preview(
    options: &PublishOptions,
    monitor: &dyn PublishMonitor,
    differs: &mut (dyn FnMut(Difference) + Send),
) -> Result<ScanReport, Error> {
    let mut options = options.clone();
    SourcePolicy::new(&options)?;
    let nowhere = tempfile::tempdir().map_err(Error::write(Path::new("temporary folder")))?;
    let catalogue = match rebase::place_of_catalogue(&options)?.beside()? {
        Some(catalogue) => catalogue,
        None => Catalogue::open(&nowhere.path().join(CATALOGUE))?,
    };
    let from = rebase::check(&options, &catalogue)?;
    let configured = sets::number_beside(&mut options.sets, &catalogue)?;
    let mut looked = ScanOptions::new(&options);
    looked.sets = configured;
    let Some(from) = from else {
        let holdings = Holdings::new(&options, &catalogue)?;
        return preview_of(&holdings, &catalogue, &looked, monitor, differs);
    };
    // The catalogue does not move yet: the content is compared below the former base URL, and shown below the new one.
    rebase::refuse_former_uris(&options, &catalogue, &from)?;
    let holdings = Holdings::before_move(&options, &catalogue, &from)?;
    let to = SourcePlace::new(&options.base_url)?;
    let mut moved = |mut difference: Difference| {
        if let Some(rest) = difference.uri.as_str().strip_prefix(&from) {
            difference.uri = to.uri(rest);
        }
        differs(difference);
    };
    preview_of(&holdings, &catalogue, &looked, monitor, &mut moved)
}

fn preview_of(
    holdings: &Holdings,
    catalogue: &Catalogue,
    options: &ScanOptions,
    monitor: &dyn PublishMonitor,
    differs: &mut (dyn FnMut(Difference) + Send),
) -> Result<ScanReport, Error> {
    let faults = holdings.probe_supplies(monitor)?;
    let mut report = scan::check(holdings, catalogue, options, monitor, differs)?;
    report.skipped += faults;
    Ok(report)
}

/// Returns the settings that the operator adds to the web server, without publishing anything.
///
/// # Errors
/// If an option is invalid.
pub fn setup(options: &PublishOptions) -> Result<HostSetup, Error> {
    Ok(host_setup(&SourcePolicy::new(options)?, &[]))
}

/// Does the work of [`Publisher::compact`] for a caller that has only the catalogue.
pub(crate) fn compact(catalogue: &Catalogue) -> Result<Compaction, Error> {
    let (published, head) = {
        let snapshot = catalogue.snapshot()?;
        (published::load(&snapshot)?.published, snapshot.head())
    };
    let through = needed_after(&published).unwrap_or(0).min(head.sequence);
    catalogue.forget_changes(through)?;
    let (before, after) = catalogue.compact()?;
    Ok(Compaction { forgotten: through.saturating_sub(head.forgotten), before, after })
}

#[cfg(test)]
mod tests {
    use std::{
        fs::{self, File},
        os::unix::fs::FileExt as _,
    };

    use resourcesync::Uri;
    use rusqlite::Connection;

    use super::*;
    use crate::{DifferenceKind, ErrorKind, NoMonitor, SetOptions, publish};

    #[test]
    fn o927_a_preview_without_a_set_shows_what_the_publication_does() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str| fs::write(folder.path().join(name), name).unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.org/");
        let set = |kind: &str| SetOptions {
            name: kind.to_owned(),
            include: vec![format!("*.{kind}")],
            ..SetOptions::folder(folder.path())
        };
        options.sets = ["txt", "pdf", "xml"].map(set).into();
        for name in ["a.txt", "b.txt", "c.pdf", "d.xml"] {
            write(name);
        }
        publish(&options, &NoMonitor).unwrap();
        options.sets = vec![set("pdf")];
        write("e.pdf");
        let mut differences = Vec::new();
        let mut differs = |difference: Difference| differences.push((difference.uri, difference.kind));
        preview(&options, &NoMonitor, &mut differs).unwrap();
        let new = Uri::parse("http://example.org/e.pdf").unwrap();
        assert_eq!(differences, [(new, DifferenceKind::Unknown)]);
        let report = publish(&options, &NoMonitor).unwrap();
        assert_eq!((report.created, report.updated, report.deleted), (1, 0, 0));
    }

    #[test]
    fn o980_a_preview_leaves_no_file_beside_the_catalogue() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.txt"), "a").unwrap();
        let options = PublishOptions::new(folder.path(), "http://example.org/");
        publish(&options, &NoMonitor).unwrap();
        let names = || {
            let mut names: Vec<_> =
                fs::read_dir(&options.state).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort_unstable();
            names
        };
        let before = names();
        fs::write(folder.path().join("b.txt"), "b").unwrap();
        let mut differences = 0;
        preview(&options, &NoMonitor, &mut |_| differences += 1).unwrap();
        assert_eq!(differences, 1);
        assert_eq!(names(), before);
    }

    #[test]
    fn o476_a_state_that_can_only_be_read_is_checked_and_previewed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.txt"), "a").unwrap();
        let options = PublishOptions::new(folder.path(), "http://example.org/");
        publish(&options, &NoMonitor).unwrap();
        // As in a folder that cannot be written, also for a test that may write everywhere.
        fs::remove_file(options.state.join("lock")).unwrap();
        for name in ["lock", "catalogue.db-wal"] {
            fs::create_dir(options.state.join(name)).unwrap();
        }
        let mut differences = Vec::new();
        let mut differs = |difference| differences.push(difference);
        check(&options.state, &NoMonitor, &mut differs).unwrap();
        preview(&options, &NoMonitor, &mut differs).unwrap();
        assert_eq!(differences, []);
    }

    #[test]
    fn o991_a_check_finds_damage_of_the_catalogue_that_no_file_shows() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.txt"), "a").unwrap();
        let options = PublishOptions::new(folder.path(), "http://example.org/");
        publish(&options, &NoMonitor).unwrap();
        let file = options.state.join(CATALOGUE);
        let checked = || check(&options.state, &NoMonitor, &mut |_| {});
        let refused = || {
            let error = checked().unwrap_err();
            let names_state = error.to_string().contains(&options.state.display().to_string());
            assert!(error.kind() == ErrorKind::Storage && names_state, "{error}");
        };
        let add_to_totals = |number: i64| {
            let connection = Connection::open(&file).unwrap();
            connection.execute("UPDATE tally SET resources = resources + ?1", [number]).unwrap();
        };
        add_to_totals(1);
        refused();
        add_to_totals(-1);
        checked().unwrap();

        // A table that the comparison does not read.
        let connection = Connection::open(&file).unwrap();
        let number = |query: &str| connection.query_row(query, [], |row| row.get::<_, u32>(0)).unwrap();
        let size = number("PRAGMA page_size");
        let root = number("SELECT rootpage FROM sqlite_master WHERE name = 'activity'");
        drop(connection);
        let damaged = File::options().write(true).open(&file).unwrap();
        damaged.write_all_at(&vec![0; size as usize], u64::from(root - 1) * u64::from(size)).unwrap();
        refused();
    }
}
