//! `[[source]]` of `instep.toml`: definitions of Sources that `instep run` keeps current.

use std::{collections::BTreeMap, ops::Range, path::PathBuf};

use anyhow::{Result, anyhow};
use instep_destination::MaxDelete;
use instep_fleet::{Cadence, SourceDefinition, SourceName};
use serde::Deserialize;
use toml::Spanned;

use crate::{
    args::values,
    config::{Config, line},
};

/// The part of the file that is read here; other tables are ignored.
#[derive(Debug, Deserialize)]
struct SourceTables {
    #[serde(default)]
    source: Vec<Spanned<SourceTable>>,
}

/// A `[[source]]` table. Values whose faults are reported have their place in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SourceTable {
    name: Spanned<String>,
    url: Spanned<String>,
    into: Option<Spanned<String>>,
    every: Option<Spanned<String>>,
    at: Option<Spanned<OneOrMore>>,
    #[serde(default)]
    follow: bool,
    #[serde(default)]
    delete: bool,
    max_delete: Option<Spanned<CountOrShare>>,
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    exclude: Vec<String>,
    #[serde(default)]
    allow_origin: Vec<String>,
    bearer_file: Option<PathBuf>,
    netrc_file: Option<PathBuf>,
    priority: Option<Spanned<Rank>>,
    #[serde(default)]
    approve: bool,
}

/// The value of `priority`. It is an enum so that serde reports a wrong value with the text of `expecting`.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "priority: write a whole number from -128 to 127, such as 10")]
enum Rank {
    Steps(i8),
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "at: write a time of the day such as \"03:30\", or several in brackets")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "max-delete: write a number such as 500, or a share such as \"10%\"")]
enum CountOrShare {
    Count(u64),
    Share(String),
}

/// Reads the Sources of the configuration file.
///
/// Errors: a table with a missing, unknown or wrong key, or a name or folder that two tables have; with file and line.
pub(crate) fn configured(config: &Config) -> Result<Vec<SourceDefinition>> {
    if config.shared("source").is_none_or(|value| !value.is_array()) {
        return Ok(Vec::new());
    }
    let (path, text) = (config.path(), config.text());
    read(text).map_err(|(at, what)| anyhow!("{} line {}: {what}", path.display(), line(text, at)))
}

/// The byte at which a fault begins, and its description.
type TableFault = (usize, String);

fn read(text: &str) -> Result<Vec<SourceDefinition>, TableFault> {
    let tables: SourceTables = toml::from_str(text).map_err(|error| {
        let what = Config::what_to_write(error.message());
        (error.span().map_or(0, |span| span.start), format!("[[source]]: {what}"))
    })?;
    let mut definitions: Vec<SourceDefinition> = Vec::new();
    let (mut names, mut folders) = (BTreeMap::new(), BTreeMap::new());
    for table in tables.source {
        let (at, name_at) = (table.span(), table.get_ref().name.span());
        let definition = definition(table.into_inner())?;
        let (name, folder) = (definition.name.clone(), definition.folder());
        if let Some(first) = names.insert(name.clone(), name_at.clone()) {
            return Err((name_at.start, twice(text, &first, &format!("the name {name}"))));
        }
        if let Some(first) = folders.insert(folder.clone(), at.clone()) {
            return Err((at.start, twice(text, &first, &format!("the folder {}", folder.display()))));
        }
        definition.check().map_err(|error| (at.start, error.to_string()))?;
        definitions.push(definition);
    }
    Ok(definitions)
}

fn twice(text: &str, first: &Range<usize>, what: &str) -> String {
    format!("two Sources have {what}; the first is in line {}", line(text, first.start))
}

fn definition(table: SourceTable) -> Result<SourceDefinition, TableFault> {
    let name_at = table.name.span().start;
    let name: SourceName =
        table.name.into_inner().parse().map_err(|error| (name_at, format!("name: {error}")))?;
    let url_at = table.url.span().start;
    let url = values::url(table.url.get_ref()).map_err(|error| (url_at, format!("url: {error}")))?;
    let mut definition = SourceDefinition::new(name, url.into_string());
    let folder = |into: Spanned<String>| {
        values::path(into.get_ref()).map_err(|error| (into.span().start, format!("into: {error}")))
    };
    definition.into = table.into.map(folder).transpose()?;
    definition.cadence = match (table.every, table.at) {
        (Some(every), Some(_)) => {
            return Err((every.span().start, "write every or at, not both".to_owned()));
        }
        (Some(every), None) => {
            let pause = values::duration(every.get_ref());
            let pause = pause.map_err(|error| (every.span().start, format!("every: {error}")))?;
            Cadence::Every { seconds: pause.as_secs() }
        }
        (None, Some(at)) => {
            let place = at.span().start;
            let times = match at.into_inner() {
                OneOrMore::One(time) => vec![time],
                OneOrMore::More(times) => times,
            };
            times_of_day(&times).map_err(|error| (place, format!("at: {error}")))?
        }
        (None, None) => Cadence::Adaptive,
    };
    (definition.follow, definition.delete) = (table.follow, table.delete);
    if let Some(limit) = table.max_delete {
        let text = match limit.get_ref() {
            CountOrShare::Count(count) => count.to_string(),
            CountOrShare::Share(share) => share.clone(),
        };
        text.parse::<MaxDelete>().map_err(|error| (limit.span().start, format!("max-delete: {error}")))?;
        definition.max_delete = Some(text);
    }
    (definition.include, definition.exclude) = (table.include, table.exclude);
    definition.allow_origins = table.allow_origin;
    (definition.bearer_file, definition.netrc_file) = (table.bearer_file, table.netrc_file);
    let Rank::Steps(priority) = table.priority.map_or(Rank::Steps(0), Spanned::into_inner);
    (definition.priority, definition.approve) = (priority, table.approve);
    Ok(definition)
}

/// Reads times of the day in UTC, such as `03:30`.
///
/// Errors: a text is not a time of the day; the message says what to write.
pub(crate) fn times_of_day(times: &[String]) -> Result<Cadence, String> {
    let minutes = times.iter().map(|time| {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let parts = time.split_once(':').and_then(|(hour, minute)| {
            let is_time = digits(hour) && digits(minute) && hour.len() <= 2 && minute.len() == 2;
            is_time.then_some((hour.parse().ok()?, minute.parse().ok()?))
        });
        match parts {
            Some((hour @ 0..24, minute @ 0..60)) => Ok(hour * 60 + minute),
            _ => Err(format!("{time:?} is not a time of the day; write 03:30")),
        }
    });
    Ok(Cadence::At { minutes: minutes.collect::<Result<Vec<u16>, String>>()? })
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsString, fs};

    use super::*;

    #[test]
    fn a_table_has_everything_that_the_commands_have() {
        let text = "[run]\nlisten = 'x'\n[[source]]\nname = 'letters'\nurl = 'example.org'\ninto = 'l'\nat = ['03:30', '15:00']\n\
            follow = true\ndelete = true\nmax-delete = 500\ninclude = ['*.pdf']\nexclude = ['a']\nallow-origin = ['https://b.example']\n\
            bearer-file = 'token'\nnetrc-file = 'netrc'\npriority = -2\napprove = true\n\
            [[source]]\nname = 'b'\nurl = 'https://b.example/'\nevery = '1h'\n";
        let read = read(text).unwrap();
        assert_eq!(read[0].url, "https://example.org/");
        assert_eq!(read[0].cadence, Cadence::At { minutes: vec![210, 900] });
        assert_eq!(read[0].max_delete.as_deref(), Some("500"));
        assert_eq!(
            (read[0].priority, read[0].approve, read[0].delete, read[0].follow),
            (-2, true, true, true)
        );
        assert_eq!(read[1].cadence, Cadence::Every { seconds: 3_600 });
    }

    #[test]
    fn o312_a_value_of_another_type_is_answered_with_what_can_be_written() {
        for (key, part) in [
            ("max-delete = -1", "max-delete: write a number such as 500"),
            ("max-delete = 1.5", "max-delete: write a number such as 500"),
            ("at = 3", "at: write a time of the day"),
        ] {
            let (_, what) =
                read(&format!("[[source]]\nname = 'a'\nurl = 'https://a.example/'\n{key}\n")).unwrap_err();
            assert!(what.contains(part), "{what}");
        }
    }

    #[test]
    fn o1045_a_value_of_another_kind_is_answered_with_what_to_write() {
        for (key, part) in [
            ("every = 5", "[[source]]: invalid type: integer `5`; write a text in quotes"),
            ("follow = 'yes'", "write true or false, without quotes"),
            ("include = '*.pdf'", "write an array such as [\"a\", \"b\"]"),
            ("bearer-file = 5", "write a path in quotes"),
        ] {
            let table = format!("[[source]]\nname = 'a'\nurl = 'https://a.example/'\n{key}\n");
            let (at, what) = read(&table).unwrap_err();
            assert!(what.contains(part), "{what}");
            assert_eq!(line(&table, at), 4);
        }
    }

    #[test]
    fn o663_a_url_is_refused_as_the_folder_of_a_copy() {
        let table = "[[source]]\nname = 'a'\nurl = 'https://a.example/'\ninto = 's3://bucket/a'\n";
        let (at, what) = read(table).unwrap_err();
        assert!(what.contains("into: \"s3://bucket/a\" is not a folder"), "{what}");
        assert_eq!(line(table, at), 4);
    }

    #[test]
    fn o370_a_priority_that_is_too_large_is_answered_with_its_limits() {
        for value in ["1000", "-129", "1.5", "'high'"] {
            let table = format!("[[source]]\nname = 'a'\nurl = 'https://a.example/'\npriority = {value}\n");
            let (at, what) = read(&table).unwrap_err();
            assert!(what.contains("priority: write a whole number from -128 to 127"), "{what}");
            assert!(table[at..].contains(value), "{value}");
        }
    }

    #[test]
    fn a_fault_is_one_line_with_its_place() {
        let wrong = [
            (
                "name = 'a'\nurl = 'https://a.example/'\n[[source]]\nname = 'a'\nurl = 'https://b.example/'",
                5,
                "the first is in line 2",
            ),
            (
                "name = 'a'\nurl = 'https://a.example/'\n[[source]]\nname = 'b'\ninto = 'a'\nurl = 'https://b.example/'",
                4,
                "the folder a",
            ),
            ("name = 'a'\nurl = 'ftp://a.example/'", 3, "only http and https"),
            ("name = 'a/b'\nurl = 'https://a.example/'", 2, "is not a name"),
            ("name = 'a'\nurl = 'https://a.example/'\nevry = '1h'", 4, "evry"),
            ("name = 'a'\nurl = 'https://a.example/'\nevery = 'often'", 4, "is not a duration"),
            ("name = 'a'\nurl = 'https://a.example/'\nat = '25:00'", 4, "is not a time"),
            ("name = 'a'\nurl = 'https://a.example/'\nat = '+3:30'", 4, "is not a time"),
            ("name = 'a'\nurl = 'https://a.example/'\nat = '3:5'", 4, "is not a time"),
            ("name = 'a'\nurl = 'https://a.example/'\nevery = '40000d'", 1, "at most 36500d"),
            ("name = 'a'\nurl = 'https://a.example/'\nmax-delete = '101%'", 4, "percentage"),
            ("url = 'https://a.example/'", 1, "name"),
        ];
        for (table, expected, part) in wrong {
            let text = format!("[[source]]\n{table}\n");
            let (at, what) = read(&text).unwrap_err();
            assert!(what.contains(part), "{what}");
            assert_eq!(line(&text, at), expected, "{text}: {what}");
        }
    }

    #[test]
    fn o186_the_sources_are_those_of_the_file_as_it_was_read_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("instep.toml");
        fs::write(&file, "[[source]]\nname = 'a'\nurl = 'https://a.example/'\n").unwrap();
        let argv = ["instep", "--config", file.to_str().unwrap(), "run"].map(OsString::from);
        let config = Config::find(&argv).unwrap();
        // A pipe that was read is empty, too.
        fs::write(&file, "").unwrap();
        assert_eq!(configured(&config).unwrap().len(), 1);
    }
}
