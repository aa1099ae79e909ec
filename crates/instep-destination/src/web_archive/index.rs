//! The CDXJ index of a file, made while the file is written, or by reading it.

use std::{
    fs::{self, File},
    io::{self, BufReader, Write as _},
    path::{Path, PathBuf},
};

use instep_warc::{
    CaptureFields, CdxjLine, HttpHead, PayloadDigest, RecordPlace, WarcError, WarcHead, WarcKind, WarcReader,
};

use super::known::{FirstCapture, KnownPayloads};

/// Returns the name of the index of a WARC file.
pub(super) fn index_of(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(".warc.gz").unwrap_or(&name);
    file.with_file_name(format!("{name}.cdxj"))
}

/// Writes the index of a file, sorted. It gets its name when it is complete.
pub(super) fn write(file: &Path, lines: &mut [CdxjLine]) -> io::Result<()> {
    lines.sort_unstable();
    let (index, new) = (index_of(file), index_of(file).with_extension("cdxj.new"));
    let mut out = io::BufWriter::new(File::create(&new)?);
    for line in lines {
        out.write_all(line.as_str().as_bytes())?;
        out.write_all(b"\n")?;
    }
    out.into_inner()?.sync_data()?;
    fs::rename(new, index)
}

/// Removes the index of a file, if it has one.
pub(super) fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(index_of(file)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Reads the index of a file; `None` if it has none, or one that is damaged. A damaged one is left in place, because its
/// content is unknown.
pub(super) fn read(file: &Path) -> io::Result<Option<Vec<CdxjLine>>> {
    match fs::read_to_string(index_of(file)) {
        Ok(text) => Ok(Some(text.lines().filter_map(CdxjLine::parse).collect())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            tracing::warn!(index = %index_of(file).display(), "an index of the archive is damaged: it is no text");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// The complete records of a file.
pub(super) struct Scanned {
    pub(super) lines: Vec<CdxjLine>,
    /// The number of bytes of these records.
    pub(super) bytes: u64,
    /// The reason why there are no further records, if the file has more bytes.
    pub(super) fault: Option<WarcError>,
}

/// Reads a file to make its index.
pub(super) fn scan(file: &Path, name: &str) -> io::Result<Scanned> {
    let mut reader = WarcReader::new(BufReader::with_capacity(256 << 10, File::open(file)?));
    let mut scanned = Scanned { lines: Vec::new(), bytes: 0, fault: None };
    loop {
        let mut found = None;
        let next = reader.next(&mut |record| {
            let status = match record.head.kind {
                WarcKind::Response | WarcKind::Revisit => Some(HttpHead::read(record.block)?),
                WarcKind::Resource => Some(HttpHead::default()),
                _ => None,
            };
            found = status.map(|http| (record.head.clone(), http));
            Ok(())
        });
        match next {
            Ok(true) => {}
            Ok(false) => return Ok(scanned),
            Err(WarcError::Io { source, .. }) => return Err(source),
            Err(fault) => {
                scanned.fault = Some(fault);
                return Ok(scanned);
            }
        }
        let end = reader.offset();
        if let Some((head, http)) = found {
            let status = http.status.map(|status| status.to_string()).unwrap_or_default();
            let mime = http.get("Content-Type").or(head.get("Content-Type")).unwrap_or_default().to_owned();
            let place = RecordPlace { file: name, offset: scanned.bytes, length: end - scanned.bytes };
            scanned.lines.extend(line(&head, &mime, &status, place));
        }
        scanned.bytes = end;
    }
}

/// Returns the line of the only record of a gzip member; `None` if it is not a capture.
///
/// # Errors
/// If the record is damaged.
pub(crate) fn capture_of(member: &[u8], place: RecordPlace<'_>) -> Result<Option<CdxjLine>, WarcError> {
    let mut found = None;
    WarcReader::new(member).next(&mut |record| {
        found = line(record.head, record.head.get("Content-Type").unwrap_or_default(), "", place);
        Ok(())
    })?;
    Ok(found)
}

/// Returns the line of a record.
pub(super) fn line(
    head: &WarcHead<'_>,
    mime: &str,
    status: &str,
    place: RecordPlace<'_>,
) -> Option<CdxjLine> {
    let mime = if head.kind == WarcKind::Revisit { "warc/revisit" } else { mime };
    let mime = mime.split(';').next().unwrap_or_default().trim();
    let digest = head.get("WARC-Payload-Digest").unwrap_or_default();
    let fields = CaptureFields { uri: head.target()?, date: head.date()?, mime, status, digest };
    Some(CdxjLine::new(fields, place))
}

/// Adds the payloads that the lines of an index name.
pub(super) fn learn(known: &mut KnownPayloads, lines: &[CdxjLine]) {
    for line in lines {
        let Some(fields) = line.fields() else { continue };
        let field = |name: &str| fields.get(name).and_then(|value| value.as_str());
        let is_whole =
            field("mime") != Some("warc/revisit") && field("status").is_none_or(|status| status == "200");
        let digest = field("digest").and_then(PayloadDigest::parse);
        if let (true, Some(digest), Some(uri), Some(date)) = (is_whole, digest, field("url"), date(line)) {
            known.add(digest, FirstCapture { uri: uri.into(), date: date.into() });
        }
    }
}

/// Returns the time of a line as records write it.
fn date(line: &CdxjLine) -> Option<String> {
    let digits = line.as_str().split(' ').nth(1).filter(|digits| digits.len() == 14)?;
    let part = |from: usize, to: usize| digits.get(from..to);
    Some(format!(
        "{}-{}-{}T{}:{}:{}Z",
        part(0, 4)?,
        part(4, 6)?,
        part(6, 8)?,
        part(8, 10)?,
        part(10, 12)?,
        part(12, 14)?
    ))
}
