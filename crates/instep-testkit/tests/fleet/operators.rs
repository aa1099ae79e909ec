//! The dashboard: what everybody sees, and what operators can do.

use crate::support::{FleetFolder, Running, TOKEN, ask, get};

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

/// Signs in as `ada` and returns the cookie.
fn cookie(run: &Running) -> String {
    let form = format!("token={}", TOKEN.replace(' ', "+"));
    let answer = ask(run, "POST /sign-in", &[FORM], &form);
    assert_eq!(answer.status, 303, "{}", answer.body);
    let line = answer.head.lines().find(|line| line.to_lowercase().starts_with("set-cookie: ")).unwrap();
    assert!(line.contains("HttpOnly") && line.contains("SameSite=Strict"), "{line}");
    line[12..].split(';').next().unwrap().to_owned()
}

#[test]
fn the_dashboard_shows_every_source_and_a_page_for_each() {
    let fleet = FleetFolder::new();
    let source = Running::source(&fleet.data("data", 3));
    fleet.ends(&["add", &source.url, "--name", "letters"], 0);
    fleet.ends(&["add", "https://b.invalid/?a=1&b='2'", "--name", "paused"], 0);
    fleet.ends(&["pause", "paused"], 0);
    let run = fleet.start(&[]);
    fleet.wait_for("letters", "in-step");
    let page = get(&run, "/").body;
    for part in [
        "source/letters/",
        "in step",
        "source/paused/",
        "data-figure=\"in-step\">1<",
        "aria-sort=\"ascending\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!get(&run, "/?q=lett").body.contains("source/paused/"));
    assert!(!get(&run, "/?state=paused").body.contains("source/letters/"));
    let sorted = get(&run, "/?sort=-held").body;
    assert!(sorted.find("source/letters/").unwrap() < sorted.find("source/paused/").unwrap());
    let page = get(&run, "/source/letters/");
    assert_eq!(page.body.matches("<h1>").count(), 1);
    for part in ["Size over time", "Lag over time", "Last runs", "First sized", "Sign in", "3 resources"] {
        assert!(page.body.contains(part), "{part}: {}", page.body);
    }
    assert!(get(&run, "/source/paused/").body.contains("?a=1&amp;b="), "names from outside are text");
    for path in ["/source/letters/runs", "/source/letters/pending", "/hosts", "/log", "/sign-in"] {
        assert_eq!(get(&run, path).status, 200, "{path}");
    }
    assert_eq!(get(&run, "/source/nobody/").status, 404);
    assert_eq!(get(&run, "/source/..%2f..%2fetc/").status, 400);
    let metrics = get(&run, "/metrics").body;
    assert!(metrics.contains("instep_fleet_sources{fleet=\"fleet\",state=\"in-step\"} 1"), "{metrics}");
    assert!(!metrics.contains("letters"), "no label grows with the number of Sources");
    // The name of another site may lead to this server, so its pages must not be able to read anything.
    assert_eq!(ask(&run, "GET /", &[("Host", "evil.example")], "").status, 421);
}

#[test]
fn o891_a_button_whose_source_is_gone_answers_that_there_is_none() {
    let fleet = FleetFolder::new();
    fleet.ends(&["add", "https://a.invalid/", "--name", "a"], 0);
    fleet.ends(&["pause", "a"], 0);
    let run = fleet.start(&[]);
    let cookie = cookie(&run);
    let signed = [FORM, ("Cookie", cookie.as_str())];
    let page = ask(&run, "GET /source/a/", &signed, "").body;
    let mark = page.split("name=\"mark\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let form = format!("mark={mark}");
    assert_eq!(ask(&run, "POST /source/a/forget", &signed, &form).status, 303);
    assert_eq!(ask(&run, "POST /source/a/resume", &signed, &form).status, 404);
}

#[test]
fn only_operators_act_and_only_from_the_page_itself() {
    let fleet = FleetFolder::new();
    let source = Running::source(&fleet.data("data", 1));
    fleet.ends(&["add", &source.url, "--name", "a"], 0);
    let run = fleet.start(&[]);
    fleet.wait_for("a", "in-step");
    let wrong = ask(&run, "POST /sign-in", &[FORM], "token=wrong");
    assert!(wrong.status == 403 && !wrong.head.to_lowercase().contains("set-cookie"));
    assert_eq!(ask(&run, "POST /source/a/pause", &[FORM], "mark=").status, 403);
    let cookie = cookie(&run);
    let signed = [FORM, ("Cookie", cookie.as_str())];
    let page = ask(&run, "GET /source/a/", &signed, "").body;
    let mark = page.split("name=\"mark\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let form = format!("mark={mark}");
    assert_eq!(
        ask(&run, "POST /source/a/pause", &signed, "mark=guess").status,
        403,
        "a form of another site"
    );
    let elsewhere = [FORM, ("Cookie", cookie.as_str()), ("Sec-Fetch-Site", "cross-site")];
    assert_eq!(ask(&run, "POST /source/a/pause", &elsewhere, &form).status, 403);
    assert_eq!(fleet.source(&["list", "--state", "paused"]).stdout, "");
    assert_eq!(ask(&run, "POST /source/a/pause", &signed, &form).status, 303);
    fleet.wait_for("a", "paused");
    assert_eq!(ask(&run, "POST /source/a/resume", &signed, &form).status, 303);
    fleet.wait_for("a", "in-step");
    assert_eq!(ask(&run, "POST /source/a/forget", &signed, &form).status, 303);
    assert_eq!(fleet.source(&["list"]).stdout, "");
    assert!(fleet.path("fleet/a/0.txt").is_file(), "the copy stays");
    let log = ask(&run, "GET /log", &signed, "").body;
    for part in ["ada", "sign in", "pause", "resume", "forget", "uid "] {
        assert!(log.contains(part), "{part}: {log}");
    }
    assert!(!get(&run, "/log").body.contains("forget"), "the log is for operators");
    assert_eq!(ask(&run, "POST /sign-out", &signed, &form).status, 303);
    assert_eq!(ask(&run, "POST /source/a/pause", &signed, &form).status, 403);
}

#[test]
fn o872_a_page_of_another_site_that_leads_its_name_here_cannot_act_in_place_of_a_proxy() {
    let fleet = FleetFolder::new();
    let run = fleet.start(&["--operator-header", "X-User"]);
    let (_, port) = run.url.trim_end_matches('/').rsplit_once(':').unwrap();
    let as_ada = |host: &str| ask(&run, "GET /log", &[("Host", host), ("X-User", "ada")], "").status;
    // A browser names the port that it connects to, a proxy the one that its own clients connect to.
    assert_eq!(as_ada(&format!("evil.example:{port}")), 421);
    for host in ["fleet.example.org", "fleet.example.org:1", &format!("127.0.0.1:{port}")] {
        assert_eq!(as_ada(host), 200, "{host}");
    }
}

#[test]
fn o876_the_dashboards_of_two_fleets_on_one_host_have_sessions_of_their_own() {
    let (one, two) = (FleetFolder::new(), FleetFolder::new());
    let (one, two) = (one.start(&[]), two.start(&[]));
    // A browser sends a cookie to each port of the host, and has one of each name.
    let cookies = [cookie(&one), cookie(&two)].map(|cookie| cookie.split_once('=').unwrap().0.to_owned());
    assert_ne!(cookies[0], cookies[1]);
}

#[test]
fn alerts_reach_the_webhook_once() {
    use std::{
        io::{Read, Write},
        net::TcpListener,
        sync::mpsc,
        thread,
        time::Duration,
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let webhook = format!("http://{}/alerts", listener.local_addr().unwrap());
    let (sender, alerts) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut text, mut part) = (String::new(), [0; 4_096]);
            while !text.contains("\"alerts\"") || !text.ends_with('}') {
                let read = stream.read(&mut part).unwrap();
                text.push_str(&String::from_utf8_lossy(&part[..read]));
            }
            stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").unwrap();
            sender.send(text).unwrap();
        }
    });
    let fleet = FleetFolder::new();
    let nobody = format!("http://127.0.0.1:{}/", instep_testkit::free_port().unwrap());
    fleet.ends(&["add", &nobody, "--name", "nobody", "--every", "1s"], 0);
    let _run = fleet.start(&["--alert-webhook", &webhook, "--alert-after", "1", "--quarantine-after", "2"]);
    let first = alerts.recv_timeout(Duration::from_secs(120)).unwrap();
    assert!(
        first.contains("nobody") && first.contains("Content-Type: application/json")
            || first.contains("content-type: application/json"),
        "{first}"
    );
    fleet.wait_for("nobody", "quarantined");
    let mut all = first;
    while !all.contains("\"quarantined\"") {
        all += &alerts.recv_timeout(Duration::from_secs(120)).unwrap();
    }
    assert!(all.matches("\"kind\":\"failing\"").count() <= 1, "{all}");
    assert_eq!(all.matches("\"kind\":\"quarantined\"").count(), 1, "{all}");
}
