//! Corner cases of a server that runs for years (C18), and the files of the operator that it finds (C15).

use std::{
    fs,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use instep_source::{
    ErrorKind, NoMonitor, PublishMonitor, PublishProblem, publish,
    serve::{ServeOptions, Source},
};
use instep_testkit::wait_until;
use tokio_tungstenite::tungstenite::{Message, client};

use super::{
    raw::{self, connect, get, request},
    server::{Server, folder},
};

/// Starts a Source and returns its problems, or the error for which it did not start.
fn started(options: ServeOptions) -> Result<Vec<PublishProblem>, instep_source::Error> {
    #[derive(Default)]
    struct Problems(Mutex<Vec<PublishProblem>>);
    impl PublishMonitor for Problems {
        fn problem(&self, problem: &PublishProblem) {
            self.0.lock().unwrap().push(problem.clone());
        }
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let problems = Arc::new(Problems::default());
    let monitor = Arc::clone(&problems) as Arc<dyn PublishMonitor>;
    runtime.block_on(async {
        Source::start(options, monitor).await?.end().await;
        Ok::<_, instep_source::Error>(())
    })?;
    Ok(problems.0.lock().unwrap().clone())
}

#[test]
fn c15_the_robots_txt_of_the_operator_is_served_with_our_lines_added() {
    let theirs = b"User-agent: *\nDisallow: /\n# caf\xe9\n";
    let server = Server::with(folder(&[("a.txt", b"a"), ("robots.txt", theirs)]), |options| {
        options.live.watch = false;
        options.live.scan_every = Duration::from_millis(50);
    });
    let robots = get(server.address, "/robots.txt").body;
    let ours = String::from_utf8(robots.strip_prefix(theirs).unwrap().to_vec()).unwrap();
    assert!(ours.contains(&format!("Sitemap: {}resourcesync/resourcelist.xml\n", server.base)), "{ours}");
    assert_eq!(fs::read(server.path("robots.txt")).unwrap(), theirs);
    fs::write(server.path("robots.txt"), "Disallow: /private\n").unwrap();
    wait_until("the new lines are served", || {
        get(server.address, "/robots.txt").body.starts_with(b"Disallow: /private\n# BEGIN instep\n")
    });
}

#[test]
fn c15_files_that_documents_hide_are_named() {
    let hidden = [".well-known/security.txt", "resourcesync/own.txt", "resourcesync/resourcelist.xml"];
    let folder = folder(&[("a.txt", b"a"), (hidden[0], b"x"), (hidden[1], b"x"), (hidden[2], b"x")]);
    let mut options = ServeOptions::new(folder.path());
    options.publish.base_url = "http://source.example/".to_owned();
    let problems = started(options.clone()).unwrap();
    let texts: Vec<_> = problems.iter().map(|problem| problem.what.as_str()).collect();
    assert!(hidden.iter().all(|name| texts.iter().any(|text| text.contains(name))), "{texts:?}");
    hidden.iter().for_each(|name| assert_eq!(fs::read(folder.path().join(name)).unwrap(), b"x"));
    hidden.iter().for_each(|name| fs::remove_file(folder.path().join(name)).unwrap());
    assert_eq!(started(options).unwrap(), []);
}

#[test]
fn c18_a_scan_without_a_pause_is_refused() {
    let folder = folder(&[("a.txt", b"a")]);
    let mut options = ServeOptions::new(folder.path());
    options.publish.base_url = "http://source.example/".to_owned();
    options.live.scan_every = Duration::ZERO;
    assert_eq!(started(options).unwrap_err().kind(), ErrorKind::Usage);
}

#[test]
fn c18_no_answer_says_that_it_was_modified_in_the_future() {
    let folder = folder(&[("a.txt", b"a")]);
    let ahead = SystemTime::now() + Duration::from_secs(10 * 365 * 86_400);
    let file = fs::File::options().append(true).open(folder.path().join("a.txt")).unwrap();
    file.set_modified(ahead).unwrap();
    let server = Server::with(folder, |_| ());
    let answer = get(server.address, "/a.txt");
    let date = |name| httpdate::parse_http_date(answer.header(name).unwrap()).unwrap();
    assert!(date("last-modified") <= date("date"), "{answer:?}");
}

#[test]
fn c18_documents_that_somebody_took_away_are_back_after_the_next_scan() {
    let server = Server::with(folder(&[("a.txt", b"a")]), |options| {
        options.live.watch = false;
        options.live.scan_every = Duration::from_millis(50);
    });
    for take_away in [true, false] {
        let documents = server.path(".instep/documents");
        if take_away {
            // A scan may put a document into a folder that is just being emptied.
            wait_until("the documents are taken away", || fs::remove_dir_all(&documents).is_ok())
        } else {
            fs::rename(&documents, server.path(".instep/elsewhere")).unwrap()
        }
        for name in ["resourcesync/resourcelist.xml", ".well-known/resourcesync", "robots.txt"] {
            wait_until(name, || get(server.address, &format!("/{name}")).status == 200);
        }
        fs::write(server.path("b.txt"), format!("{take_away}")).unwrap();
        wait_until("changes are published", || {
            let list = get(server.address, "/resourcesync/changelist-000001.xml").text();
            list.contains("b.txt") && (take_away || list.contains("length=\"5\""))
        });
    }
}

#[test]
fn c18_nobody_learns_where_the_files_of_a_source_lie() {
    let server = Server::with(folder(&[("d/a.txt", b"a")]), |options| {
        options.live.watch = false;
        options.live.scan_every = Duration::from_millis(50);
        let root = options.publish.state.parent().unwrap().join("d");
        options.publish.sets = vec![instep_source::SetOptions::folder(root)];
    });
    fs::remove_dir_all(server.path("d")).unwrap();
    wait_until("the failure shows", || get(server.address, "/readyz").status == 503);
    let secret = server.folder.path().to_str().unwrap().to_owned();
    for page in ["/status", "/readyz", "/", "/metrics", "/resourcesync/"] {
        let text = get(server.address, page).text();
        assert!(!text.contains(&secret), "{page}: {text}");
    }
    let status = get(server.address, "/status").text();
    assert!(!status.contains("\"failure\":null"), "{status}");
}

#[test]
fn c18_the_close_of_a_listener_is_answered() {
    let server = Server::start(&[("a.txt", b"a")]);
    let stream = connect(server.address);
    let url = format!("{}resourcesync/change-notification", server.base.replacen("http", "ws", 1));
    let mut socket = client(url, stream).unwrap().0;
    socket.close(None).unwrap();
    let answer = socket.read();
    assert!(matches!(answer, Ok(Message::Close(_))), "{answer:?}");
}

#[test]
fn c18_a_file_that_became_private_is_not_served_from_then_on() {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::with(folder(&[("a.txt", b"a")]), |options| options.live.watch = false);
    assert_eq!(get(server.address, "/a.txt").status, 200);
    fs::set_permissions(server.path("a.txt"), fs::Permissions::from_mode(0o000)).unwrap();
    assert_eq!(get(server.address, "/a.txt").status, 404);
}

#[test]
fn o952_the_files_of_a_folder_that_became_private_are_not_served_from_then_on() {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::with(folder(&[("d/a.txt", b"a")]), |options| options.live.watch = false);
    assert_eq!(get(server.address, "/d/a.txt").status, 200);
    fs::set_permissions(server.path("d"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(get(server.address, "/d/a.txt").status, 404);
}

#[test]
fn c18_a_batch_leaves_out_a_file_that_became_a_folder() {
    let server =
        Server::with(folder(&[("a.txt", b"a"), ("b.txt", b"b")]), |options| options.live.watch = false);
    fs::remove_file(server.path("a.txt")).unwrap();
    fs::create_dir(server.path("a.txt")).unwrap();
    let body = format!("[\"{0}a.txt\",\"{0}b.txt\"]", server.base);
    let text = format!(
        "POST /resourcesync/batch HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        server.address,
        body.len()
    );
    let answer = raw::answer(&raw::send(server.address, text.as_bytes())).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    let found = |name: &[u8]| answer.body.windows(name.len()).any(|window| window == name);
    assert!(found(b"b.txt"));
}

#[test]
fn c18_requests_below_a_former_base_url_are_redirected_where_nothing_else_has_the_name() {
    let folder = folder(&[("a.txt", b"a"), ("b/c.txt", b"c")]);
    let mut options = ServeOptions::new(folder.path()).publish;
    options.base_url = "http://source.example/old/".to_owned();
    publish(&options, &NoMonitor).unwrap();
    let server = Server::with(folder, |options| {
        options.publish.base_url = "http://source.example/new/".to_owned();
        options.publish.rebase_from = Some("http://source.example/old/".to_owned());
    });
    let ask = |host: &str, target: &str| {
        let text = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        raw::answer(&raw::send(server.address, text.as_bytes())).unwrap()
    };
    for path in ["a.txt", "b/c.txt", "resourcesync/capabilitylist.xml", "b/?query"] {
        let answer = ask("source.example", &format!("/old/{path}"));
        let location = format!("http://source.example/new/{path}");
        assert_eq!((answer.status, answer.header("location")), (301, Some(location.as_str())), "{path}");
    }
    assert_eq!(ask("source.example", "/new/a.txt").status, 200);
    assert_eq!(ask("source.example", "/new/none").status, 404);
    assert_eq!(ask("other.example", "/old/a.txt").status, 404);
    assert_eq!(request(server.address, "GET", "/else", &[]).status, 404);
}

#[test]
fn o1008_the_well_known_uri_of_the_host_leads_to_a_source_below_a_path() {
    let server = Server::with(folder(&[("a.txt", b"a")]), |options| {
        options.publish.base_url = "http://source.example/data/".to_owned();
    });
    let answer = request(server.address, "GET", "/.well-known/resourcesync", &[]);
    let description = "http://source.example/data/.well-known/resourcesync";
    assert_eq!((answer.status, answer.header("location")), (301, Some(description)));
    assert_eq!(request(server.address, "GET", "/data/.well-known/resourcesync", &[]).status, 200);
    assert_eq!(request(server.address, "GET", "/.well-known/other", &[]).status, 404);
}
