//! The files of a publication, served by nginx with the directives that the publication reports.

use instep_source::{CodingRule, Content, NoMonitor, PublishOptions, SetOptions, publish};

use super::{raw::get, semantics::Nginx, server::folder};

#[test]
fn resources_that_are_stored_coded_are_served_as_the_list_says() {
    // An empty member: as good as any.
    let coded: &[u8] = b"\x1f\x8b\x08\0\0\0\0\0\0\xff\x03\0\0\0\0\0\0\0\0\0";
    let root =
        folder(&[("records/one.xml.gz", coded), ("records/readme.txt", b"read me"), ("two.xml.gz", coded)]);
    let mut options = PublishOptions::new(root.path(), "http://example.com/");
    options.sets[0].codings = vec![CodingRule::new("records/*.xml.gz", "gzip")];
    let report = publish(&options, &NoMonitor).unwrap();
    let list = std::fs::read_to_string(root.path().join("resourcesync/resourcelist.xml")).unwrap();
    let entry = list.split("<url>").find(|entry| entry.contains("one.xml.gz")).unwrap();
    assert!(entry.contains("encoding=\"gzip\"") && entry.contains("type=\"text/xml\""), "{entry}");

    let Some(nginx) = Nginx::with(root, &report.host.nginx) else {
        assert!(std::env::var_os("CI").is_none(), "nginx is missing");
        return;
    };
    let link = Some("<http://example.com/resourcesync/capabilitylist.xml>; rel=\"resourcesync\"");
    let record = get(nginx.address, "/records/one.xml.gz");
    assert_eq!((record.status, record.body.as_slice()), (200, coded));
    assert_eq!(record.header("content-encoding"), Some("gzip"));
    assert_eq!((record.header("content-type"), record.header("link")), (Some("text/xml"), link));
    for (plain, media_type) in
        [("/records/readme.txt", "text/plain"), ("/two.xml.gz", "application/octet-stream")]
    {
        let answer = get(nginx.address, plain);
        assert_eq!((answer.header("content-encoding"), answer.header("link")), (None, link), "{plain}");
        assert_eq!(answer.header("content-type"), Some(media_type), "{plain}");
    }
    let description = get(nginx.address, "/.well-known/resourcesync");
    assert_eq!((description.status, description.header("content-type")), (200, Some("application/xml")));
}

#[test]
fn c17_nginx_serves_the_resources_and_nothing_of_the_state() {
    // Workers of root read what only root may read; others, what the mode lets them.
    let users: &[&str] = if rustix::process::geteuid().is_root() { &["user root;", ""] } else { &[""] };
    let bases = ["http://example.com/", "http://example.com/data/"];
    for (base, user) in bases.iter().flat_map(|base| users.iter().map(move |user| (*base, *user))) {
        let root = folder(&[("a.txt", b"a"), ("data/b.txt", b"b")]);
        let content =
            if base.ends_with("/data/") { root.path().join("data") } else { root.path().to_owned() };
        let path = if base.ends_with("/data/") { "/data/" } else { "/" };
        let report = publish(&PublishOptions::new(&content, base), &NoMonitor).unwrap();
        // As it would be with a careless umask.
        let state = content.join(".instep");
        let careless = user.is_empty();
        for open in
            [state.clone(), state.join("catalogue.db"), state.join("lock")].iter().filter(|_| careless)
        {
            std::fs::set_permissions(open, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        }
        let Some(nginx) = Nginx::working_as(user, root, &report.host.nginx) else {
            assert!(std::env::var_os("CI").is_none(), "nginx is missing");
            return;
        };
        for denied in [".instep/catalogue.db", ".instep/lock", ".instep/", ".instep", "%2einstep/lock"] {
            assert_eq!(get(nginx.address, &format!("{path}{denied}")).status, 404, "{path}{denied}");
        }
        assert_eq!(get(nginx.address, &format!("{path}resourcesync/resourcelist.xml")).status, 200);
    }
}

#[test]
fn each_resource_leads_to_the_sets_that_it_is_in() {
    let root = folder(&[("0.txt", b"0"), ("a/1.txt", b"1"), ("b c/2.txt", b"2")]);
    let mut options = PublishOptions::new(root.path(), "http://example.com/");
    let set = |name: &str, folder: &str, prefix: &str| {
        let mut set = SetOptions::new();
        set.name = name.to_owned();
        let prefix = Some(prefix.to_owned());
        set.content = vec![Content::Folder { root: root.path().join(folder), prefix }];
        set
    };
    options.sets = vec![
        set("one", "a", "a/"),
        set("two", "b c", "b%20c/"),
        set("three", "b c", "b%20c/"),
        set("all", "", ""),
    ];
    let report = publish(&options, &NoMonitor).unwrap();
    let listed = |set: &str| {
        let list = root.path().join("resourcesync").join(set).join("resourcelist.xml");
        std::fs::read_to_string(list).unwrap().matches("<loc>").count()
    };
    assert_eq!(["one", "two", "three", "all"].map(listed), [1, 1, 1, 3]);
    let Some(nginx) = Nginx::with(root, &report.host.nginx) else {
        assert!(std::env::var_os("CI").is_none(), "nginx is missing");
        return;
    };
    let sets = |target: &str| {
        let answer = get(nginx.address, target);
        assert_eq!(answer.status, 200, "{target}");
        let link = answer.header("link").unwrap_or_default().to_owned();
        ["one", "two", "three", "all"]
            .map(|set| link.contains(&format!("/resourcesync/{set}/capabilitylist.xml>")))
    };
    assert_eq!(sets("/a/1.txt"), [true, false, false, true]);
    assert_eq!(sets("/b%20c/2.txt"), [false, true, true, true]);
    assert_eq!(sets("/0.txt"), [false, false, false, true]);
}
