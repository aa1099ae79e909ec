//! Servers and caches between a Source and its copy.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
    time::Duration,
};

use instep_destination::{Outcome, SyncOptions, TestMonitor, sync};
use instep_testkit::{FakeSource, Fault, Layout, Page, wait_for};
use tempfile::TempDir;

use crate::support::{Copy, SPACES, many, runtime};

#[test]
fn o394_of_what_ends_with_its_connection_and_has_no_length_it_is_said_that_nobody_knows_if_it_is_complete() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    let entries: String =
        [" length='7'", "", ""].iter().zip(["a", "b", "c"]).fold(String::new(), |all, (stated, name)| {
            format!("{all}<url><loc>{base}/{name}</loc><rs:md{stated}/></url>")
        });
    let list = format!("<urlset {SPACES}><rs:md capability='resourcelist'/>{entries}</urlset>");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let head: Vec<_> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
            let body = if head[0].contains("/list.xml") { list.as_str() } else { "half of" };
            stream.write_all(format!("HTTP/1.0 200 OK\r\n\r\n{body}").as_bytes()).unwrap();
        }
    });
    let folder = TempDir::new().unwrap();
    let options = SyncOptions::new(format!("{base}/list.xml"), folder.path().join("copy"));
    let monitor = TestMonitor::new();
    let report = runtime().block_on(sync(&options, &monitor)).unwrap();
    assert_eq!((report.exit_code(), report.created, report.unverified), (0, 3, 2));
    let warnings: Vec<_> =
        monitor.recorded().warnings.into_iter().map(|(_, uri, what)| (uri, what)).collect();
    let [(uri, what)] = &warnings[..] else { panic!("one is enough: {warnings:?}") };
    assert!(!uri.ends_with("/a") && what.contains("nobody can know if it is complete"), "{uri}: {what}");
}

#[test]
fn o395_a_follower_outlives_an_old_list_of_a_cache_and_of_a_source_that_was_restored() {
    let copy = Copy::laid_out(|layout| layout.change_list = false);
    let yesterday = String::from_utf8(copy.source.document("resourcelist.xml").unwrap()).unwrap();
    copy.source.put("a.txt", "today");
    assert_eq!(copy.sync().exit_code(), 0);
    copy.source.rewrite("resourcelist.xml", move |_| yesterday.clone());
    let mut options = SyncOptions::new(copy.source.url(""), copy.dir());
    options.follow = true;
    options.poll = (Duration::from_millis(10), Duration::from_millis(50));
    let end = options.shutdown.clone();
    let monitor = TestMonitor::new();
    std::thread::scope(|scope| {
        let following = scope.spawn(|| runtime().block_on(sync(&options, &monitor)));
        wait_for(|| {
            if monitor.recorded().notes.iter().any(|note| note.contains("looking again later")) {
                Ok(())
            } else {
                Err(format!("{:?}", monitor.recorded()))
            }
        });
        assert_eq!(copy.read("a.txt").as_deref(), Some("today"));
        copy.source.heal();
        copy.source.put("a.txt", "tomorrow");
        wait_for(|| copy.read("a.txt").filter(|text| text == "tomorrow").ok_or("not yet"));
        end.request();
        assert_eq!(following.join().unwrap().unwrap().outcome, Outcome::Interrupted);
    });
}

/// Returns a copy of a Source whose list states nothing of a resource but its time.
fn of_bare(count: usize) -> Copy {
    let mut layout = Layout::new();
    layout.algorithms.clear();
    layout.length = false;
    layout.change_list = false;
    let source = FakeSource::start_with(layout).with_resources(many(count));
    for (path, _) in many(count) {
        source.misstate(&path, |entry| entry.metadata.media_type = None);
    }
    Copy::of(source)
}

#[test]
fn o400_a_login_page_that_redirects_lead_to_does_not_replace_what_has_neither_length_nor_digest() {
    for query in [false, true] {
        let copy = of_bare(400);
        assert_eq!(copy.sync().exit_code(), 0);
        let page = Page::from("<html>Log in!</html>").with_header("Content-Type", "text/html; charset=utf-8");
        for (path, text) in many(400) {
            copy.source.put(&path, format!("newer {text}"));
            let target = if query { format!("login?next={path}") } else { "login".to_owned() };
            copy.source.serve(&target, page.clone());
            copy.source.fail_always(&path, Fault::Redirect(copy.source.url(&target)));
        }
        let run = copy.sync();
        assert_eq!(run.exit_code(), 3, "{:?}", run.heard);
        let told = run.heard.problems.iter().any(|(.., what)| what.contains("this looks like a login page"));
        assert!(told, "{:?}", &run.heard.problems[..3]);
        let replaced = many(400).iter().filter(|(path, text)| copy.read(path).as_ref() != Some(text)).count();
        assert!(replaced <= 3, "{replaced} were replaced");
    }
}

#[test]
fn o734_a_page_does_not_replace_a_held_picture_whose_entry_states_no_type() {
    let copy = of_bare(5);
    for (path, text) in many(5) {
        copy.source.serve(&path, Page::from(text).with_header("Content-Type", "image/png"));
    }
    assert_eq!(copy.sync().exit_code(), 0);
    for (path, text) in many(5) {
        copy.source.put(&path, format!("newer {text}"));
        let page = Page::from("<html>Log in!</html>").with_header("Content-Type", "text/html; charset=utf-8");
        copy.source.serve(&path, page);
    }
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().owed), (3, 5), "{:?}", run.heard);
    for (path, text) in many(5) {
        assert_eq!(copy.read(&path), Some(text));
    }
}

#[test]
fn o924_a_page_instead_of_a_held_picture_is_reported_with_the_type_of_the_picture() {
    let copy = of_bare(1);
    let serve = |media_type: &'static str, body: String| {
        for (path, _) in many(1) {
            copy.source.put(&path, body.clone());
            copy.source.serve(&path, Page::from(body.clone()).with_header("Content-Type", media_type));
        }
        copy.sync()
    };
    assert_eq!(serve("image/png", "a picture".to_owned()).exit_code(), 0);
    let run = serve("text/html", "<html>Log in!</html>".to_owned());
    let reported = format!("{:?}", run.heard);
    assert!(reported.contains("It came as a page instead of the image/png that is held"), "{reported}");
}

#[test]
fn o400_a_page_may_have_several_names() {
    let copy = of_bare(30);
    copy.source.serve("one", "one");
    for (path, _) in many(3) {
        copy.source.fail_always(&path, Fault::Redirect(copy.source.url("one")));
    }
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.read("n/00000.txt").as_deref(), Some("one"));
}
