//! The rows that servers share: in order, bounded, and written by one process only.

use std::{path::Path, time::Duration};

use instep_testkit::PostgresServer;

use super::{open, sql};
use crate::{
    Error, ErrorKind,
    catalogue::{
        Catalogue, CatalogueLocation, ReadShared, SharedContent, SharedDocument, SharedPart, SharedRows,
        shared::{MOST_MESSAGES, MOST_REMOVALS},
    },
};

fn content(length: u64) -> Option<SharedContent> {
    Some(SharedContent { length, modified_ns: 1_700_000_000_123_456_789, digest: [7; 32] })
}

fn document(number: u64, name: &str, content: Option<SharedContent>) -> SharedDocument {
    SharedDocument { number, name: name.to_owned(), content }
}

fn part(document: u64, part: u64, bytes: &str) -> SharedPart {
    SharedPart { document, part, bytes: bytes.as_bytes().to_vec() }
}

fn share(catalogue: &Catalogue, parts: Vec<SharedPart>, documents: Vec<SharedDocument>) {
    catalogue.share(SharedRows::Documents { parts, documents }).unwrap();
}

fn message(catalogue: &Catalogue, topic: &str, body: &str) {
    let (topic, body) = (topic.to_owned(), body.as_bytes().to_vec());
    catalogue.share(SharedRows::Message { topic, body }).unwrap();
}

/// Opens the catalogue as a server that stands by does, from a folder of its own.
fn beside(server: &PostgresServer, state: &Path) -> Catalogue {
    let url = server.url();
    CatalogueLocation::of(state, Some(&url), &["http://x/"]).unwrap().beside().unwrap().unwrap()
}

fn names(shared: &dyn ReadShared, after: u64) -> Vec<(u64, String, bool)> {
    let documents = shared.documents_after(after).unwrap().into_iter();
    documents.map(|document| (document.number, document.name, document.content.is_some())).collect()
}

#[test]
fn another_server_reads_documents_in_their_order_and_whole_or_not_at_all() {
    let Some(server) = PostgresServer::start() else { return };
    let [here, there] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let catalogue = open(here.path(), &server.url()).unwrap();
    let beside = beside(&server, there.path());
    let shared = beside.shared().unwrap();
    assert_eq!(shared.position().unwrap(), Default::default());
    // The first parts of a large document go ahead, and count for nothing yet.
    share(&catalogue, vec![part(1, 0, "ab"), part(1, 1, "cd")], Vec::new());
    assert_eq!((shared.position().unwrap().documents, names(shared, 0)), (0, Vec::new()));
    let documents = vec![document(1, "b", content(5)), document(2, "a", content(1))];
    share(&catalogue, vec![part(1, 2, "e"), part(2, 0, "f")], documents.clone());
    assert_eq!((shared.position().unwrap().documents, shared.documents_after(0).unwrap()), (2, documents));
    let bytes: Vec<_> = (0..4).map(|number| shared.part(1, number).unwrap()).collect();
    assert_eq!(bytes, [Some(b"ab".to_vec()), Some(b"cd".to_vec()), Some(b"e".to_vec()), None]);
    // Another state of a document takes its place, and its bytes with it. What was never there is not removed.
    share(
        &catalogue,
        vec![part(3, 0, "g")],
        vec![document(3, "b", content(1)), document(4, "a", None), document(5, "never", None)],
    );
    assert_eq!(names(shared, 2), [(3, "b".to_owned(), true), (4, "a".to_owned(), false)]);
    assert_eq!((names(shared, 3).len(), shared.position().unwrap().documents), (1, 5));
    assert_eq!([1, 2].map(|number| shared.part(number, 0).unwrap()), [None, None]);
    assert_eq!(shared.part(3, 0).unwrap().as_deref(), Some(&b"g"[..]));
}

#[test]
fn what_a_killed_publisher_left_of_a_document_is_no_part_of_the_next_one() {
    let Some(server) = PostgresServer::start() else { return };
    let here = tempfile::tempdir().unwrap();
    let catalogue = open(here.path(), &server.url()).unwrap();
    let shared = catalogue.shared().unwrap();
    let left = (0..4).map(|number| part(1, number, "old")).chain([part(2, 0, "old"), part(3, 0, "old")]);
    share(&catalogue, left.collect(), Vec::new());
    share(&catalogue, vec![part(1, 0, "new")], vec![document(1, "a", content(3))]);
    assert_eq!(shared.part(1, 0).unwrap().as_deref(), Some(&b"new"[..]));
    assert_eq!(
        [(1, 1), (2, 0), (3, 0)].map(|(number, part)| shared.part(number, part).unwrap()),
        [None, None, None]
    );
}

#[test]
fn rows_of_removed_documents_and_of_messages_do_not_grow_without_bound() {
    let Some(server) = PostgresServer::start() else { return };
    let here = tempfile::tempdir().unwrap();
    let catalogue = open(here.path(), &server.url()).unwrap();
    let shared = catalogue.shared().unwrap();
    let most = MOST_REMOVALS.cast_unsigned();
    let name = |number: u64| format!("part-{number:06}");
    let all = 1..=most + 100;
    let parts = all.clone().map(|number| part(number, 0, "x")).collect();
    share(&catalogue, parts, all.clone().map(|number| document(number, &name(number), content(1))).collect());
    let last = most + 100;
    share(&catalogue, Vec::new(), all.map(|number| document(last + number, &name(number), None)).collect());
    assert_eq!(names(shared, 0).len() as u64, most);
    let position = shared.position().unwrap();
    assert_eq!((position.forgotten, position.documents), (last + 100, 2 * last));
    assert_eq!(shared.part(1, 0).unwrap(), None);
    for number in 0..MOST_MESSAGES + 20 {
        message(&catalogue, "topic", &number.to_string());
    }
    let messages = shared.messages_after(0).unwrap();
    assert_eq!(messages.len(), usize::try_from(MOST_MESSAGES).unwrap());
    assert_eq!(messages.last().map(|last| last.number), Some(shared.position().unwrap().messages));
}

#[test]
fn messages_come_once_each_in_order_and_a_waiting_server_is_woken() {
    let Some(server) = PostgresServer::start() else { return };
    let [here, there] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let catalogue = open(here.path(), &server.url()).unwrap();
    let beside = beside(&server, there.path());
    let shared = beside.shared().unwrap();
    ["one", "two"].iter().for_each(|body| message(&catalogue, "t", body));
    let bodies = |after| -> Vec<_> {
        let messages = shared.messages_after(after).unwrap().into_iter();
        messages.map(|message| String::from_utf8(message.body).unwrap()).collect()
    };
    assert_eq!(
        (bodies(0), bodies(1), bodies(2)),
        (vec!["one".into(), "two".into()], vec!["two".into()], vec![])
    );
    // The first wait ends once the server listens, the second one when it is woken: long before the time is over.
    shared.wait(Duration::from_secs(60)).unwrap();
    let began = std::time::Instant::now();
    catalogue.shared().unwrap().wake();
    shared.wait(Duration::from_secs(60)).unwrap();
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn who_lost_the_right_to_publish_shares_nothing_and_sources_do_not_see_each_other() {
    let Some(server) = PostgresServer::start() else { return };
    let [here, there, other] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let catalogue = open(here.path(), &server.url()).unwrap();
    let another = open(other.path(), &format!("{}?source=another", server.url())).unwrap();
    share(&another, vec![part(1, 0, "x")], vec![document(1, "a", content(1))]);
    message(&another, "t", "x");
    assert_eq!(catalogue.shared().unwrap().position().unwrap(), Default::default());
    assert_eq!(catalogue.shared().unwrap().messages_after(0).unwrap(), []);
    sql(&server, "UPDATE source SET token = 'of another' WHERE name = 'http://x/'");
    let rows =
        SharedRows::Documents { parts: vec![part(1, 0, "y")], documents: vec![document(1, "a", content(1))] };
    let refused = Error::from(catalogue.share(rows).unwrap_err());
    assert_eq!(refused.kind(), ErrorKind::Locked, "{refused}");
    let beside = beside(&server, there.path());
    assert_eq!(names(beside.shared().unwrap(), 0), []);
    // A server that stands by writes nothing at all.
    assert!(beside.share(SharedRows::Message { topic: String::new(), body: Vec::new() }).is_err());
}

#[test]
fn tables_without_shared_rows_get_them_and_keep_everything_else() {
    let Some(server) = PostgresServer::start() else { return };
    let here = tempfile::tempdir().unwrap();
    drop(open(here.path(), &server.url()).unwrap());
    // As the first version made them.
    sql(
        &server,
        "DROP TABLE document, document_part, message, subscription, delivery, hub_request;
         ALTER TABLE source DROP COLUMN documents, DROP COLUMN forgotten_documents, DROP COLUMN messages;
         UPDATE version SET version = 1, additions = 0;
         INSERT INTO meta SELECT id, 'kept', 'x' FROM source",
    );
    let catalogue = open(here.path(), &server.url()).unwrap();
    assert_eq!(catalogue.meta("kept").unwrap().as_deref(), Some(&b"x"[..]));
    share(&catalogue, vec![part(1, 0, "x")], vec![document(1, "a", content(1))]);
    assert_eq!(catalogue.shared().unwrap().position().unwrap().documents, 1);
}
