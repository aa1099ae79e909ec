use std::{collections::BTreeMap, io::Write};

use resourcesync::{DateTime, DocumentWriter, Entry, Header, WriteError, WriteOptions};

use super::{
    facts::{DocumentFact, Facts, Moment},
    robots,
};
use crate::{
    Error,
    sink::{Rank, Sink},
};

/// The documents of one publication: what is written, and what stays as it is.
pub(super) struct Documents<'a> {
    sink: &'a mut dyn Sink,
    held: &'a BTreeMap<String, DocumentFact>,
    /// Every document that is in place after the publication.
    next: BTreeMap<String, DocumentFact>,
    /// Whether documents are written although they were in place: after an interruption nothing is taken for granted.
    repair: bool,
}

impl<'a> Documents<'a> {
    pub(super) fn new(sink: &'a mut dyn Sink, held: &'a Facts, repair: bool) -> Self {
        Self { sink, held: &held.documents, next: BTreeMap::new(), repair }
    }

    /// Lets a document stay; false when it is not there as it should be, and has to be written.
    pub(super) fn keep(&mut self, name: &str) -> bool {
        let held = self.held.get(name).filter(|fact| !self.repair && self.sink.holds(name, fact.length));
        if let Some(fact) = held {
            self.next.insert(name.to_owned(), fact.clone());
        }
        held.is_some()
    }

    /// Lets a document stay of which nobody looks whether it is there.
    pub(super) fn retain(&mut self, name: &str) {
        if let Some(fact) = self.held.get(name).filter(|_| !self.next.contains_key(name)) {
            self.next.insert(name.to_owned(), fact.clone());
        }
    }

    /// Lets the bytes that a document has had until now stay under another name; false where they are not there.
    pub(super) fn preserve(&mut self, name: &str, under: &str) -> Result<bool, Error> {
        let Some(length) = self.sink.preserve(name, under)? else { return Ok(false) };
        self.next.insert(under.to_owned(), DocumentFact { length, digest: None });
        Ok(true)
    }

    /// Lets all of these stay, or none; they are named so that no other bytes ever have their names.
    pub(super) fn keep_immutable(&mut self, names: &[String]) -> bool {
        let fact = |name: &String| self.held.get(name).filter(|fact| self.sink.holds(name, fact.length));
        let facts: Option<Vec<_>> = names.iter().map(fact).collect();
        let kept = facts.is_some();
        let named = names.iter().cloned().zip(facts.unwrap_or_default().into_iter().cloned());
        self.next.extend(named);
        kept
    }

    /// Lets all of these documents stay, or none.
    pub(super) fn keep_all(&mut self, names: &[String]) -> bool {
        let kept = names.iter().all(|name| self.keep(name));
        if !kept {
            names.iter().for_each(|name| drop(self.next.remove(name)));
        }
        kept
    }

    /// Writes a document entry by entry; `entries` says when nothing more fits or follows.
    pub(super) fn stream(
        &mut self,
        name: &str,
        rank: Rank,
        header: &Header,
        options: &WriteOptions,
        entries: &mut dyn FnMut(&mut Page<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let length = self.sink.write(name, rank, &mut |sink| {
            let failed = failed(name);
            let writer = DocumentWriter::new(sink, header, options.clone()).map_err(failed)?;
            let mut page = Page { name: name.to_owned(), writer };
            entries(&mut page)?;
            page.writer.finish().map_err(failed).map(drop)
        })?;
        self.next.insert(name.to_owned(), DocumentFact { length, digest: None });
        Ok(())
    }

    /// Writes a small document unless it is in place with the same bytes.
    pub(super) fn small(
        &mut self,
        name: &str,
        rank: Rank,
        header: &Header,
        options: &WriteOptions,
        entries: &[Entry],
    ) -> Result<(), Error> {
        let document = || -> Result<Vec<u8>, WriteError> {
            let mut writer = DocumentWriter::new(Vec::new(), header, options.clone())?;
            entries.iter().try_for_each(|entry| writer.write_entry(entry))?;
            writer.finish()
        };
        let bytes = document().map_err(failed(name))?;
        self.bytes(name, rank, &bytes)
    }

    /// Writes these bytes unless they are in place.
    pub(super) fn bytes(&mut self, name: &str, rank: Rank, bytes: &[u8]) -> Result<(), Error> {
        let digest = Some(blake3::hash(bytes).to_hex().to_string());
        if self.held.get(name).is_some_and(|fact| fact.digest == digest) && self.keep(name) {
            return Ok(());
        }
        let length = self.sink.write(name, rank, &mut |sink| {
            sink.write_all(bytes).map_err(|error| failed(name)(error.into()))
        })?;
        self.next.insert(name.to_owned(), DocumentFact { length, digest });
        Ok(())
    }

    /// The bytes of a document in place.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.sink.read(name)
    }

    /// What is in place after the publication, and what is not referred to any more.
    pub(super) fn finish(
        self,
        held: &Facts,
        now: DateTime,
    ) -> (BTreeMap<String, DocumentFact>, BTreeMap<String, Moment>) {
        // Not ours to take away: the operator's own lines are in it.
        let ours = |name: &&String| *name != robots::NAME;
        let gone = held.documents.keys().filter(ours).filter(|name| !self.next.contains_key(*name));
        let mut retired = held.retired.clone();
        retired.extend(gone.map(|name| (name.clone(), Moment(now))));
        retired.retain(|name, _| !self.next.contains_key(name));
        (self.next, retired)
    }
}

/// A document while its entries are written.
pub(super) struct Page<'a> {
    name: String,
    writer: DocumentWriter<&'a mut dyn Write>,
}

impl Page<'_> {
    pub(super) fn write(&mut self, entry: &Entry) -> Result<(), Error> {
        self.writer.write_entry(entry).map_err(failed(&self.name))
    }

    pub(super) fn entries(&self) -> u64 {
        self.writer.entries_written()
    }

    pub(super) fn bytes(&self) -> u64 {
        self.writer.bytes_written()
    }
}

fn failed(name: &str) -> impl Fn(WriteError) -> Error + Copy + '_ {
    move |source| Error::Document { name: name.to_owned(), source }
}
