//! The entries of a long document, read ahead on a separate thread while earlier ones are used.

use std::{panic, sync::mpsc, thread};

use resourcesync::{Entry, ReadError};

use super::Entries;

/// The number of entries that are passed on together, by the memory that they take: an entry with many links counts as
/// several (B9).
const HANDFUL: usize = 256;
/// The most batches that wait to be used.
const WAITING: usize = 2;

/// The end of a document: its reader, and the fault that it ended with.
pub(crate) struct DocumentEnd {
    pub(crate) entries: Entries,
    pub(crate) fault: Option<ReadError>,
}

/// Passes each entry to `take`, in their order. A document of a few entries needs no thread.
///
/// # Errors
/// Those of `take`, after which nothing more is read.
pub(crate) fn read_ahead<E>(
    mut entries: Entries,
    mut take: impl FnMut(&mut Entry) -> Result<(), E>,
) -> Result<DocumentEnd, E> {
    let mut first = Handful::default();
    first.fill(&mut entries);
    first.entries().try_for_each(&mut take)?;
    if first.is_last {
        return Ok(DocumentEnd { entries, fault: first.fault });
    }
    thread::scope(|scope| {
        let (full, filled) = mpsc::sync_channel::<Handful>(WAITING);
        let (emptied, empty) = mpsc::channel::<Handful>();
        for handful in [first].into_iter().chain((0..WAITING).map(|_| Handful::default())) {
            let _ = emptied.send(handful);
        }
        let reader = scope.spawn(move || {
            for mut handful in empty {
                handful.fill(&mut entries);
                let is_last = handful.is_last;
                if full.send(handful).is_err() || is_last {
                    break;
                }
            }
            entries
        });
        // A closure that owns its ends of the channels: they are dropped when it returns, so that the reader does not
        // wait for it.
        let fault = move || {
            for mut handful in filled {
                handful.entries().try_for_each(&mut take)?;
                if handful.is_last {
                    return Ok(handful.fault);
                }
                let _ = emptied.send(handful);
            }
            Ok(None)
        };
        let fault = fault();
        let entries = reader.join().unwrap_or_else(|panic| panic::resume_unwind(panic));
        Ok(DocumentEnd { entries, fault: fault? })
    })
}

/// Some consecutive entries. A batch is filled again and again, so that its entries keep their buffers.
#[derive(Default)]
struct Handful {
    slots: Vec<Entry>,
    filled: usize,
    is_last: bool,
    fault: Option<ReadError>,
}

impl Handful {
    fn entries(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.slots.iter_mut().take(self.filled)
    }

    fn fill(&mut self, from: &mut Entries) {
        let mut weight = 0;
        self.filled = 0;
        while weight < HANDFUL && !self.is_last {
            if self.filled == self.slots.len() {
                self.slots.push(Entry::default());
            }
            let slot = &mut self.slots[self.filled];
            match from.read_entry(slot) {
                Ok(true) => {
                    weight += 1 + slot.links.len() / 8;
                    self.filled += 1;
                }
                Ok(false) => self.is_last = true,
                Err(fault) => (self.is_last, self.fault) = (true, Some(fault)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, Cursor};

    use resourcesync::{DocumentReader, ReadOptions};

    use super::*;

    fn entries(count: usize, end: &str) -> Entries {
        let urls: String = (0..count).map(|n| format!("<url><loc>http://h/{n}</loc></url>")).collect();
        let text = format!("<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">{urls}{end}");
        let bytes: Box<dyn BufRead + Send> = Box::new(Cursor::new(text));
        DocumentReader::new(bytes, ReadOptions::new()).unwrap()
    }

    #[test]
    fn every_entry_comes_once_and_in_its_order() {
        for count in [0, 1, HANDFUL - 1, HANDFUL, HANDFUL + 1, 10 * HANDFUL, 10 * HANDFUL + 7] {
            let mut next = 0;
            let end = read_ahead(entries(count, "</urlset>"), |entry| {
                assert_eq!(entry.loc.as_str(), format!("http://h/{next}"));
                next += 1;
                Ok::<_, ()>(())
            });
            let end = end.unwrap();
            assert_eq!((next, end.entries.entries_read()), (count, count as u64));
            assert!(end.fault.is_none());
        }
    }

    #[test]
    fn a_fault_comes_after_the_entries_before_it() {
        for count in [3, 5 * HANDFUL] {
            let mut taken = 0;
            let end = read_ahead(entries(count, "<url>"), |_| {
                taken += 1;
                Ok::<_, ()>(())
            });
            assert!(end.unwrap().fault.is_some());
            assert_eq!(taken, count);
        }
    }

    #[test]
    fn an_error_of_the_receiver_ends_the_reading() {
        for last in [0, HANDFUL, 3 * HANDFUL] {
            let mut taken = 0;
            let end = read_ahead(entries(100 * HANDFUL, "</urlset>"), |_| {
                taken += 1;
                if taken > last { Err("enough") } else { Ok(()) }
            });
            assert_eq!((end.err(), taken), (Some("enough"), last + 1));
        }
    }
}
