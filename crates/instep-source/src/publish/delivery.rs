//! Delivers the documents in place to object storage, in an order in which readers never see a broken reference.
//!
//! Each delivery is recorded before documents are put in place, and its record is removed once it is delivered: a
//! delivery that fails or is killed continues with the next publication.
//!
//! The order is: patches and parts that never change, other lists, indexes, Capability Lists, Source Description; then
//! removals, in the reverse order. A document that is in the folder is put, one that is not is removed. A later
//! publication is merged into what is left, so that the order holds across both. Our objects carry a mark of the
//! catalogue, which distinguishes them from other objects (C15).

mod lost;
mod steps;

use std::{
    cmp::Reverse,
    io,
    path::Path,
    time::{Duration, Instant},
};

use instep_objects::{Bucket, BucketError, NewObject, ObjectMark, ObjectPlace};
use instep_store::RootFolder;

use super::context::SourceContext;
use crate::{
    Error, PublishMonitor, PublishPhase, PublishProblem, PublishProgress,
    catalogue::NamedValue,
    records::{DeliveryStep, OUTBOX, Outbox, PublishedSource, UndeliveredDocument},
    render::{cache_control, is_immutable, media_type},
    sink::Rank,
};

/// The metadata by which a Source recognizes its objects.
const MARK: &str = "instep-source";

/// Documents that are delivered together if their order does not matter.
const GROUP: usize = 64;

/// The longest time for which a delivery is not recorded: a killed one delivers this much again.
const RECORDED_EVERY: Duration = Duration::from_secs(1);

impl SourceContext {
    /// Returns the record of these documents and removals to deliver, in the order in which they are put in place;
    /// `None` if nothing is ever delivered.
    pub(super) fn owing(
        &self,
        placed: &[(Rank, &str)],
        removed: &[String],
        before: &PublishedSource,
    ) -> Result<Option<NamedValue>, Error> {
        let Some(mut outbox) = OUTBOX.read(&self.catalogue)? else { return Ok(None) };
        match &self.options.deliver_to {
            Some(place) if outbox.place == place.to_string() => {
                let is_new = |name: &str| !before.documents.contains_key(name);
                let placed = placed.iter().map(|(rank, name)| steps::placed(*rank, name, is_new(name)));
                outbox.add(placed.chain(removed.iter().map(|name| steps::removed(name))).collect());
            }
            // The place of delivery has changed, so everything must be delivered there.
            _ => outbox.everything = true,
        }
        Ok(Some(OUTBOX.write(&outbox)))
    }

    /// Delivers the pending documents. Returns their number.
    ///
    /// # Errors
    /// If object storage fails, or has objects of others at the names of documents.
    pub(super) fn deliver(&self, monitor: &dyn PublishMonitor) -> Result<u64, Error> {
        let Some(place) = &self.options.deliver_to else { return Ok(0) };
        let mut outbox = self.outbox(place)?;
        monitor.phase(PublishPhase::Deliver);
        let lost = lost::documents(self.out(), place, &outbox)?;
        if !lost.is_empty() {
            let what = format!(
                "lacks {} of the documents that were delivered, or has them in another length; they are delivered again",
                lost.len()
            );
            monitor.problem(&PublishProblem::warning(place.to_string(), what));
            outbox.add(lost);
            self.keep_outbox(&outbox)?;
        }
        if outbox.documents.is_empty() {
            return Ok(0);
        }
        let total = outbox.documents.len();
        let mut delivery = PlannedDelivery::new(outbox, self.out())?;
        let delivered = delivery.run(self, place, monitor);
        self.keep_outbox(&delivery.outbox())?;
        delivered.map(|()| total as u64).map_err(|failure| match failure {
            DeliveryFailure::Storage(what) => {
                let delivered = total - delivery.len();
                Error::Delivery { place: place.to_string(), delivered, total, what }
            }
            DeliveryFailure::Other(error) => error,
        })
    }

    /// Returns the documents to deliver to a place. For a place that is new or unknown, these are all documents of
    /// the folder.
    fn outbox(&self, place: &ObjectPlace) -> Result<Outbox, Error> {
        let known = OUTBOX.read(&self.catalogue)?.unwrap_or_default();
        if known.place == place.to_string() && !known.everything {
            return Ok(known);
        }
        let mark = if known.mark.is_empty() {
            steps::mark(&self.policy.place, self.catalogue.now())
        } else {
            known.mark
        };
        let documents = steps::all_in(self.out())?;
        let outbox = Outbox { place: place.to_string(), mark, everything: false, documents };
        self.keep_outbox(&outbox)?;
        Ok(outbox)
    }

    fn keep_outbox(&self, outbox: &Outbox) -> Result<(), Error> {
        Ok(self.catalogue.set_meta(vec![OUTBOX.write(outbox)])?)
    }
}

/// The reason why a delivery ended early.
enum DeliveryFailure {
    /// Object storage failed: the reason in one line.
    Storage(String),
    /// A document to deliver cannot be read, or the catalogue failed.
    Other(Error),
}

impl From<BucketError> for DeliveryFailure {
    fn from(error: BucketError) -> Self {
        Self::Storage(error.to_string())
    }
}

impl From<Error> for DeliveryFailure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// A delivery in progress: the remaining documents.
struct PlannedDelivery {
    folder: RootFolder,
    record: Outbox,
    puts: Vec<UndeliveredDocument>,
    removals: Vec<UndeliveredDocument>,
}

impl PlannedDelivery {
    /// Puts documents that are in the folder, and removes those that are not: the folder has the published state.
    fn new(mut record: Outbox, folder: &Path) -> Result<Self, Error> {
        let root = RootFolder::open(folder).map_err(Error::read(folder))?;
        let documents = std::mem::take(&mut record.documents);
        let (mut puts, mut removals) = (Vec::new(), Vec::new());
        for document in documents {
            // Only one that is certainly gone is removed in the bucket: a fault of the disk shows nothing (O430).
            let found = match root.kind(&document.name) {
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => None,
                found => found.map_err(Error::read(folder.join(&document.name)))?,
            };
            if found.is_some() { puts.push(document) } else { removals.push(document) }
        }
        // A document that refers to others is removed before them.
        removals.sort_by_key(|document| Reverse(steps::step_of(&document.name)));
        Ok(Self { folder: root, record, puts, removals })
    }

    fn len(&self) -> usize {
        self.puts.len() + self.removals.len()
    }

    /// Returns the record of the remaining documents.
    fn outbox(&self) -> Outbox {
        let documents = self.puts.iter().chain(&self.removals).cloned().collect();
        Outbox { documents, ..self.record.clone() }
    }

    fn run(
        &mut self,
        source: &SourceContext,
        place: &ObjectPlace,
        monitor: &dyn PublishMonitor,
    ) -> Result<(), DeliveryFailure> {
        let bucket = Bucket::open(place)?;
        if !source.options.overwrite_documents {
            self.refuse_overwriting(&bucket, place)?;
        }
        let (total, mut bytes, mut recorded) = (self.len(), 0, Instant::now());
        while self.len() > 0 {
            // A process that has lost the right to publish must not overwrite the documents of the process that has
            // it now.
            source.catalogue.confirm().map_err(Error::from)?;
            if self.puts.is_empty() {
                let first = steps::step_of(&self.removals[0].name);
                let alike = self.removals.iter().take(GROUP);
                let group = alike.take_while(|document| steps::step_of(&document.name) == first).count();
                let names: Vec<_> = names(&self.removals[..group]).collect();
                bucket.remove(&names)?;
                self.removals.drain(..group);
            } else {
                let group = together(&self.puts);
                let objects: Vec<_> = names(&self.puts[..group]).map(|name| self.object(name)).collect();
                bytes += bucket.put(&objects, &|name| self.folder.entry(name))?;
                self.puts.drain(..group);
            }
            let done = (total - self.len()) as u64;
            monitor.progress(PublishProgress::new(PublishPhase::Deliver, done, bytes));
            if recorded.elapsed() >= RECORDED_EVERY {
                source.keep_outbox(&self.outbox())?;
                recorded = Instant::now();
            }
        }
        Ok(())
    }

    /// Returns the mark by which this Source recognizes its objects.
    fn mark(&self) -> ObjectMark {
        ObjectMark { name: MARK, value: self.record.mark.clone() }
    }

    fn object(&self, name: &str) -> NewObject {
        NewObject {
            name: name.to_owned(),
            media_type: Some(media_type(name.as_bytes()).to_owned()),
            cache_control: Some(cache_control(name.as_bytes()).to_owned()),
            mark: Some(self.mark()),
        }
    }

    /// Refuses to replace objects that this Source did not write (C15). Names with a time or a digest cannot belong
    /// to others.
    fn refuse_overwriting(&self, bucket: &Bucket, place: &ObjectPlace) -> Result<(), DeliveryFailure> {
        let new = self.puts.iter().filter(|document| document.is_new);
        let asked: Vec<_> =
            new.map(|new| new.name.as_str()).filter(|name| !is_immutable(name.as_bytes())).collect();
        let names = bucket.foreign(&asked, &self.mark())?;
        if names.is_empty() {
            Ok(())
        } else {
            Err(Error::DocumentsInTheWay { folder: place.to_string().into(), names }.into())
        }
    }
}

/// Returns the number of documents, from the first one on, that may be delivered in any order.
fn together(documents: &[UndeliveredDocument]) -> usize {
    let first = documents.first().map(|document| document.step).filter(|step| *step <= DeliveryStep::Part);
    let alike = documents.iter().take_while(|document| Some(document.step) == first);
    alike.take(GROUP).count().max(1)
}

fn names(documents: &[UndeliveredDocument]) -> impl Iterator<Item = &str> {
    documents.iter().map(|document| document.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn o430_a_document_that_a_fault_hides_is_not_removed_where_it_was_delivered() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("resourcesync")).unwrap();
        let planned = |name: &str| {
            let name = format!("resourcesync/{name}");
            let document = UndeliveredDocument { name, step: DeliveryStep::List, is_new: false };
            let record = Outbox { documents: vec![document], ..Outbox::default() };
            PlannedDelivery::new(record, folder.path())
        };
        assert_eq!(planned("gone.xml").unwrap().removals.len(), 1);
        // No file system has names of this length, so looking for one fails.
        assert!(planned(&"a".repeat(300)).is_err());
    }
}
