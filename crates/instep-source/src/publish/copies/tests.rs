//! A folder that follows shared documents, which change while they are copied.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    fs,
    sync::Mutex,
};

use super::*;
use crate::catalogue::{CatalogueError, SharedMessage, SharedPosition};

/// The shared documents of a publisher, by their names.
#[derive(Default)]
struct Published(Mutex<State>);

#[derive(Default)]
struct State {
    number: u64,
    documents: BTreeMap<String, (u64, Option<String>)>,
    forgotten: u64,
    /// Documents that are replaced as soon as somebody has listed them.
    replaced: RefCell<Vec<(String, String)>>,
    /// Parts that were read.
    read: Cell<u64>,
}

impl Published {
    fn put(&self, name: &str, text: Option<&str>) {
        let mut state = self.0.lock().unwrap();
        state.number += 1;
        let number = state.number;
        state.documents.insert(name.to_owned(), (number, text.map(str::to_owned)));
    }

    /// Drops the rows of removed documents.
    fn forget(&self) {
        let mut state = self.0.lock().unwrap();
        state.documents.retain(|_, (_, text)| text.is_some());
        state.forgotten = state.number;
    }

    fn reads(&self) -> u64 {
        self.0.lock().unwrap().read.take()
    }
}

impl ReadShared for Published {
    fn position(&self) -> Result<SharedPosition, CatalogueError> {
        let state = self.0.lock().unwrap();
        Ok(SharedPosition { documents: state.number, forgotten: state.forgotten, messages: 0 })
    }

    fn documents_after(&self, number: u64) -> Result<Vec<SharedDocument>, CatalogueError> {
        let (mut documents, replaced) = {
            let state = self.0.lock().unwrap();
            let document = |(name, (number, text)): (&String, &(u64, Option<String>))| SharedDocument {
                number: *number,
                name: name.clone(),
                content: text.as_ref().map(|text| SharedContent {
                    length: text.len() as u64,
                    modified_ns: 1_700_000_000_000_000_000 + number.cast_signed(),
                    digest: *blake3::hash(text.as_bytes()).as_bytes(),
                }),
            };
            (state.documents.iter().map(document).collect::<Vec<_>>(), state.replaced.take())
        };
        replaced.iter().for_each(|(name, text)| self.put(name, Some(text)));
        documents.retain(|document| document.number > number);
        documents.sort_by_key(|document| document.number);
        Ok(documents)
    }

    fn part(&self, document: u64, part: u64) -> Result<Option<Vec<u8>>, CatalogueError> {
        let state = self.0.lock().unwrap();
        state.read.set(state.read.get() + 1);
        let found = state.documents.values().find(|(number, _)| *number == document);
        let text = found.and_then(|(_, text)| text.clone());
        // Two bytes a part.
        Ok(text.and_then(|text| text.as_bytes().chunks(2).nth(part as usize).map(<[u8]>::to_vec)))
    }

    fn messages_after(&self, _number: u64) -> Result<Vec<SharedMessage>, CatalogueError> {
        Ok(Vec::new())
    }

    fn wake(&self) {}

    fn wait(&self, _most: Duration) -> Result<(), CatalogueError> {
        Ok(())
    }
}

struct Site {
    _folder: tempfile::TempDir,
    options: PublishOptions,
}

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut options = PublishOptions::new(folder.path(), "http://example.com/");
        options.out = options.state.join("documents");
        Self { _folder: folder, options }
    }

    fn copies(&self) -> DocumentCopies {
        DocumentCopies::new(&self.options)
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.options.out.join(name)).ok()
    }
}

const LIST: &str = "resourcesync/changelist.xml";
const TWIN: &str = "resourcesync/changelist.xml.gz";

#[test]
fn a_folder_follows_what_is_written_replaced_and_removed() {
    let (site, published) = (Site::new(), Published::default());
    let mut copies = site.copies();
    assert!(!copies.update(&published).unwrap());
    published.put(TWIN, Some("packed"));
    published.put(LIST, Some("one"));
    published.put("resourcesync/a/part.xml", Some(""));
    assert!(copies.update(&published).unwrap());
    assert_eq!((site.text(LIST).as_deref(), site.text(TWIN).as_deref()), (Some("one"), Some("packed")));
    assert_eq!(site.text("resourcesync/a/part.xml").as_deref(), Some(""));
    assert!(!copies.update(&published).unwrap());
    published.reads();
    published.put(LIST, Some("two"));
    published.put("resourcesync/a/part.xml", None);
    assert!(copies.update(&published).unwrap());
    assert_eq!((site.text(LIST).as_deref(), site.text("resourcesync/a/part.xml")), (Some("two"), None));
    assert_eq!(published.reads(), 2, "only what is new is read");
    let modified = fs::metadata(site.options.out.join(LIST)).unwrap().modified().unwrap();
    assert_eq!(modified, time(1_700_000_000_000_000_004));
}

#[test]
fn a_document_that_is_replaced_while_it_is_read_is_never_shown_in_part() {
    let (site, published) = (Site::new(), Published::default());
    published.put("resourcesync/large.xml", Some("stays as it is"));
    published.put(LIST, Some("first state"));
    let next = (LIST.to_owned(), "second state".to_owned());
    published.0.lock().unwrap().replaced.borrow_mut().push(next);
    assert!(site.copies().update(&published).unwrap());
    assert_eq!(site.text(LIST).as_deref(), Some("second state"));
    // The other one was read once: seven parts, and six of the list, after one that was gone.
    assert_eq!(published.reads(), 7 + 1 + 6);
}

#[test]
fn an_unknown_or_old_folder_becomes_what_is_published_and_nothing_else() {
    let (site, published) = (Site::new(), Published::default());
    published.put(LIST, Some("one"));
    published.put("resourcesync/old.xml", Some("old"));
    let mut copies = site.copies();
    copies.update(&published).unwrap();
    // The same length, and removals whose rows are gone.
    published.put(LIST, Some("two"));
    published.put("resourcesync/old.xml", None);
    published.forget();
    assert!(copies.update(&published).unwrap());
    assert_eq!((site.text(LIST).as_deref(), site.text("resourcesync/old.xml")), (Some("two"), None));
    fs::write(site.options.out.join(LIST), "six").unwrap();
    published.reads();
    assert!(site.copies().update(&published).unwrap());
    assert_eq!((site.text(LIST).as_deref(), published.reads()), (Some("two"), 2));
    // Nothing to do, but the time that all servers show.
    File::open(site.options.out.join(LIST)).unwrap().set_modified(time(1)).unwrap();
    assert!(!site.copies().update(&published).unwrap());
    let modified = fs::metadata(site.options.out.join(LIST)).unwrap().modified().unwrap();
    assert_eq!((modified, published.reads()), (time(1_700_000_000_000_000_003), 0));
}

#[test]
fn files_of_others_beside_the_documents_stay() {
    let (mut site, published) = (Site::new(), Published::default());
    site.options.out = site._folder.path().to_owned();
    fs::create_dir(site.options.out.join("resourcesync")).unwrap();
    fs::write(site.options.out.join("resourcesync/mine.xml"), "mine").unwrap();
    published.put(LIST, Some("one"));
    site.copies().update(&published).unwrap();
    assert_eq!(site.text("resourcesync/mine.xml").as_deref(), Some("mine"));
}

#[cfg(feature = "serve")]
#[test]
fn o540_what_an_update_has_changed_stays_news_until_it_is_followed() {
    let (site, published) = (Site::new(), Published::default());
    let mut copies = site.copies();
    assert!(!copies.has_news());
    published.put(LIST, Some("one"));
    copies.update(&published).unwrap();
    // As if the rest of that look had failed.
    copies.update(&published).unwrap();
    assert!(copies.has_news());
    copies.followed();
    copies.update(&published).unwrap();
    assert!(!copies.has_news());
}
