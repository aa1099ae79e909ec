//! The client against servers that misbehave: the rows D22 to D30 of the threats, by their ids.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test ends where something is not as it must be"
)]

use std::{
    io,
    net::{IpAddr, Ipv4Addr},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use instep_net::{Client, HttpError, HttpOptions, Origin, Refusal, Request, Resolve, Scope};
use instep_testkit::{FakeSource, Fault};
use resourcesync::Uri;

fn options(source: &FakeSource) -> HttpOptions {
    let mut options = HttpOptions::new(Scope::for_source(&source.url("")).unwrap());
    options.backoff = Duration::from_millis(1);
    options
}

fn client(source: &FakeSource) -> Client {
    Client::new(options(source)).unwrap()
}

fn uri(text: impl AsRef<str>) -> Uri {
    Uri::parse(text.as_ref()).unwrap()
}

async fn text(client: &Client, url: &str) -> Result<String, HttpError> {
    let mut response = client.send(&Request::get(uri(url))).await?.successful()?;
    let body = response.body.read_up_to(1 << 20).await?.expect("a small body");
    Ok(String::from_utf8_lossy(&body).into_owned())
}

fn refusal(result: Result<String, HttpError>) -> Refusal {
    match result {
        Err(HttpError::Refused { reason, .. }) => reason,
        other => panic!("not refused: {other:?}"),
    }
}

#[tokio::test]
async fn o917_a_limit_of_zero_is_no_limit() {
    let source = FakeSource::start().with_resources([("a", "one"), ("b", "two")]);
    let mut options = options(&source);
    (options.rate, options.bwlimit) = (Some(0.0), Some(0));
    let client = Client::new(options).unwrap();
    let both = async {
        for (path, held) in [("a", "one"), ("b", "two")] {
            assert_eq!(text(&client, &source.url(path)).await.unwrap(), held);
        }
    };
    tokio::time::timeout(Duration::from_secs(60), both).await.expect("the requests wait for no limit");
}

#[tokio::test]
async fn d23_private_addresses_are_refused_at_connect() {
    let bystander = FakeSource::start();
    let port = bystander.host().rsplit(':').next().unwrap();
    let client = Client::new(HttpOptions::new(Scope::default())).unwrap();
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0",
        "0.0.0.0",
        "localhost",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::127.0.0.1]",
        "[64:ff9b::7f00:1]",
        "169.254.169.254",
        "168.63.129.16",
        "10.0.0.1",
    ] {
        let reason = refusal(text(&client, &format!("http://{host}:{port}/")).await);
        assert!(matches!(reason, Refusal::PrivateAddress { .. }), "{host}: {reason}");
    }
    assert_eq!(bystander.connections(), 0);
}

#[tokio::test]
async fn d23_an_address_that_the_operator_named_is_open_on_its_port_only() {
    let (source, bystander) = (FakeSource::start().with_resources([("a", "text")]), FakeSource::start());
    let client = client(&source);
    assert_eq!(text(&client, &source.url("a")).await.unwrap(), "text");
    assert!(matches!(refusal(text(&client, &bystander.url("a")).await), Refusal::PrivateAddress { .. }));
    assert_eq!(bystander.connections(), 0);
}

/// Gives one answer after the other for every name.
struct Rebinding(Vec<IpAddr>);

impl Resolve for Rebinding {
    fn resolve(&self, _: &str) -> Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>> {
        let answer = self.0.clone();
        Box::pin(async move { Ok(answer) })
    }
}

#[tokio::test]
async fn d24_the_address_that_is_checked_is_the_one_connected_to() {
    let source = FakeSource::start();
    let port = source.host().rsplit(':').next().unwrap();
    let public = IpAddr::V4(Ipv4Addr::new(192, 31, 7, 1));
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    for answer in [vec![loopback], vec![public, loopback]] {
        let mut options = options(&source);
        options.resolver = Arc::new(Rebinding(answer));
        let client = Client::new(options).unwrap();
        let reason = refusal(text(&client, &format!("http://rebind.example:{port}/")).await);
        assert!(matches!(reason, Refusal::PrivateAddress { .. }), "{reason}");
    }
    assert_eq!(source.connections(), 0);
}

#[tokio::test]
async fn d25_redirects_are_checked_hop_by_hop() {
    let (source, other) =
        (FakeSource::start(), FakeSource::start_at("127.0.0.2", instep_testkit::Layout::new()));
    let mut options = options(&source);
    options.scope.named.push(Origin::parse(&other.url("")).unwrap());
    let client = Client::new(options).unwrap();
    source.serve("here", "arrived");
    for (index, (target, arrives)) in [
        (source.url("here"), true),
        ("/here".to_owned(), true),
        (other.url("here"), false),
        ("http://169.254.169.254/here".to_owned(), false),
        ("file:///etc/passwd".to_owned(), false),
        ("ftp://127.0.0.1/here".to_owned(), false),
        ("//[::1]/here".to_owned(), false),
        (source.url("loop"), false),
    ]
    .into_iter()
    .enumerate()
    {
        let from = if target.ends_with("loop") { "loop".to_owned() } else { format!("from-{index}") };
        source.fail_always(&from, Fault::Redirect(target.clone()));
        let result = text(&client, &source.url(&from)).await;
        if arrives { assert_eq!(result.unwrap(), "arrived", "{target}") } else { drop(refusal(result)) }
    }
    assert_eq!(other.connections(), 0);
    assert_eq!(source.requests_for("loop"), HttpOptions::REDIRECTS + 1);
}

#[tokio::test]
async fn d25_credentials_do_not_follow_a_redirect_to_another_origin() {
    let (source, other) = (FakeSource::start(), FakeSource::start());
    let mut options = options(&source);
    options.scope.allowed.push(Origin::parse(&other.url("")).unwrap());
    options.credentials.bearer(Origin::parse(&source.url("")).unwrap(), "secret").unwrap();
    let client = Client::new(options).unwrap();
    other.serve("there", "arrived");
    source.fail_always("here", Fault::Redirect(other.url("there")));
    assert_eq!(text(&client, &source.url("here")).await.unwrap(), "arrived");
    assert_eq!(source.requests()[0].header("authorization"), Some("Bearer secret"));
    assert_eq!(other.requests()[0].header("authorization"), None);
}

#[tokio::test]
async fn d28_a_slow_server_fails_and_holds_nobody_else_up() {
    let source = FakeSource::start().with_resources([("good", "text")]);
    let mut options = options(&source);
    options.timeout = Duration::from_millis(200);
    options.retries = 0;
    let client = Client::new(options).unwrap();
    let slow = [
        ("held", Fault::Hold),
        ("stalled", Fault::Stall(10)),
        ("dripping", Fault::Drip(Duration::from_millis(20))),
        ("headers", Fault::EndlessHeaders),
    ];
    for (path, fault) in slow.clone() {
        source.serve(path, vec![b'x'; 100_000]);
        source.fail_always(path, fault);
    }
    let failing: Vec<_> = slow
        .iter()
        .map(|(path, _)| {
            let (client, url) = (client.clone(), source.url(path));
            tokio::spawn(async move { text(&client, &url).await })
        })
        .collect();
    assert_eq!(text(&client, &source.url("good")).await.unwrap(), "text");
    for (task, (path, _)) in failing.into_iter().zip(&slow) {
        let error = task.await.unwrap().expect_err(path);
        assert!(matches!(error, HttpError::Timeout { .. } | HttpError::Transfer { .. }), "{path}: {error:?}");
    }
    source.release();
}

#[tokio::test(flavor = "multi_thread")]
async fn d29_a_host_is_left_alone_as_long_as_it_asks() {
    let (source, other) = (FakeSource::start(), FakeSource::start().with_resources([("a", "other")]));
    source.serve("a", "text");
    source.fail("a", [Fault::RetryAfter(503, "1000000000".to_owned())]);
    let mut options = options(&source);
    options.scope.named.push(Origin::parse(&other.url("")).unwrap());
    options.max_retry_after = Duration::from_millis(300);
    let client = Client::new(options).unwrap();
    let waiting = {
        let (client, url) = (client.clone(), source.url("a"));
        tokio::spawn(async move { text(&client, &url).await })
    };
    source.wait_for("a", 1);
    assert_eq!(text(&client, &other.url("a")).await.unwrap(), "other");
    assert_eq!(waiting.await.unwrap().unwrap(), "text");
    assert_eq!(source.requests_for("a"), 2);
}

#[tokio::test]
async fn d30_transient_failures_are_overcome_and_lasting_ones_told() {
    let source = FakeSource::start().with_resources([("a", "text")]);
    let client = client(&source);
    for faults in
        [vec![Fault::Status(500)], vec![Fault::Status(503); 5], vec![Fault::Status(502), Fault::Status(429)]]
    {
        source.fail("a", faults);
        assert_eq!(text(&client, &source.url("a")).await.unwrap(), "text");
    }
    source.forget_requests();
    source.fail_always("a", Fault::Status(500));
    assert!(matches!(text(&client, &source.url("a")).await, Err(HttpError::Status { .. })));
    assert_eq!(source.requests_for("a"), 6, "one attempt and five retries");
    source.heal();
    source.forget_requests();
    source.fail_always("b", Fault::Status(404));
    assert!(matches!(text(&client, &source.url("b")).await, Err(HttpError::Status { .. })));
    assert_eq!(source.requests_for("b"), 1, "a lasting status is not asked for again");
}

#[tokio::test]
async fn d30_a_host_that_only_fails_is_left_alone() {
    let source = FakeSource::start();
    source.fail_always("a", Fault::Status(500));
    let client = client(&source);
    let mut down = false;
    for _ in 0..20 {
        down |= matches!(text(&client, &source.url("a")).await, Err(HttpError::HostDown { .. }));
    }
    assert!(down);
    assert!(source.requests_for("a") < 60);
}

#[tokio::test]
async fn resources_are_asked_for_as_they_are_and_documents_compressed() {
    let source = FakeSource::start().with_resources([("a", "text")]);
    let client = client(&source);
    text(&client, &source.url("a")).await.unwrap();
    client.send(&Request::document(uri(source.url("a")))).await.unwrap();
    let requests = source.requests();
    assert_eq!(requests[0].header("accept-encoding"), Some("identity"));
    assert_eq!(requests[1].header("accept-encoding"), Some("gzip"));
    assert!(requests[0].header("user-agent").unwrap().starts_with("instep/"));
}

#[tokio::test(flavor = "multi_thread")]
async fn as_many_connections_are_kept_as_transfers_are_allowed() {
    const TRANSFERS: usize = 40;
    let source = FakeSource::start().with_resources([("a", "text")]);
    let mut options = options(&source);
    (options.transfers, options.per_host) = (TRANSFERS, TRANSFERS);
    let client = Client::new(options).unwrap();
    for _ in 0..5 {
        let transfers: Vec<_> = (0..TRANSFERS)
            .map(|_| {
                let (client, url) = (client.clone(), source.url("a"));
                tokio::spawn(async move { text(&client, &url).await.unwrap() })
            })
            .collect();
        for transfer in transfers {
            assert_eq!(transfer.await.unwrap(), "text");
        }
    }
    assert!(source.connections() <= TRANSFERS, "{} connections", source.connections());
}

#[tokio::test]
async fn o152_a_redirect_with_blanks_or_letters_that_no_uri_has_is_followed_as_browsers_do() {
    let source = FakeSource::start().with_resources([("x%20y", "blank"), ("caf%C3%A9", "letter")]);
    let client = client(&source);
    for (name, location, expected) in [("a", "/x y", "blank"), ("b", "/café", "letter")] {
        source.fail_always(name, Fault::Redirect(location.to_owned()));
        assert_eq!(text(&client, &source.url(name)).await.unwrap(), expected);
    }
}
