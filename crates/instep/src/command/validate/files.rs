//! Documents and packages on this machine.

use std::{
    fs::{self, File},
    io::{self, BufRead, BufReader, Cursor, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use anyhow::Context;
use resourcesync::{
    Uri,
    package::PackageLimits,
    validate::{DocumentSet, ValidateOptions, Validator},
};

use super::judgement::Judgement;
use crate::exit::Exit;

/// What a ZIP file begins with: a member, or the end of an empty one.
pub(super) const ZIP_STARTS: [&[u8]; 2] = [b"PK\x03\x04", b"PK\x05\x06"];

/// Judges what is named, and all of it together.
pub(super) fn judge(targets: &[String], options: ValidateOptions) -> anyhow::Result<Judgement> {
    let mut judgement = Judgement::new(options.strict);
    let validator = &Validator::new(options);
    let mut set = DocumentSet::new();
    for target in targets {
        if target == "-" {
            judge_standard_input(validator, &mut judgement)?;
            continue;
        }
        for file in files_of(Path::new(target))? {
            judge_file(&file, validator, &mut set, &mut judgement)
                .with_context(|| format!("Cannot read {}", file.display()))?;
        }
    }
    judgement.add_set(&set);
    Ok(judgement)
}

/// The file itself, or the documents and packages below a folder.
fn files_of(target: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let cannot =
        || anyhow::Error::new(Exit::Unreachable).context(format!("Cannot read {}", target.display()));
    if !target.is_dir() {
        return if target.exists() { Ok(vec![target.to_owned()]) } else { Err(cannot()) };
    }
    let (mut folders, mut files) = (vec![target.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for item in fs::read_dir(&folder)? {
            let path = item?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() {
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

fn judge_file(
    path: &Path,
    validator: &Validator,
    set: &mut DocumentSet,
    judgement: &mut Judgement,
) -> anyhow::Result<()> {
    let shown = path.display().to_string();
    let mut reader = BufReader::with_capacity(64 << 10, File::open(path)?);
    if is_zip(&mut reader)? {
        reader.seek(SeekFrom::Start(0))?;
        judgement.add_package(&shown, &validator.package(reader, PackageLimits::new(), None)?);
        return Ok(());
    }
    let report = validator.document(reader)?;
    judgement.add_report(&shown, &report);
    if let Ok(uri) = file_uri(path) {
        set.insert(uri, report);
    }
    Ok(())
}

fn judge_standard_input(validator: &Validator, judgement: &mut Judgement) -> anyhow::Result<()> {
    let mut input = io::stdin().lock();
    if is_zip(&mut input)? {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes)?;
        judgement.add_package("-", &validator.package(Cursor::new(bytes), PackageLimits::new(), None)?);
    } else {
        judgement.add_report("-", &validator.document(input)?);
    }
    Ok(())
}

/// Whether the bytes begin as a package does.
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
