//! Lists of Sources as others keep them: URLs, OPML, CSV. PURE.

use std::str::FromStr;

use quick_xml::{Reader, XmlVersion, events::Event};

use crate::FleetError;

/// The form of a list of Sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// One URL a line; empty lines and those that begin with `#` are passed over.
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
            _ => Err(format!("One of {}", Self::NAMES.join(", "))),
        }
    }
}

/// A Source of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportedSource {
    /// The line that it comes from.
    pub line: u64,
    /// Its name as the list has it.
    pub name: Option<String>,
    /// Its URL.
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

/// Reads a list of Sources. A URL that is listed twice comes once.
///
/// ```
/// use instep_fleet::{ImportFormat, import};
///
/// let sources = import("# ours\nhttps://a.example/\n\nhttps://b.example/\n", ImportFormat::List)?;
/// assert_eq!((sources[1].line, sources[1].url.as_str()), (4, "https://b.example/"));
/// # Ok::<(), instep_fleet::FleetError>(())
/// ```
///
/// # Errors
/// [`FleetError::Import`] with the first line that cannot be read.
pub fn import(text: &str, format: ImportFormat) -> Result<Vec<ImportedSource>, FleetError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut found = match format {
        ImportFormat::List => list(text)?,
        ImportFormat::Opml => opml(text)?,
        ImportFormat::Csv => csv_rows(text)?,
    };
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|source| seen.insert(source.url.clone()));
    Ok(found)
}

fn wrong(line: u64, what: impl ToString) -> FleetError {
    FleetError::Import { line, what: what.to_string() }
}

fn checked(line: u64, name: Option<String>, url: &str) -> Result<ImportedSource, FleetError> {
    instep_destination::Origin::parse(url)
        .map_err(|error| wrong(line, format!("{url:?} is not a URL of a Source: {error}")))?;
    Ok(ImportedSource { line, name: name.filter(|name| !name.is_empty()), url: url.to_owned() })
}

fn list(text: &str) -> Result<Vec<ImportedSource>, FleetError> {
    let lines = text.lines().enumerate().map(|(index, line)| (index as u64 + 1, line.trim()));
    let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    lines.map(|(number, line)| checked(number, None, line)).collect()
}

fn opml(text: &str) -> Result<Vec<ImportedSource>, FleetError> {
    let mut reader = Reader::from_str(text);
    let line_at = |position: u64| {
        let end = usize::try_from(position).unwrap_or(usize::MAX).min(text.len());
        text.as_bytes()[..end].iter().filter(|byte| **byte == b'\n').count() as u64 + 1
    };
    let mut found = Vec::new();
    loop {
        let before = reader.buffer_position();
        let event = reader.read_event().map_err(|error| wrong(line_at(before), error))?;
        let outline = match event {
            Event::Eof => return Ok(found),
            Event::Start(start) | Event::Empty(start) if start.name().as_ref() == "outline" => start,
            _ => continue,
        };
        let line = line_at(reader.buffer_position());
        let (mut urls, mut names): ([Option<String>; 3], [Option<String>; 2]) = Default::default();
        for attribute in outline.attributes() {
            let attribute = attribute.map_err(|error| wrong(line, error))?;
            let value = attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|error| wrong(line, error))?
                .trim()
                .to_owned();
            match attribute.key.as_ref() {
                "xmlUrl" => urls[0] = Some(value),
                "url" => urls[1] = Some(value),
                "htmlUrl" => urls[2] = Some(value),
                "text" => names[0] = Some(value),
                "title" => names[1] = Some(value),
                _ => {}
            }
        }
        // An outline without a URL is a heading.
        if let Some(url) = urls.into_iter().flatten().find(|url| !url.is_empty()) {
            found.push(checked(line, names.into_iter().flatten().next(), &url)?);
        }
    }
}

fn csv_rows(text: &str) -> Result<Vec<ImportedSource>, FleetError> {
    let header = text.lines().next().unwrap_or_default();
    // Registries export with any of these.
    let delimiter = [b'\t', b';', b','].into_iter().find(|delimiter| header.contains(char::from(*delimiter)));
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter.unwrap_or(b','))
        .flexible(true)
        .from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| wrong(1, error))?.clone();
    let column = |names: &[&str]| {
        let place = |name: &&str| headers.iter().position(|header| header.trim().eq_ignore_ascii_case(name));
        names.iter().find_map(place)
    };
    let url = column(&URL_COLUMNS)
        .ok_or_else(|| wrong(1, format!("no column has a name for URLs: {}", URL_COLUMNS.join(", "))))?;
    let name = column(&NAME_COLUMNS);
    let mut found = Vec::new();
    for row in reader.records() {
        let row = row.map_err(|error| wrong(error.position().map_or(1, csv::Position::line), &error))?;
        let line = row.position().map_or(1, csv::Position::line);
        let field = |place: usize| row.get(place).unwrap_or_default().trim();
        if !field(url).is_empty() {
            found.push(checked(line, name.map(|name| field(name).to_owned()), field(url))?);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, format: ImportFormat) -> Vec<(Option<String>, String)> {
        import(text, format).unwrap().into_iter().map(|source| (source.name, source.url)).collect()
    }

    #[test]
    fn sources_are_read_from_each_form() {
        let (a, b) = ("https://a.example/?x=1&y=2".to_owned(), "http://b.example/rs".to_owned());
        let named = vec![(Some("A & B".to_owned()), a.clone()), (None, b.clone())];
        let opml = "<?xml version='1.0'?>\n<opml><body><outline text='A folder'>\n\
            <outline title='other' text='A &amp; B' xmlUrl='https://a.example/?x=1&amp;y=2' htmlUrl='https://no.example/'/>\n\
            <outline url='http://b.example/rs'/></outline></body></opml>";
        assert_eq!(read(opml, ImportFormat::Opml), named);
        let csv =
            "\u{feff}Name;Country;URL\nA & B;de;https://a.example/?x=1&y=2\n;;\n;fr;http://b.example/rs\n";
        assert_eq!(read(csv, ImportFormat::Csv), named);
        let csv = "baseURL,name\n\"https://a.example/?x=1&y=2\",\"A & B\"\nhttp://b.example/rs\n";
        assert_eq!(read(csv, ImportFormat::Csv), named);
        let list = format!("{a}\r\n# no\n\n  {b}  \n{a}\n");
        assert_eq!(read(&list, ImportFormat::List), [(None, a), (None, b)], "and each once");
    }

    #[test]
    fn a_list_that_cannot_be_read_names_the_line() {
        let wrong = [
            ("https://a.example/\nnonsense\n", ImportFormat::List, 2),
            ("<opml>\n<outline xmlUrl='ftp://a.example/'/></opml>", ImportFormat::Opml, 2),
            ("<opml>\n<body></opml>", ImportFormat::Opml, 2),
            ("name,country\na,b\n", ImportFormat::Csv, 1),
            ("url\nhttps://a.example/\nmailto:x@a.example\n", ImportFormat::Csv, 3),
        ];
        for (text, format, at) in wrong {
            let Err(FleetError::Import { line, .. }) = import(text, format) else { panic!("{text}") };
            assert_eq!(line, at, "{text}");
        }
    }

    #[test]
    fn the_form_shows_in_name_or_text() {
        assert_eq!(ImportFormat::of("registry.CSV", ""), ImportFormat::Csv);
        assert_eq!(ImportFormat::of("sources.txt", "https://a.example/"), ImportFormat::List);
        assert_eq!(ImportFormat::of("-", " <?xml version='1.0'?>"), ImportFormat::Opml);
    }
}
