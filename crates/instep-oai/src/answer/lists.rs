//! Lists of records, part by part.

use instep_source::{catalogue::Snapshot, serve::SourceView};

use super::{
    about::about_containers,
    arguments::{Begin, OaiFault, RecordSelection},
    dublin_core::{dublin_core, generated_format},
    error::AnswerError,
    format::RecordFormat,
    index::{IndexedRecord, RepositoryIndex},
    item::{self, metadata, unless_failing},
    token::ListToken,
    xml::ResponseWriter,
};
use crate::datestamp::Granularity;

/// Bytes after which a part ends, before all of its records are in it.
const MOST_BYTES: usize = 16 << 20;

/// Answers from the index and the files of a Source.
pub(super) struct Answers<'a> {
    pub(super) view: &'a SourceView,
    pub(super) index: &'a RepositoryIndex,
    pub(super) snapshot: &'a Snapshot,
    /// Records in a part.
    pub(super) part: usize,
}

impl Answers<'_> {
    /// Writes a part of a list.
    pub(super) fn list(
        &self,
        with_metadata: bool,
        begin: Begin,
    ) -> Result<Result<ResponseWriter, OaiFault>, AnswerError> {
        let (selection, mut after, cursor, size) = match begin {
            Begin::First(selection) => {
                if let Some(fault) = self.fault_of(&selection)? {
                    return Ok(Err(fault));
                }
                let size = self.index.count(&selection)?;
                let after = (selection.from.map_or(i64::MIN, |from| from.saturating_sub(1)), i64::MAX);
                (selection, after, 0, size)
            }
            Begin::Token(token) => {
                let ListToken { format, set, from, until, after, cursor, size, .. } = token;
                (RecordSelection { format, set, from, until }, after, cursor, size)
            }
        };
        let verb = if with_metadata { "ListRecords" } else { "ListIdentifiers" };
        let mut writer = ResponseWriter::default();
        writer.open(verb);
        let (mut written, mut has_more) = (0, true);
        while has_more && written < self.part && writer.len() < MOST_BYTES {
            let wanted = self.part - written;
            let mut records = self.index.list(&selection, after, wanted + 1)?;
            has_more = records.len() > wanted;
            records.truncate(wanted);
            let mut records = records.into_iter();
            for record in records.by_ref() {
                after = (record.datestamp, record.number);
                written += usize::from(self.record(&mut writer, &record, with_metadata)?);
                if writer.len() >= MOST_BYTES {
                    break;
                }
            }
            has_more |= records.next().is_some();
        }
        if written == 0 {
            return Ok(Err(OaiFault::new("noRecordsMatch", "No record matches the request")));
        }
        let next = cursor + written as u64;
        if has_more {
            // Records that changed since the list began are in it a second time, so it may become longer than was stated.
            let size = size.max(next + 1);
            let RecordSelection { format, set, from, until } = selection;
            let token = ListToken { with_metadata, format, set, from, until, after, cursor: next, size };
            writer.token(Some(&token.write(&self.index.key)), cursor, size);
        } else if cursor > 0 {
            // This is the last part, so the number of records in the list is known now.
            writer.token(None, cursor, next);
        }
        writer.close(verb);
        Ok(Ok(writer))
    }

    /// Returns the formats of all records. Each repository has Dublin Core, also one that has no record yet.
    pub(super) fn all_formats(&self) -> rusqlite::Result<Vec<RecordFormat>> {
        let mut formats = self.index.formats(None)?;
        if formats.is_empty() {
            formats.push(generated_format());
        }
        Ok(formats)
    }

    fn fault_of(&self, selection: &RecordSelection) -> Result<Option<OaiFault>, AnswerError> {
        let formats = self.all_formats()?;
        if !formats.iter().any(|format| format.prefix == selection.format) {
            let message = format!("There are no records in the format {:?}", selection.format);
            return Ok(Some(OaiFault::new("cannotDisseminateFormat", message)));
        }
        Ok(match &selection.set {
            Some(_) if self.index.sets()?.is_empty() => {
                Some(OaiFault::new("noSetHierarchy", "This repository has no sets"))
            }
            _ => None,
        })
    }

    /// Writes a record, or its header; returns `false` if its file is gone, so that it is left out.
    pub(super) fn record(
        &self,
        writer: &mut ResponseWriter,
        record: &IndexedRecord,
        with_metadata: bool,
    ) -> Result<bool, AnswerError> {
        let datestamp = Granularity::Second.write(record.datestamp);
        let begin = writer.len();
        let header = |writer: &mut ResponseWriter| {
            writer.header(&record.identifier, &datestamp, &record.sets(), record.is_deleted);
        };
        if !with_metadata {
            header(writer);
            return Ok(true);
        }
        writer.open("record");
        header(writer);
        if !record.is_deleted {
            let Some((element, about)) = self.content(record)? else {
                tracing::warn!(uri = record.uri, "cannot be read, and is left out of a list of records");
                writer.truncate(begin);
                return Ok(false);
            };
            writer.open("metadata");
            writer.raw(&element);
            writer.close("metadata");
            if let Some(about) = about {
                writer.raw(&about);
            }
        }
        writer.close("record");
        Ok(true)
    }

    /// Returns the metadata of a record and its `about` containers; `None` if its file is gone, or is no metadata any more.
    fn content(&self, record: &IndexedRecord) -> Result<Option<(String, Option<String>)>, AnswerError> {
        let Some(resource) = self.view.resource(self.snapshot, &record.uri)? else { return Ok(None) };
        if record.is_generated {
            let date = resource.state.lastmod.or(resource.history.since);
            return Ok(Some((dublin_core(&record.uri, date, resource.state.media_type.as_ref()), None)));
        }
        let fault = |source| AnswerError::Fault { uri: record.uri.clone(), source };
        let read = unless_failing(metadata(self.view, &resource)).map_err(fault)?;
        let Some((text, document)) = read else { return Ok(None) };
        let about = match &record.about {
            Some(uri) => self.view.resource(self.snapshot, uri)?,
            None => None,
        };
        let about = match about {
            Some(about) => unless_failing(item::text(self.view, &about)).map_err(fault)?,
            None => None,
        };
        let about = about.as_deref().and_then(about_containers).map(str::to_owned);
        Ok(Some((text[document.root].to_owned(), about)))
    }
}
