//! Writes the documents that changed, and keeps account of all that are in place.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    io::Write,
};

use resourcesync::{
    DateTime, DocumentReader, DocumentWriter, Entry, Header, ReadOptions, WriteError, WriteOptions,
};

use super::{
    fit::{Fitting, Omissions},
    place::ROBOTS,
};
use crate::{
    Error,
    records::{ArchiveSummary, ArchivedDocuments, Moment, PublishedDocument, PublishedSource},
    sink::{Rank, Sink},
};

/// Reads the documents in the archives of a set.
pub(crate) type ReadArchive<'a> = &'a mut dyn FnMut(&str) -> Result<ArchivedDocuments, Error>;

/// The documents of one publication: those written, and those unchanged.
pub(super) struct RenderedDocuments<'a> {
    sink: &'a mut dyn Sink,
    read_archive: ReadArchive<'a>,
    held: &'a PublishedSource,
    /// Every document that is in place after the publication.
    next: BTreeMap<String, PublishedDocument>,
    /// Documents that belong to an archive from now on, or until now.
    archived: BTreeSet<String>,
    dropped: Vec<String>,
    archives: BTreeMap<String, ArchivedDocuments>,
    omissions: &'a mut Omissions,
    /// Writes documents even if they are in place: after an interruption they may be wrong.
    repair: bool,
    /// The first fault that hid whether a document is in place: nothing may be concluded from its absence.
    fault: RefCell<Option<Error>>,
}

impl<'a> RenderedDocuments<'a> {
    pub(super) fn new(
        sink: &'a mut dyn Sink,
        held: &'a PublishedSource,
        read_archive: ReadArchive<'a>,
        omissions: &'a mut Omissions,
        repair: bool,
    ) -> Self {
        Self {
            sink,
            read_archive,
            held,
            next: BTreeMap::new(),
            archived: BTreeSet::new(),
            dropped: Vec::new(),
            archives: BTreeMap::new(),
            omissions,
            repair,
            fault: RefCell::default(),
        }
    }

    /// Returns `true` if the sink has a document of this length. After a fault nothing is published.
    fn holds(&self, name: &str, length: u64) -> bool {
        self.sink.holds(name, length).unwrap_or_else(|fault| {
            self.fault.borrow_mut().get_or_insert(fault);
            false
        })
    }

    /// Reads the documents in the archives of a set before this publication.
    pub(super) fn archive(&mut self, set: &str) -> Result<ArchivedDocuments, Error> {
        match self.held.archives.get(set) {
            Some(interrupted) => Ok(interrupted.clone()),
            None => (self.read_archive)(set),
        }
    }

    /// Sets the documents of the archives from now on; documents that they no longer keep are removed.
    pub(super) fn keep_archive(&mut self, set: &str, before: &[String], archived: ArchivedDocuments) {
        let gone = before.iter().filter(|name| !archived.documents.contains_key(*name));
        self.dropped.extend(gone.cloned());
        self.archives.insert(set.to_owned(), archived);
    }

    /// Ends the archives of a set that should have none.
    pub(super) fn drop_archive(&mut self, set: &str, held: &ArchiveSummary) -> Result<(), Error> {
        if *held != ArchiveSummary::default() {
            let names: Vec<_> = self.archive(set)?.documents.into_keys().collect();
            self.keep_archive(set, &names, ArchivedDocuments::default());
        }
        Ok(())
    }

    /// Moves a document to the archives, or keeps it there, and returns its record; `None` if it has none.
    pub(super) fn take_over(&mut self, name: &str, kept: &ArchivedDocuments) -> Option<PublishedDocument> {
        let held = self.held;
        let known = || held.documents.get(name).or_else(|| kept.documents.get(name)).cloned();
        let fact = self.next.remove(name).or_else(known)?;
        self.archived.insert(name.to_owned());
        Some(fact)
    }

    /// Returns `true` if the last publication was interrupted and this one repairs it.
    pub(super) fn repairs(&self) -> bool {
        self.repair
    }

    /// Returns `true` unless a recorded document is missing or has another length.
    pub(super) fn is_in_place(&self, name: &str, recorded: &BTreeMap<String, PublishedDocument>) -> bool {
        recorded.get(name).is_none_or(|fact| self.holds(name, fact.length))
    }

    /// Returns `true` if a document that never changes is in place for the archive that keeps it.
    pub(super) fn is_kept(&self, name: &str, kept: &ArchivedDocuments) -> bool {
        kept.documents.get(name).is_some_and(|fact| self.holds(name, fact.length))
    }

    /// Keeps a document as it is. Returns `false` if it is missing or another one, so that it has to be written.
    pub(super) fn keep(&mut self, name: &str) -> bool {
        let held = self.held.documents.get(name);
        let held = held.filter(|fact| !self.repair && self.holds(name, fact.length));
        if let Some(fact) = held {
            self.next.insert(name.to_owned(), fact.clone());
        }
        held.is_some()
    }

    /// Returns `true` if the last publication put a document in place.
    pub(super) fn was_in_place(&self, name: &str) -> bool {
        self.held.documents.contains_key(name)
    }

    /// Returns `true` if the last publication put all of these documents in place, and they still are.
    pub(super) fn are_in_place(&self, names: &[String]) -> bool {
        let fact = |name: &String| self.held.documents.get(name);
        names.iter().all(|name| fact(name).is_some_and(|fact| self.holds(name, fact.length)))
    }

    /// Keeps the former bytes of a document under another name; `false` if they are missing.
    pub(super) fn preserve(&mut self, name: &str, under: &str) -> Result<bool, Error> {
        let Some(length) = self.sink.preserve(name, under)? else { return Ok(false) };
        self.next.insert(under.to_owned(), PublishedDocument { length, digest: None });
        Ok(true)
    }

    /// Keeps all of these documents, or none. Their names are never used for other bytes, so it is enough that they exist.
    pub(super) fn keep_immutable(&mut self, names: &[String]) -> bool {
        let held = self.held;
        let known_fact =
            |name: &String| held.documents.get(name).filter(|fact| self.holds(name, fact.length));
        let known: Option<Vec<_>> = names.iter().map(known_fact).collect();
        let kept = known.is_some();
        let named = names.iter().cloned().zip(known.unwrap_or_default().into_iter().cloned());
        self.next.extend(named);
        kept
    }

    /// Keeps all of these documents, or none.
    pub(super) fn keep_all(&mut self, names: &[String]) -> bool {
        let kept = names.iter().all(|name| self.keep(name));
        if !kept {
            names.iter().for_each(|name| drop(self.next.remove(name)));
        }
        kept
    }

    /// Writes a document entry by entry; `entries` returns when no more entries fit or follow.
    pub(super) fn stream(
        &mut self,
        name: &str,
        rank: Rank,
        header: &Header,
        options: &WriteOptions,
        entries: &mut dyn FnMut(&mut DocumentPage<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let omissions = &mut *self.omissions;
        let length = self.sink.write(name, rank, &mut |sink| {
            let failed = failed(name);
            let writer = DocumentWriter::new(sink, header, options.clone()).map_err(failed)?;
            let fitting = Fitting::new(header, options);
            let mut page =
                DocumentPage { name: name.to_owned(), writer, fitting, omissions: std::mem::take(omissions) };
            entries(&mut page)?;
            *omissions = page.omissions;
            page.writer.finish().map_err(failed).map(drop)
        })?;
        self.next.insert(name.to_owned(), PublishedDocument { length, digest: None });
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
        if self.held.documents.get(name).is_some_and(|fact| fact.digest == digest) && self.keep(name) {
            return Ok(());
        }
        let length = self.sink.write(name, rank, &mut |sink| {
            sink.write_all(bytes).map_err(|error| failed(name)(error.into()))
        })?;
        self.next.insert(name.to_owned(), PublishedDocument { length, digest });
        Ok(())
    }

    /// Returns the bytes of a document in place.
    pub(super) fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Error> {
        self.sink.read(name)
    }

    /// Returns the time of the snapshot that a document in place states; `None` if it states none or cannot be read.
    pub(super) fn stated_time(&self, name: &str) -> Result<Option<DateTime>, Error> {
        let Some(bytes) = self.sink.read(name)? else { return Ok(None) };
        let reader = DocumentReader::new(&bytes[..], ReadOptions::new());
        Ok(reader.ok().and_then(|reader| reader.header().metadata.as_ref()?.at))
    }

    /// Returns the record of the published documents: those in place after the publication, those that are no longer
    /// referenced, and the archives that have changed.
    ///
    /// # Errors
    /// If a fault hid whether a document is in place.
    pub(super) fn finish(self, now: DateTime) -> Result<PublishedSource, Error> {
        if let Some(fault) = self.fault.into_inner() {
            return Err(fault);
        }
        let held = self.held;
        // `robots.txt` is never removed, because it may have lines of the operator.
        let ours = |name: &&String| *name != ROBOTS && !self.archived.contains(*name);
        let gone = held.documents.keys().filter(|name| !self.next.contains_key(*name)).filter(ours);
        let mut retired = held.retired.clone();
        retired.extend(gone.chain(&self.dropped).map(|name| (name.clone(), Moment(now))));
        retired.retain(|name, _| !self.next.contains_key(name) && !self.archived.contains(name));
        Ok(PublishedSource {
            documents: self.next,
            retired,
            archives: self.archives,
            ..PublishedSource::default()
        })
    }
}

/// A document while its entries are written.
pub(super) struct DocumentPage<'a> {
    name: String,
    writer: DocumentWriter<&'a mut dyn Write>,
    fitting: Fitting,
    omissions: Omissions,
}

impl DocumentPage<'_> {
    /// Writes an entry, or the parts of it that a document can express.
    pub(super) fn write(&mut self, entry: &Entry) -> Result<(), Error> {
        let omission = self.fitting.write(&mut self.writer, entry).map_err(failed(&self.name))?;
        omission.into_iter().for_each(|omission| self.omissions.add(omission));
        Ok(())
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
