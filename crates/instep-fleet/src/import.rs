//! Lists of Sources as others keep them: URLs, OPML, CSV. PURE.

use std::str::FromStr;

use quick_xml::{
    Reader, XmlVersion,
    events::{BytesStart, Event},
};
use resourcesync::Uri;

use crate::{FleetError, definition::plain_url};

/// The form of a list of Sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// One URL a line; empty lines and those that begin with `#` are skipped.
    List,
    /// Outlines with `xmlUrl`, `url` or `htmlUrl`, named by `text` or `title`.
    Opml,
    /// A header line with a column of URLs and, if there is one, a column of names: the export of a registry.
    Csv,
}

impl ImportFormat {
    /// The names it is written by.
    pub const NAMES: &'static [&'static str] = &["list", "opml", "csv"];

    /// Guesses the form of a text from its name and its beginning.
    pub fn of(file_name: &str, text: &str) -> Self {
        let extension = file_name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
        match extension.as_deref() {
            Some("opml" | "xml") => Self::Opml,
            Some("csv" | "tsv") => Self::Csv,
            _ if text.trim_start_matches('\u{feff}').trim_start().starts_with('<') => Self::Opml,
            _ => Self::List,
        }
    }
}

impl FromStr for ImportFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "list" => Ok(Self::List),
            "opml" => Ok(Self::Opml),
            "csv" => Ok(Self::Csv),
            _ => Err(format!("write one of {}", Self::NAMES.join(", "))),
        }
    }
}

/// The Sources of a list, and its invalid lines.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct ImportedList {
    /// The Sources. A URL that is listed twice is included once.
    pub sources: Vec<ImportedSource>,
    /// A [`FleetError::Import`] for each line that is no Source.
    pub faults: Vec<FleetError>,
    /// The number of rows of a CSV file without a URL: registries list repositories that offer none.
    pub without_url: u64,
}

/// A Source of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportedSource {
    /// Its line.
    pub line: u64,
    /// Its name as the list has it.
    pub name: Option<String>,
    /// Its URL, as [`plain_url`] returns it.
    pub url: String,
}

/// Columns of URLs and of names, the preferred first: those of ours, of registries of repositories (re3data, OpenDOAR)
/// and of exports over OAI-PMH.
const URL_COLUMNS: [&str; 9] = [
    "resourcesync",
    "url",
    "source",
    "baseurl",
    "base_url",
    "api",
    "repositoryurl",
    "repository_url",
    "oai_url",
];
const NAME_COLUMNS: [&str; 6] = ["name", "id", "identifier", "repositoryname", "repository_name", "title"];

/// Reads a list of Sources. A line that cannot be used is left out.
///
/// ```
/// use instep_fleet::{ImportFormat, import};
///
/// let list = import("# ours\nhttps://a.example/\n\nhttps://b.example/\nnonsense\n", ImportFormat::List)?;
/// assert_eq!((list.sources[1].line, list.sources[1].url.as_str()), (4, "https://b.example/"));
/// assert!(list.faults[0].to_string().contains("line 5"));
/// # Ok::<(), instep_fleet::FleetError>(())
/// ```
///
/// # Errors
/// [`FleetError::Import`] if the columns of a CSV file have no name for URLs.
pub fn import(text: &str, format: ImportFormat) -> Result<ImportedList, FleetError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut list = ImportedList::default();
    match format {
        ImportFormat::List => list.take_lines(text),
        ImportFormat::Opml => {
            if let Err(fault) = list.take_outlines(text) {
                list.faults.push(fault);
            }
        }
        ImportFormat::Csv => list.take_rows(text)?,
    }
    let mut seen = std::collections::BTreeSet::new();
    list.sources.retain(|source| seen.insert(source.url.clone()));
    Ok(list)
}

fn wrong(line: u64, what: impl ToString) -> FleetError {
    FleetError::Import { line, what: what.to_string() }
}

impl ImportedList {
    /// Adds a Source, or its fault.
    fn take(&mut self, line: u64, name: Option<String>, url: &str) {
        match plain_url(url) {
            // U+FFFD stands for bytes that were not UTF-8: the URL cannot be known.
            Ok(_) if url.contains('\u{fffd}') => {
                self.faults.push(wrong(line, format!("{url:?} is not UTF-8")))
            }
            Ok(url) => {
                if let Err(error) = Uri::parse(&url) {
                    let what = format!(
                        "{url:?} is not a URL of a Source: {error}; write other characters percent-encoded"
                    );
                    self.faults.push(wrong(line, what));
                    return;
                }
                let name = name.filter(|name| !name.is_empty());
                self.sources.push(ImportedSource { line, name, url });
            }
            Err(what) => self.faults.push(wrong(line, what)),
        }
    }

    fn take_lines(&mut self, text: &str) {
        for (line, url) in (1..).zip(text.lines().map(str::trim)) {
            if !url.is_empty() && !url.starts_with('#') {
                self.take(line, None, url);
            }
        }
    }

    /// Takes the outlines up to the first place that is no XML.
    fn take_outlines(&mut self, text: &str) -> Result<(), FleetError> {
        let mut reader = Reader::from_str(text);
        let mut lines = LineCount { text, line: 1, counted: 0 };
        let mut line_at = |position| lines.at(position);
        let mut open = 0_u32;
        loop {
            let before = reader.buffer_position();
            let event = reader.read_event().map_err(|error| wrong(line_at(before), error))?;
            let is_start = matches!(event, Event::Start(_));
            let outline = match event {
                Event::Eof if open > 0 => {
                    return Err(wrong(line_at(before), "the document ends before its root element does"));
                }
                Event::Eof => return Ok(()),
                Event::End(_) => {
                    open = open.saturating_sub(1);
                    continue;
                }
                Event::Start(start) | Event::Empty(start) => start,
                _ => continue,
            };
            open += u32::from(is_start);
            let line = line_at(reader.buffer_position());
            if outline.name().as_ref() != "outline" {
                continue;
            }
            match url_and_name(&outline) {
                Ok((Some(url), name)) => self.take(line, name, &url),
                // An outline without a URL is a heading.
                Ok((None, _)) => {}
                Err(what) => self.faults.push(wrong(line, what)),
            }
        }
    }

    fn take_rows(&mut self, text: &str) -> Result<(), FleetError> {
        // Spreadsheets may name the delimiter in a line of its own before the header.
        let (before, text) = match text.split_once('\n') {
            Some((first, rest)) if is_directive(first.trim_end()) => (1, rest),
            _ => (0, text),
        };
        let header = text.lines().find(|line| !line.is_empty()).unwrap_or_default();
        // Registries export tables with any of these delimiters.
        let delimiter =
            [b'\t', b';', b','].into_iter().find(|delimiter| header.contains(char::from(*delimiter)));
        // The reader reports where the row before ended, so line ends and empty lines before this row are skipped.
        let line_at = |place: Option<&csv::Position>| {
            let Some(place) = place else { return 1 };
            let rest = text.bytes().skip(usize::try_from(place.byte()).unwrap_or(usize::MAX));
            let ends = rest.take_while(|byte| matches!(byte, b'\r' | b'\n')).filter(|byte| *byte == b'\n');
            before + place.line() + ends.count() as u64
        };
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(delimiter.unwrap_or(b','))
            .flexible(true)
            .from_reader(text.as_bytes());
        let headers = reader.headers().map_err(|error| wrong(1, error))?.clone();
        let column = |names: &[&str]| {
            let place =
                |name: &&str| headers.iter().position(|header| header.trim().eq_ignore_ascii_case(name));
            names.iter().find_map(place)
        };
        let url = column(&URL_COLUMNS)
            .ok_or_else(|| wrong(1, format!("no column has a name for URLs: {}", URL_COLUMNS.join(", "))))?;
        let name = column(&NAME_COLUMNS);
        for row in reader.records() {
            let row = match row {
                Ok(row) => row,
                Err(error) => {
                    self.faults.push(wrong(line_at(error.position()), &error));
                    continue;
                }
            };
            let line = line_at(row.position());
            let field = |place: usize| row.get(place).unwrap_or_default().trim();
            let names = [Some(url), name].into_iter().flatten();
            if names.map(field).any(|value| value.contains('\n')) || row.iter().any(has_swallowed_rows) {
                let what = "a quoted value goes on over further rows, which are left out: close its quote";
                self.faults.push(wrong(line, what));
                continue;
            }
            if !field(url).is_empty() {
                self.take(line, name.map(|name| field(name).to_owned()), field(url));
            } else if row.iter().any(|field| !field.trim().is_empty()) {
                self.without_url += 1;
            }
        }
        Ok(())
    }
}

/// The lines of a text up to a place in it that only moves on: each byte is counted once.
struct LineCount<'t> {
    text: &'t str,
    line: u64,
    counted: usize,
}

impl LineCount<'_> {
    /// Returns the line of a place, which is not before the last one.
    fn at(&mut self, position: u64) -> u64 {
        let end = usize::try_from(position).unwrap_or(usize::MAX).min(self.text.len());
        let passed = self.text.as_bytes().get(self.counted..end).unwrap_or_default();
        self.line += passed.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.counted = self.counted.max(end);
        self.line
    }
}

/// Returns `true` for a value in which further rows seem to be: a quote before it was not closed.
fn has_swallowed_rows(value: &str) -> bool {
    let lines = value.lines().skip(1).map(|line| line.trim_start_matches([' ', '"']));
    lines.into_iter().any(|line| line.starts_with("http://") || line.starts_with("https://"))
}

/// Returns `true` for a line such as `sep=;`.
fn is_directive(line: &str) -> bool {
    line.len() == 5 && line.get(..4).is_some_and(|name| name.eq_ignore_ascii_case("sep="))
}

/// Returns the URL and the name of an outline.
///
/// Errors: an attribute cannot be read.
fn url_and_name(outline: &BytesStart<'_>) -> Result<(Option<String>, Option<String>), String> {
    let (mut urls, mut names): ([Option<String>; 3], [Option<String>; 2]) = Default::default();
    for attribute in outline.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        let value = attribute.normalized_value(XmlVersion::Implicit1_0).map_err(|error| error.to_string())?;
        let value = value.trim().to_owned();
        match attribute.key.as_ref() {
            "xmlUrl" => urls[0] = Some(value),
            "url" => urls[1] = Some(value),
            "htmlUrl" => urls[2] = Some(value),
            "text" => names[0] = Some(value),
            "title" => names[1] = Some(value),
            _ => {}
        }
    }
    let url = urls.into_iter().flatten().find(|url| !url.is_empty());
    Ok((url, names.into_iter().flatten().next()))
}

#[cfg(test)]
mod tests;
