//! Rules that only several documents, or an answer of a server, can break.

mod answers;

use answers::{answers, discovery};
use resourcesync::{
    Finding, Uri,
    validate::{DocumentSet, Report, ValidateOptions, Validator, check_closed, check_up_target},
};

use super::cases::document;

const HOST: &str = "http://example.com/";

fn uri(name: &str) -> Uri {
    format!("{HOST}{name}").parse().unwrap()
}

pub(crate) fn report(text: &str) -> Report {
    Validator::default().document(text.as_bytes()).unwrap()
}

/// Returns a document with links to these names under the root.
pub(crate) fn linked(root: &str, metadata: &str, links: &[(&str, &str)], entries: &str) -> String {
    let links: String =
        links.iter().map(|(rel, name)| format!("<rs:ln rel=\"{rel}\" href=\"{HOST}{name}\"/>")).collect();
    document(root, &format!("{links}<rs:md {metadata}/>"), entries)
}

pub(crate) fn entry(element: &str, name: &str, metadata: &str) -> String {
    format!("<{element}><loc>{HOST}{name}</loc><rs:md {metadata}/></{element}>")
}

/// Returns the findings between one document and the one its first entry leads to.
fn between(parent: &str, target: &str) -> Vec<Finding> {
    let (parent, target) = (report(parent), report(target));
    let mut set = DocumentSet::new();
    set.insert(parent.children[0].loc.clone(), target);
    set.insert(uri("parent.xml"), parent);
    set.check().into_iter().map(|(_, finding)| finding).collect()
}

/// Checks that the findings of one case have a rule and those of another do not.
pub(crate) fn expect(
    rule: &'static str,
    passes: impl IntoIterator<Item = Finding>,
    fails: impl IntoIterator<Item = Finding>,
) -> &'static str {
    let passes: Vec<_> = passes.into_iter().collect();
    assert!(!passes.iter().any(|finding| finding.rule == rule), "{rule} passes: {passes:#?}");
    let fails: Vec<_> = fails.into_iter().collect();
    assert!(fails.iter().any(|finding| finding.rule == rule), "{rule} fails: {fails:#?}");
    rule
}

/// Checks every rule of this file; their ids.
pub(crate) fn check_all() -> Vec<&'static str> {
    let mut rules = members();
    rules.extend(structure());
    rules.extend(sets());
    rules.extend(answers());
    rules.extend(discovery());
    rules.extend(versions());
    rules
}

fn members() -> Vec<&'static str> {
    let index = |capability: &str, times: &str, member: &str| {
        linked(
            "sitemapindex",
            &format!("capability=\"{capability}\" {times}"),
            &[("up", "up.xml")],
            &entry("sitemap", "m.xml", member),
        )
    };
    let lists = index("resourcelist", "at=\"2013-01-03T09:00:00Z\"", "at=\"2013-01-03T09:00:00Z\"");
    let member = |metadata: &str, links: &[(&str, &str)]| linked("urlset", metadata, links, "");
    let both: &[(&str, &str)] = &[("up", "up.xml"), ("index", "parent.xml")];
    let list = "capability=\"resourcelist\" at=\"2013-01-03T09:00:00Z\"";
    let right = member(list, both);
    let mut rules = vec![
        expect("GEN-9", between(&lists, &right), between(&lists, &lists)),
        expect(
            "GEN-10",
            between(&lists, &right),
            between(&lists, &member("capability=\"changelist\" from=\"2013-01-03T09:00:00Z\"", both)),
        ),
        expect("NAV-2", between(&lists, &right), between(&lists, &member(list, &[("up", "parent.xml")]))),
        expect(
            "NAV-4",
            between(&lists, &right),
            between(&lists, &member(list, &[("up", "up.xml"), ("index", "x.xml")])),
        ),
        expect(
            "TIME-12",
            between(&lists, &right),
            between(&lists, &member(&list.replace("09:", "10:"), both)),
        ),
        expect("RL-4", between(&lists, &right), between(&lists, &member(list, &[("up", "up.xml")]))),
    ];
    let from = "from=\"2013-01-03T00:00:00Z\"";
    let closed = format!("{from} until=\"2013-01-04T00:00:00Z\"");
    let changes = |said: &str, own: &str| {
        between(&index("changelist", from, said), &member(&format!("capability=\"changelist\" {own}"), both))
    };
    rules.push(expect("CLI-9", changes(&closed, &closed), changes(from, &closed)));
    rules.push(expect("CLI-10", changes(from, from), changes(&closed, from)));
    for (rule, capability, time) in [
        ("RD-4", "resourcedump", "at=\"2013-01-03T09:00:00Z\""),
        ("CL-4", "changelist", from),
        ("CD-4", "changedump", from),
    ] {
        let metadata = format!("capability=\"{capability}\" {time}");
        let below = |links: &[(&str, &str)]| {
            let mut options = ValidateOptions::new();
            options.below_index = true;
            Validator::new(options).document(member(&metadata, links).as_bytes()).unwrap().findings
        };
        rules.push(expect(rule, below(both), below(&[("up", "up.xml")])));
    }
    rules
}

fn structure() -> Vec<&'static str> {
    let sets = linked(
        "urlset",
        "capability=\"description\"",
        &[],
        &entry("url", "caps.xml", "capability=\"capabilitylist\""),
    );
    let caps = |up: &str| {
        linked(
            "urlset",
            "capability=\"capabilitylist\"",
            &[("up", up)],
            &entry("url", "list.xml", "capability=\"resourcelist\""),
        )
    };
    let list = |up: &str| {
        linked("urlset", "capability=\"resourcelist\" at=\"2013-01-03T09:00:00Z\"", &[("up", up)], "")
    };
    let changes = linked(
        "urlset",
        "capability=\"changelist\" from=\"2013-01-03T09:00:00Z\"",
        &[("up", "parent.xml")],
        "",
    );
    let archive = linked(
        "urlset",
        "capability=\"resourcelist-archive\"",
        &[("up", "caps.xml")],
        &entry("url", "list.xml", "at=\"2012-01-03T09:00:00Z\""),
    );
    let framework = linked(
        "urlset",
        "capability=\"framework-notification\"",
        &[("up", "caps.xml")],
        &entry("url", "list.xml", "change=\"created\" capability=\"resourcelist\""),
    );
    let header = |text: &str| report(text).header.unwrap();
    let index = list("caps.xml").replace("urlset", "sitemapindex");
    vec![
        expect("SD-7", between(&sets, &caps("parent.xml")), between(&sets, &list("parent.xml"))),
        expect("CAP-6", between(&caps("sd.xml"), &list("parent.xml")), between(&caps("sd.xml"), &changes)),
        expect("NAV-3", between(&caps("sd.xml"), &list("parent.xml")), between(&caps("sd.xml"), &changes)),
        expect(
            "NAV-1",
            between(&caps("sd.xml"), &list("parent.xml")),
            between(&caps("sd.xml"), &list("other.xml")),
        ),
        expect(
            "NAV-1",
            check_up_target(&header(&list("u")), &header(&caps("s"))),
            check_up_target(&header(&list("u")), &header(&sets)),
        ),
        expect(
            "NAV-2",
            check_up_target(&header(&list("u")), &header(&caps("s"))),
            check_up_target(&header(&list("u")), &header(&index)),
        ),
        expect(
            "CAP-3",
            check_up_target(&header(&caps("u")), &header(&sets)),
            check_up_target(&header(&caps("u")), &header(&caps("u"))),
        ),
        expect("ARC-13", between(&archive, &list("caps.xml")), between(&archive, &changes)),
        expect("FN-3", between(&framework, &list("caps.xml")), between(&framework, &index)),
    ]
}

/// Returns the findings of a set of documents, given by name.
fn together(documents: &[(&str, String)]) -> Vec<Finding> {
    let mut set = DocumentSet::new();
    for (name, text) in documents {
        set.insert(uri(name), report(text));
    }
    set.check().into_iter().map(|(_, finding)| finding).collect()
}

fn sets() -> Vec<&'static str> {
    let at = "at=\"2013-01-03T09:00:00Z\"";
    let part = |name: &str| {
        linked(
            "urlset",
            &format!("capability=\"resourcelist\" {at}"),
            &[("up", "caps.xml"), ("index", "index.xml")],
            &entry("url", name, "length=\"1\""),
        )
    };
    let parts = format!("{}{}", entry("sitemap", "part1.xml", at), entry("sitemap", "part2.xml", at));
    let index =
        linked("sitemapindex", &format!("capability=\"resourcelist\" {at}"), &[("up", "caps.xml")], &parts);
    let union = |second: &str| {
        together(&[("index.xml", index.clone()), ("part1.xml", part("a")), ("part2.xml", part(second))])
    };

    let offers = format!(
        "{}{}",
        entry("url", "list.xml", "capability=\"resourcelist\""),
        entry("url", "dump.xml", "capability=\"resourcedump\"")
    );
    let caps = linked("urlset", "capability=\"capabilitylist\"", &[("up", "sd.xml")], &offers);
    let dump = linked(
        "urlset",
        &format!("capability=\"resourcedump\" {at}"),
        &[("up", "caps.xml")],
        &format!("<url><loc>{HOST}p.zip</loc><rs:ln rel=\"contents\" href=\"{HOST}p.xml\"/></url>"),
    );
    let manifest = linked(
        "urlset",
        &format!("capability=\"resourcedump-manifest\" {at}"),
        &[("up", "caps.xml")],
        &entry("url", "a", "path=\"/a\""),
    );
    let coverage = |name: &str| {
        together(&[
            ("caps.xml", caps.clone()),
            ("list.xml", part(name)),
            ("dump.xml", dump.clone()),
            ("p.xml", manifest.clone()),
        ])
    };
    let twins = |name: &str| together(&[("list.xml", part("a")), ("list.xml.gz", part(name))]);
    vec![
        expect("RLI-7", union("b"), union("a")),
        expect("CAP-9", coverage("a"), coverage("b")),
        expect("GEN-27", twins("a"), twins("b")),
    ]
}

fn versions() -> Vec<&'static str> {
    let changes = |until: &str| {
        let text = linked(
            "urlset",
            &format!("capability=\"changelist\" from=\"2013-01-03T09:00:00Z\" {until}"),
            &[("up", "caps.xml")],
            "",
        );
        report(&text).header.unwrap()
    };
    let closed = changes("until=\"2013-01-04T00:00:00Z\"");
    let mut old = ValidateOptions::new();
    old.version = resourcesync::SpecVersion::V1_0;
    let dated = |lastmod: &str| {
        let entry = format!("<url><loc>{HOST}a</loc>{lastmod}<rs:md change=\"updated\"/></url>");
        let text = linked(
            "urlset",
            "capability=\"changelist\" from=\"2013-01-03T09:00:00Z\"",
            &[("up", "caps.xml")],
            &entry,
        );
        Validator::new(old.clone()).document(text.as_bytes()).unwrap().findings
    };
    vec![
        expect("TIME-6", check_closed(&closed, true), check_closed(&closed, false)),
        expect("TIME-6", check_closed(&changes(""), false), check_closed(&closed, false)),
        expect("DIA-9", dated("<lastmod>2013-01-03T10:00:00Z</lastmod>"), dated("")),
    ]
}
