//! Checks documents and packages on this machine.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufRead, BufReader, Cursor, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context, anyhow, bail};
use resourcesync::{
    Capability, Dialect, Document, Form, ReadOptions, Uri,
    package::PackageLimits,
    validate::{DocumentSet, HttpAnswer, Report, ValidateOptions, Validator},
};

use super::{
    judgement::Judgement,
    packages::{ExpectedPackage, judge_package},
};

/// The first bytes of a ZIP file: those of its first member, or of the end record if it is empty.
pub(super) const ZIP_STARTS: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// Checks each target, and all of them together.
///
/// Errors: a target cannot be read, or a folder has nothing to check.
pub(super) fn check(targets: &[String], options: ValidateOptions) -> anyhow::Result<Judgement> {
    let judgement = Judgement::new(options.strict);
    let validator = Validator::new(options);
    let mut files = LocalReview { validator, set: DocumentSet::new(), shown: BTreeMap::new(), judgement };
    let mut packages = Vec::new();
    for target in targets {
        if target == "-" {
            files.judge_standard_input()?;
            continue;
        }
        let is_folder = Path::new(target).is_dir();
        let before = (files.judgement.documents, packages.len());
        for file in files_of(Path::new(target))? {
            let cannot = || format!("Cannot read {}", file.display());
            let mut reader = BufReader::with_capacity(64 << 10, File::open(&file).with_context(cannot)?);
            if is_zip(&mut reader).with_context(cannot)? {
                packages.push(file);
            } else {
                files.judge_document(&file, reader, is_folder).with_context(cannot)?;
            }
        }
        // "Conforms" would be wrong for a folder without documents.
        if is_folder && before == (files.judgement.documents, packages.len()) {
            bail!(
                "{target} has nothing to check: no ResourceSync document in a file *.xml, *.xml.gz or *.zip"
            );
        }
    }
    // Packages come last: by then all dumps that may describe them have been read.
    for file in packages {
        files.judge_package(&file).with_context(|| format!("Cannot read {}", file.display()))?;
    }
    for (document, finding) in files.set.check() {
        let shown = files.shown.get(document).map_or(document.as_str(), String::as_str);
        files.judgement.add(shown, finding);
    }
    Ok(files.judgement)
}

/// Returns the file itself, or the documents and packages below a folder.
fn files_of(target: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let cannot = |error: io::Error| {
        format!(
            "Cannot read {}: {error}. Check the path and its permissions; a URL begins with https:// or http://",
            target.display()
        )
    };
    if !fs::metadata(target).map_err(|error| anyhow!(cannot(error)))?.is_dir() {
        return Ok(vec![target.to_owned()]);
    }
    let (mut folders, mut files) = (vec![target.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        let unreadable = |error: io::Error| {
            anyhow!("Cannot read {}: {error}. Check its permissions, or name the files", folder.display())
        };
        let items = match fs::read_dir(&folder) {
            // The state folder of a Source is often readable only for the user that publishes it, and has nothing to
            // check.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && folder.ends_with(".instep") => {
                continue;
            }
            items => items.map_err(unreadable)?,
        };
        for item in items {
            let item = item.map_err(unreadable)?;
            let path = item.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // `file_type` does not follow links, so links that lead back to this folder cannot make the walk endless.
            if item.file_type().map_err(unreadable)?.is_dir() {
                folders.push(path);
            } else if [".xml", ".xml.gz", ".zip"].iter().any(|ending| name.ends_with(ending))
                || name == "resourcesync"
            {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The documents and findings so far.
struct LocalReview {
    validator: Validator,
    set: DocumentSet,
    /// The path of each document in the set, as it is shown.
    shown: BTreeMap<Uri, String>,
    judgement: Judgement,
}

impl LocalReview {
    /// Checks a document. A plain Sitemap that was found in a folder is skipped, because it need not be a ResourceSync
    /// document (GEN-23). A document that has its metadata after its entries is not one, although it is read like one
    /// (O990).
    fn judge_document(&mut self, path: &Path, reader: impl BufRead, in_folder: bool) -> anyhow::Result<()> {
        let report = self.validator.document(reader)?;
        // One that leads up is no plain Sitemap: it lacks its metadata (O826).
        let is_plain = report.header.as_ref().is_some_and(|header| {
            header.dialect == Dialect::PlainSitemap && header.metadata.is_none() && header.up().is_none()
        });
        if in_folder && is_plain && report.summary.errors == 0 {
            return Ok(());
        }
        self.judgement.add_report(&path.display().to_string(), &report);
        self.remember(path, report);
        Ok(())
    }

    fn judge_package(&mut self, path: &Path) -> anyhow::Result<()> {
        let file = File::open(path)?;
        let mut held = HttpAnswer::new(200);
        (held.content_length, held.is_zip) = (Some(file.metadata()?.len()), Some(true));
        let mut claim = self.claim(path);
        let copy = claim.as_ref().and_then(|claim| copy_of(claim.child.contents.as_ref()?, path));
        if let (Some(claim), None) = (&mut claim, &copy) {
            claim.child.contents = None;
        }
        let shown = path.display().to_string();
        let served = (held, copy);
        let manifest =
            judge_package(&shown, &file, &self.validator, claim.as_ref(), served, &mut self.judgement)?;
        manifest.into_iter().for_each(|manifest| self.remember(path, manifest));
        Ok(())
    }

    fn judge_standard_input(&mut self) -> anyhow::Result<()> {
        let mut input = io::stdin().lock();
        if is_zip(&mut input)? {
            let mut bytes = Vec::new();
            input.read_to_end(&mut bytes)?;
            let report = self.validator.package(Cursor::new(bytes), PackageLimits::new(), None)?;
            self.judgement.add_package("-", &report);
        } else {
            self.judgement.add_report("-", &self.validator.document(input)?);
        }
        Ok(())
    }

    /// Keeps a report for the checks across documents.
    fn remember(&mut self, path: &Path, report: Report) {
        if let Ok(uri) = file_uri(path) {
            self.shown.insert(uri.clone(), path.display().to_string());
            self.set.insert(uri, report);
        }
    }

    /// Returns the entry for this package in one of the dumps that were read; `None` if there is none. Of several
    /// entries with its file name it is the one whose URI has most of its path in common: the dumps of two sets have
    /// packages with the same file name if they were packed at the same moment (C22).
    fn claim(&self, package: &Path) -> Option<ExpectedPackage> {
        let claims = self.set.iter().flat_map(|(uri, report)| {
            let header = report.header.as_ref().filter(|header| header.form == Form::List);
            let capability = header.and_then(|header| header.capability().cloned()).filter(is_dump);
            let dump = self.shown.get(uri);
            let children = report.children.iter().filter(move |_| capability.is_some() && dump.is_some());
            children.map(move |child| (dump, header, child))
        });
        let likely = claims.filter_map(|(dump, header, child)| {
            let (dump, common) = (dump?, common_segments(&child.loc, package));
            let beside = Path::new(dump).parent() == package.parent();
            let is_likely = common > 1 || (common == 1 && beside);
            is_likely.then_some((common, beside, dump, header?.capability()?, child))
        });
        let (.., dump, capability, child) = likely.max_by_key(|(common, beside, ..)| (*common, *beside))?;
        let capability = Some(capability.clone());
        Some(ExpectedPackage { dump: dump.clone(), capability, child: child.clone() })
    }
}

fn is_dump(capability: &Capability) -> bool {
    matches!(capability, Capability::ResourceDump | Capability::ChangeDump)
}

/// Returns the number of segments, counted from the end, that a URI and a path have in common.
fn common_segments(uri: &Uri, path: &Path) -> usize {
    let names = path.components().rev().map(|name| name.as_os_str());
    uri.as_str().rsplit('/').zip(names).take_while(|(segment, name)| name == segment).count()
}

/// Returns the copy of a package's manifest that a `contents` link names, if it lies beside the package and can be
/// read.
fn copy_of(contents: &Uri, package: &Path) -> Option<Document> {
    let file = File::open(package.with_file_name(file_name(contents))).ok()?;
    Document::read(BufReader::new(file), ReadOptions::for_base(contents.clone())).ok()
}

fn file_name(uri: &Uri) -> &str {
    uri.as_str().rsplit('/').next().unwrap_or_default()
}

/// Returns `true` if the bytes begin as a ZIP file does.
pub(super) fn is_zip(reader: &mut impl BufRead) -> io::Result<bool> {
    let start = reader.fill_buf()?;
    Ok(ZIP_STARTS.iter().any(|zip| start.starts_with(zip)))
}

fn file_uri(path: &Path) -> anyhow::Result<Uri> {
    use std::fmt::Write as _;
    let path = path.canonicalize()?;
    let mut text = "file://".to_owned();
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                text.push(byte.into())
            }
            _ => write!(text, "%{byte:02X}")?,
        }
    }
    Ok(Uri::parse(&text)?)
}
