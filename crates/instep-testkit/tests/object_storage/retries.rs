//! The number of attempts at requests to object storage.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

use instep_testkit::{FakeSource, Run, instep};

/// Starts a service that is always busy. Returns its URL, and the number of requests so far.
fn busy_service() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            let head = BufReader::new(client.try_clone().unwrap()).lines();
            let _ = head.map_while(Result::ok).take_while(|line| !line.is_empty()).count();
            counted.fetch_add(1, SeqCst);
            let _ = client.write_all(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    (url, requests)
}

#[test]
fn o346_retries_are_those_of_requests_to_object_storage_too() {
    let source = FakeSource::start().with_resources([("a.txt", "one")]);
    for (retries, expected) in [("0", 1), ("2", 3)] {
        let (service, requests) = busy_service();
        let folder = tempfile::tempdir().unwrap();
        let mut command = instep(["sync", &source.capability_list_url(), "copy", "--retries", retries]);
        command.args(["--store", "s3://bucket/prefix"]).current_dir(folder.path());
        command.env("AWS_ENDPOINT_URL", service).env("AWS_REGION", "us-east-1");
        command.env("AWS_ACCESS_KEY_ID", "key").env("AWS_SECRET_ACCESS_KEY", "secret");
        let _ = Run::of(&mut command).with_code(8);
        assert_eq!(requests.load(SeqCst), expected, "--retries {retries}");
    }
}
