//! A passing and a failing document for each rule that a document can break.

use resourcesync::Severity::{self, Error, Info, Warning};

/// One rule, a document that follows it, one that breaks it, and the weight of the finding.
pub(crate) struct Case {
    pub(crate) rule: &'static str,
    pub(crate) passes: String,
    pub(crate) fails: String,
    pub(crate) severity: Severity,
}

const UP: &str = r#"<rs:ln rel="up" href="http://example.com/up.xml"/>"#;
const ABOUT: &str = r#"<rs:ln rel="describedby" href="http://example.com/about.xml"/>"#;
const AT: &str = r#" at="2013-01-03T09:00:00Z""#;
const FROM: &str = r#" from="2013-01-03T00:00:00Z""#;

/// A document: its root element, what stands before the entries, and the entries.
pub(crate) fn document(root: &str, head: &str, entries: &str) -> String {
    format!(
        "<{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
         xmlns:rs=\"http://www.openarchives.org/rs/terms/\">\n{head}\n{entries}\n</{root}>\n"
    )
}

/// The kinds of documents with a right root; `entries` stand in place of `{}`.
fn of(kind: &str, entries: &str) -> String {
    with(kind, "", "", entries)
}

/// The same with more attributes and elements on the root.
fn with(kind: &str, attributes: &str, head: &str, entries: &str) -> String {
    let (root, capability, time) = match kind {
        "SD" => ("urlset", "description", ""),
        "SDI" => ("sitemapindex", "description", ""),
        "CAP" => ("urlset", "capabilitylist", ""),
        "CAPI" => ("sitemapindex", "capabilitylist", ""),
        "RL" => ("urlset", "resourcelist", AT),
        "RLI" => ("sitemapindex", "resourcelist", AT),
        "RD" => ("urlset", "resourcedump", AT),
        "RDI" => ("sitemapindex", "resourcedump", AT),
        "RDM" => ("urlset", "resourcedump-manifest", AT),
        "CL" => ("urlset", "changelist", FROM),
        "CLI" => ("sitemapindex", "changelist", FROM),
        "CD" => ("urlset", "changedump", FROM),
        "CDI" => ("sitemapindex", "changedump", FROM),
        "CDM" => ("urlset", "changedump-manifest", FROM),
        "CN" => ("urlset", "change-notification", ""),
        "CNI" => ("sitemapindex", "change-notification", ""),
        "FN" => ("urlset", "framework-notification", ""),
        archive => ("urlset", archive, ""),
    };
    let links = match kind {
        "SD" => ABOUT.to_owned(),
        "SDI" => String::new(),
        "CAP" => format!("{UP}{ABOUT}"),
        _ => UP.to_owned(),
    };
    document(root, &format!("{links}{head}\n<rs:md capability=\"{capability}\"{time}{attributes}/>"), entries)
}

/// The same without a part of its text, which must be there.
fn without(document: &str, part: &str) -> String {
    assert!(document.contains(part), "{part} is not in {document}");
    document.replacen(part, "", 1)
}

/// An entry with attributes on its `rs:md`, and more elements.
fn url(metadata: &str, more: &str) -> String {
    named("url", "http://example.com/res1", metadata, more)
}

fn sitemap(metadata: &str) -> String {
    named("sitemap", "http://example.com/part1.xml", metadata, "")
}

fn named(element: &str, loc: &str, metadata: &str, more: &str) -> String {
    let md = if metadata.is_empty() { String::new() } else { format!("<rs:md {metadata}/>") };
    let (before, after) = match more.strip_prefix('^') {
        Some(before) => (before, ""),
        None => ("", more),
    };
    format!("  <{element}><loc>{loc}</loc>{before}{md}{after}</{element}>\n")
}

/// A change at an hour of the day.
fn change(kind: &str, hour: u32, more: &str) -> String {
    url(&format!("change=\"{kind}\" datetime=\"2013-01-03T{hour:02}:00:00Z\" {more}"), "")
}

fn link(rel: &str, more: &str) -> String {
    format!("<rs:ln rel=\"{rel}\" href=\"http://example.com/other\" {more}/>")
}

const PATCH: &str = "http://www.openarchives.org/rs/terms/patch";
const MD5: &str = "md5:1584abdf8ebdc9802ac0c6a7402c03b6";

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let mut add = |rule, severity, passes: String, fails: String| {
        cases.push(Case { rule, passes, fails, severity });
    };
    general(&mut add);
    attributes(&mut add);
    times(&mut add);
    descriptions(&mut add);
    lists(&mut add);
    dumps(&mut add);
    links(&mut add);
    companions(&mut add);
    cases
}

type Add<'c> = &'c mut dyn FnMut(&'static str, Severity, String, String);

fn general(add: Add<'_>) {
    let plain = url("", "");
    let list = of("RL", &plain);
    add("GEN-1", Error, list.clone(), list.replace("sitemap/0.9", "sitemap/0.8"));
    add("GEN-2", Error, list.clone(), list.replace("rs/terms/", "rs/terms"));
    add("GEN-3", Error, list.clone(), document("urlset", UP, &plain));
    add("GEN-4", Error, list.clone(), list.replace("capability=\"resourcelist\"", "capability=\" \""));
    add("GEN-5", Warning, list.clone(), list.replace("\"resourcelist\"", "\"resourceinventory\""));
    add("GEN-6", Error, list.clone(), of("RL", &url("rs:length=\"1\"", "")));
    let foreign = url("x:colour=\"red\" xmlns:x=\"http://example.com/x\"", "");
    add("GEN-7", Error, of("RL", &foreign), of("RL", &url("colour=\"red\"", "")));
    add("GEN-10", Error, of("RLI", &sitemap("")), of("RLI", "").replace("resourcelist", "resourcelistindex"));
    add("GEN-12", Warning, of("RL", &plain), of("RL", &many(50_001)));
    add("GEN-13", Error, list.clone(), of("RL", &sitemap("")));
    add("GEN-14", Error, list.clone(), of("RL", "<url><lastmod>2013-01-01T00:00:00Z</lastmod></url>"));
    let lastmod = "<lastmod>2013-01-01T00:00:00Z</lastmod>";
    add("GEN-15", Error, of("RL", &url("", lastmod)), of("RL", &url("", &format!("{lastmod}{lastmod}"))));
    let freq = |value| of("RL", &url("", &format!("<changefreq>{value}</changefreq>")));
    add("GEN-16", Error, freq("daily"), freq("fortnightly"));
    add(
        "GEN-18",
        Error,
        of("RL", &url("length=\"1\"", "")),
        of("RL", &url("length=\"1\"", "<rs:md length=\"1\"/>")),
    );
    let linked = |link: &str| of("RL", &url("", link));
    add("GEN-20", Error, linked(&link("via", "")), linked("<rs:ln rel=\"via\"/>"));
    add("GEN-21", Error, linked(&link("http://example.com/rel", "")), linked(&link("bestFriend", "")));
    add("GEN-22", Error, list.clone(), list.replace("<url>", "<url id=\"1\">"));
    add(
        "GEN-23",
        Warning,
        of("RL", &url("length=\"1\"", "^<priority>0.5</priority>")),
        of("RL", &url("length=\"1\"", lastmod)),
    );
    add("GEN-24", Error, list.clone(), list.replace("</loc>", "&nbsp</loc>"));
    add("GEN-26", Error, list.clone(), format!("<!DOCTYPE urlset [<!ENTITY a \"a\">]>{list}"));
    add("NAV-5", Error, list.clone(), list.replace("http://example.com/up.xml", "up.xml"));
}

fn many(count: u32) -> String {
    (0..count).map(|index| format!("<url><loc>http://e.com/{index}</loc></url>\n")).collect()
}

fn attributes(add: Add<'_>) {
    let list = of("RL", "");
    let changes = of("CL", "");
    let rl = |metadata: &str| of("RL", &url(metadata, ""));
    add("ATT-1", Info, list.clone(), with("CL", AT, "", ""));
    add(
        "ATT-2",
        Info,
        with("RL", " completed=\"2013-01-03T09:10:00Z\"", "", ""),
        with("CL", " completed=\"2013-01-03T09:10:00Z\"", "", ""),
    );
    add("ATT-3", Info, changes.clone(), with("RL", FROM, "", ""));
    add(
        "ATT-4",
        Info,
        with("CL", " until=\"2013-01-04T00:00:00Z\"", "", ""),
        with("RL", " until=\"2013-01-04T00:00:00Z\"", "", ""),
    );
    add("ATT-5", Info, of("RLI", &sitemap(AT)), rl(AT));
    add("ATT-6", Info, of("CLI", &sitemap(FROM)), of("CL", &change("created", 1, FROM)));
    add(
        "ATT-7",
        Info,
        of("CAP", &url("capability=\"resourcelist\"", "")),
        of("CAP", &url("length=\"1\"", "")),
    );
    add("ATT-8", Error, of("CL", &change("updated", 1, "")), of("CL", &change("replaced", 1, "")));
    add("ATT-9", Warning, of("CL", &change("updated", 1, "")), rl("datetime=\"2013-01-03T00:00:00Z\""));
    let closed = |hour| with("CL", " until=\"2013-01-03T12:00:00Z\"", "", &change("updated", hour, ""));
    add("ATT-10", Error, closed(12), closed(13));
    add(
        "ATT-12",
        Error,
        rl(&format!("hash=\"{MD5}\n sha-1:{}\"", "0".repeat(40))),
        rl("hash=\"d41d8cd98f00b204e9800998ecf8427e\""),
    );
    add("ATT-13", Warning, rl(&format!("hash=\"{}\"", MD5.to_uppercase())), rl("hash=\"md5:1584\""));
    add("ATT-14", Warning, rl(&format!("hash=\"{MD5}\"")), rl(&format!("hash=\"{MD5} {MD5}\"")));
    add("ATT-15", Error, rl("length=\"0\""), rl("length=\"+1\""));
    add("ATT-16", Error, of("RDM", &url("path=\"/a\" type=\"text/html\"", "")), rl("path=\"/a\""));
    let manifest = |path: &str| of("RDM", &url(&format!("path=\"{path}\" type=\"text/html\""), ""));
    for bad in ["a", "/a/", "/../a", "/"] {
        add("ATT-17", Error, manifest("/a/b"), manifest(bad));
    }
    add("ATT-18", Warning, rl("type=\"application/atom+xml; charset=utf-8\""), rl("type=\"html\""));
    add(
        "ATT-19",
        Warning,
        of("RL", &url("", &link("via", "modified=\"2013-01-01T00:00:00Z\""))),
        rl("modified=\"2013-01-01T00:00:00Z\""),
    );
    let pri = |pri: &str| of("RL", &url("", &link("duplicate", &format!("pri=\"{pri}\""))));
    for bad in ["0", "1000000", "first", "-1"] {
        add("ATT-20", Error, pri("999999"), pri(bad));
    }
    let alternate = |metadata| of("RL", &url(metadata, &link("alternate", "type=\"text/html\"")));
    add("ATT-21", Info, alternate(""), alternate("length=\"1\""));
    for bad in ["2013-01-03T09:00:00", "2013-1-3", "yesterday", "2013-01-03T24:00:00Z"] {
        add("ATT-22", Error, list.clone(), list.replace("2013-01-03T09:00:00Z", bad));
    }
    add("ATT-23", Warning, list.clone(), list.replace("2013-01-03T09:00:00Z", "2013-01-03"));
}

fn times(add: Add<'_>) {
    let at = |kind| with(kind, AT, "", "");
    let from = |kind| with(kind, FROM, "", "");
    for (kind, wrong) in [
        ("RL", from("RL")),
        ("RLI", from("RLI")),
        ("RD", from("RD")),
        ("RDI", from("RDI")),
        ("RDM", from("RDM")),
        ("CL", at("CL")),
        ("CLI", at("CLI")),
        ("CD", at("CD")),
        ("CDI", at("CDI")),
        ("CDM", at("CDM")),
        ("RL", of("RL", &url(AT, ""))),
        ("RLI", of("RLI", &sitemap(FROM))),
        ("RD", of("RD", &url(FROM, ""))),
        ("RDI", of("RDI", &sitemap(FROM))),
        ("RDM", of("RDM", &url(AT, ""))),
        ("CL", of("CL", &url(AT, ""))),
        ("CLI", of("CLI", &sitemap(AT))),
        ("CD", of("CD", &url(AT, ""))),
        ("CDI", of("CDI", &sitemap(AT))),
        ("CDM", of("CDM", &url(FROM, ""))),
        ("RL", of("RL", &url(FROM, ""))),
        ("RDM", of("RDM", &url(FROM, ""))),
        ("CL", of("CL", &url(FROM, ""))),
        ("CDM", of("CDM", &url(AT, ""))),
    ] {
        add("TIME-1", Error, of(kind, ""), wrong);
    }
    let completed = |time| with("RL", &format!(" completed=\"2013-01-03T{time}:00:00Z\""), "", "");
    add("TIME-2", Error, completed("10"), with("CL", " completed=\"2013-01-04T00:00:00Z\"", "", ""));
    add("TIME-2", Warning, completed("10"), of("RLI", &sitemap("completed=\"2013-01-03T09:30:00Z\"")));
    let modified = |time| of("RL", &url("", &format!("<lastmod>2013-01-03T{time}:00:00Z</lastmod>")));
    add("TIME-3", Info, modified("09"), modified("10"));
    add("TIME-4", Error, completed("09"), completed("08"));
    let until = |day| with("CL", &format!(" until=\"2013-01-{day}T00:00:00Z\""), "", "");
    add("TIME-8", Warning, until("03"), until("02"));
    let member = |hour: u32| of("RLI", &sitemap(&format!("at=\"2013-01-03T{hour:02}:00:00Z\"")));
    add("TIME-11", Info, member(9), member(8));
    let interval = |from: u32, until: u32| {
        sitemap(&format!("from=\"2013-01-{from:02}T00:00:00Z\" until=\"2013-01-{until:02}T00:00:00Z\""))
    };
    let index = |second: u32| {
        of("CLI", &format!("{}{}", interval(3, 4), interval(second, 6).replace("part1", "part2")))
    };
    add("TIME-13", Info, index(4), index(5));
    let pair = |first, second| {
        of("CL", &format!("{}{}", change("created", first, ""), change("updated", second, "")))
    };
    add("TIME-14", Info, pair(3, 3), pair(4, 3));
}

fn descriptions(add: Add<'_>) {
    let set = format!("{}{}", url("capability=\"capabilitylist\"", ABOUT), "");
    let description = of("SD", &set);
    add("SD-4", Warning, description.clone(), description.replace("\"description\"", "\"resourcesync\""));
    add("SD-4", Error, description.clone(), description.replace("\"description\"", "\"Description\""));
    add("SD-5", Warning, description.clone(), without(&description, ABOUT));
    add("SD-6", Warning, description.clone(), of("SD", &format!("{set}{set}")));
    add("SD-8", Error, description.clone(), of("SD", &url("capability=\"resourcelist\"", ABOUT)));
    add("SD-8", Warning, description.clone(), of("SD", &url("", ABOUT)));
    add("SD-9", Warning, description.clone(), of("SD", &url("capability=\"capabilitylist\"", "")));
    let lastmod = "^<lastmod>2013-01-01T00:00:00Z</lastmod>";
    add("SD-10", Info, description.clone(), of("SD", &url("capability=\"capabilitylist\"", lastmod)));
    add(
        "SD-11",
        Error,
        of("SDI", &sitemap("")),
        of("SDI", &sitemap("")).replace("\"description\"", "\"Description\""),
    );
    add("SD-12", Warning, description, with("SD", "", UP, &set));

    let one = url("capability=\"resourcelist\"", "");
    let list = of("CAP", &one);
    add("CAP-1", Warning, list.clone(), of("CAPI", &sitemap("")));
    add("CAP-2", Error, list.clone(), list.replace("\"capabilitylist\"", "\"CapabilityList\""));
    add("CAP-3", Error, list.clone(), without(&list, UP));
    add("CAP-4", Warning, list.clone(), without(&list, ABOUT));
    add("CAP-7", Error, list.clone(), of("CAP", &url("", "")));
    add("CAP-8", Error, list.clone(), of("CAP", &format!("{one}{}", one.replace("res1", "res2"))));
    add("CAP-11", Info, list.clone(), of("CAP", &url("capability=\"resourcelist\"", lastmod)));
    add("CAP-12", Warning, list.clone(), of("CAPI", &sitemap("")));
    add("CAP-14", Info, list, with("CAP", AT, "", &one));
    let channel = |scheme: &str| {
        of(
            "CAP",
            &named("url", &format!("{scheme}://example.com/c"), "capability=\"change-notification\"", ""),
        )
    };
    add("CN-3", Error, channel("https"), channel("ftp"));
    add("N8-2", Info, channel("ws"), channel("ftp"));
    let two = channel("wss").replace(
        "</urlset>",
        "<url><loc>wss://example.com/d</loc><rs:md capability=\"change-notification\"/></url></urlset>",
    );
    add("CN-2", Info, channel("wss"), two.clone());
    add("N8-1", Info, channel("wss"), two);
}

fn lists(add: Add<'_>) {
    let one = url("", "");
    let two = format!("{one}{}", one.replace("res1", "res2"));
    let list = of("RL", &two);
    add("RL-1", Error, list.clone(), list.replace("\"resourcelist\"", "\"ResourceList\""));
    add("RL-2", Error, list.clone(), without(&list, AT));
    add("RL-3", Error, list.clone(), without(&list, UP));
    add("RL-5", Warning, list.clone(), of("RL", &format!("{one}{one}")));
    add("RL-6", Info, list.clone(), list.replace("http://example.com/res1", ""));
    add("RL-7", Info, list, of("RL", &url("capability=\"resourcelist\"", "")));
    let part = sitemap("");
    let index = of("RLI", &part);
    add("RLI-1", Error, index.clone(), index.replace("\"resourcelist\"", "\"resource_list\""));
    add("RLI-2", Error, index.clone(), without(&index, AT));
    add("RLI-3", Error, index.clone(), without(&index, UP));
    add("RLI-4", Warning, index.clone(), of("RLI", &format!("{part}{part}")));
    add("RLI-5", Info, index.clone(), index.replace("http://example.com/part1.xml", "part 1"));
    add("RLI-6", Info, index, of("RLI", &sitemap(FROM)));

    let early = change("created", 1, "");
    let late = change("updated", 2, "");
    let changes = of("CL", &format!("{early}{late}"));
    add("CL-1", Error, changes.clone(), changes.replace("\"changelist\"", "\"change-list\""));
    add("CL-2", Error, changes.clone(), without(&changes, FROM));
    add("CL-3", Error, changes.clone(), without(&changes, UP));
    add("CL-6", Error, changes.clone(), of("CL", &format!("{late}{early}")));
    add("CL-7", Info, changes.clone(), changes.replace("http://example.com/res1", "//"));
    add("CL-8", Error, changes.clone(), of("CL", &url("length=\"1\"", "")));
    add("CL-9", Info, changes.clone(), of("CL", &change("updated", 1, "path=\"/a\"")));
    add("CL-10", Info, changes.clone(), of("CL", &url("change=\"updated\"", "")));
    add(
        "CL-14",
        Warning,
        of("CL", &change("deleted", 1, "")),
        of("CL", &change("deleted", 1, "length=\"1\"")),
    );

    let interval = |day: u32| {
        sitemap(&format!("from=\"2013-01-{day:02}T00:00:00Z\"")).replace("part1", &format!("part{day}"))
    };
    let index = of("CLI", &interval(4));
    add("CLI-2", Error, index.clone(), of("CLI", &format!("{}{}", interval(5), interval(4))));
    add("CLI-3", Error, index.clone(), index.replace("\"changelist\"", "\"Changelist\""));
    add("CLI-4", Error, index.clone(), without(&index, FROM));
    add("CLI-5", Error, index.clone(), without(&index, UP));
    add("CLI-6", Warning, index.clone(), of("CLI", &format!("{}{}", interval(4), interval(4))));
    add("CLI-7", Info, index.clone(), index.replace("http://example.com/part4.xml", ""));
    add("CLI-8", Warning, index, of("CLI", &sitemap("")));
}

fn dumps(add: Add<'_>) {
    let package = url("type=\"application/zip\" length=\"1\"", "");
    let dump = of("RD", &package);
    add("RD-1", Error, dump.clone(), dump.replace("\"resourcedump\"", "\"resource-dump\""));
    add("RD-2", Error, dump.clone(), without(&dump, AT));
    add("RD-3", Error, dump.clone(), without(&dump, UP));
    add("RD-5", Warning, dump.clone(), of("RD", &format!("{package}{package}")));
    add("RD-6", Info, dump.clone(), dump.replace("http://example.com/res1", ""));
    add("RD-7", Warning, dump.clone(), of("RD", &url("type=\"application/zip\"", "")));
    let index = of("RDI", &sitemap(""));
    add("RD-11", Error, index.clone(), without(&index, AT));
    let tar = url("type=\"application/x-tar\" length=\"1\"", "").replace("res1", "res2");
    add("ZIP-1", Info, dump.clone(), of("RD", &tar));
    add("ZIP-2", Warning, dump, of("RD", &format!("{package}{tar}")));

    let manifest = of("RDM", &url("path=\"/a\" type=\"text/html\"", ""));
    let nested = manifest.replace("urlset", "sitemapindex").replace("url>", "sitemap>");
    add("RDM-1", Error, manifest.clone(), nested);
    add("RDM-2", Error, manifest.clone(), without(&manifest, AT));
    add("RDM-3", Error, manifest.clone(), without(&manifest, UP));
    add("RDM-5", Info, manifest.clone(), manifest.replace("http://example.com/res1", ""));
    add("RDM-6", Error, manifest.clone(), of("RDM", &url("type=\"text/html\"", "")));
    add("RDM-7", Warning, manifest, of("RDM", &url("path=\"/a\"", "")));

    let interval = |day: u32| {
        let metadata = format!("type=\"application/zip\" length=\"1\" from=\"2013-01-{day:02}T00:00:00Z\"");
        url(&metadata, "").replace("res1", &format!("res{day}"))
    };
    let changes = of("CD", &format!("{}{}", interval(3), interval(4)));
    add("CD-1", Error, changes.clone(), changes.replace("\"changedump\"", "\"ChangeDump\""));
    add("CD-2", Error, changes.clone(), without(&changes, FROM));
    add("CD-3", Error, changes.clone(), without(&changes, UP));
    add("CD-5", Warning, changes.clone(), of("CD", &format!("{}{}", interval(3), interval(3))));
    add("CD-6", Warning, changes.clone(), of("CD", &format!("{}{}", interval(4), interval(3))));
    add("CD-7", Info, changes.clone(), changes.replace("http://example.com/res3", ""));
    add("CD-8", Warning, changes.clone(), of("CD", &url("", "")));
    add("CD-9", Info, changes.clone(), of("CD", &package));
    add("CD-12", Warning, changes, of("CD", &format!("{package}{tar}")));
    let index = of("CDI", &sitemap(FROM));
    add("CD-13", Error, index.clone(), without(&index, UP));

    let change = |hour: u32, more: &str| change("updated", hour, &format!("type=\"text/html\" {more}"));
    let manifest = of("CDM", &format!("{}{}", change(1, "path=\"/a\""), change(2, "path=\"/b\"")));
    add("CDM-1", Error, manifest.clone(), manifest.replace("urlset", "sitemapindex"));
    add("CDM-2", Error, manifest.clone(), without(&manifest, FROM));
    add("CDM-3", Error, manifest.clone(), without(&manifest, UP));
    add(
        "CDM-4",
        Error,
        manifest.clone(),
        of("CDM", &format!("{}{}", change(2, "path=\"/a\""), change(1, "path=\"/b\""))),
    );
    add("CDM-6", Error, manifest.clone(), of("CDM", &url("path=\"/a\" type=\"text/html\"", "")));
    add("CDM-7", Error, manifest.clone(), of("CDM", &change(1, "")));
    let deleted = url("change=\"deleted\" path=\"/a\"", "");
    add("CDM-7", Warning, manifest.clone(), of("CDM", &deleted));
    add("CDM-8", Warning, manifest.clone(), of("CDM", &url("change=\"updated\" path=\"/a\"", "")));
    add(
        "CDM-10",
        Error,
        manifest.clone(),
        of("CDM", &format!("{}{}", change(1, "path=\"/a\""), change(2, "path=\"/a\""))),
    );
    let patched = |more: &str| {
        let patch = link(PATCH, &format!("type=\"application/json-patch+json\" {more}"));
        of("CDM", &url("change=\"updated\" path=\"/a\" type=\"text/html\"", &patch))
    };
    add("CDM-11", Error, patched("path=\"/p\""), patched(""));
}

fn links(add: Add<'_>) {
    let rl = |metadata: &str, links: String| of("RL", &url(metadata, &links));
    let cl = |links: String| of("CL", &url("change=\"updated\" datetime=\"2013-01-03T01:00:00Z\"", &links));
    let patch = |more: &str| cl(link(PATCH, more));
    add(
        "LN-1",
        Info,
        rl("", link("via", "")),
        of("CAP", &url("capability=\"resourcelist\"", &link("via", ""))),
    );
    add(
        "LN-4",
        Error,
        rl("length=\"1\"", link("duplicate", "")),
        rl("length=\"1\"", link("duplicate", "length=\"2\"")),
    );
    add(
        "LN-4",
        Info,
        rl("length=\"1\"", link("duplicate", "")),
        rl("length=\"1\"", link("duplicate", "length=\"1\"")),
    );
    add("LN-7", Warning, rl("", link("alternate", "type=\"text/html\"")), rl("", link("alternate", "")));
    add("LN-9", Error, patch("type=\"application/json-patch\""), patch(""));
    add("LN-10", Info, patch("type=\"application/json-patch+json\""), patch("type=\"text/plain\""));
    add(
        "LN-11",
        Error,
        patch("type=\"application/json-patch\""),
        rl("", link(PATCH, "type=\"application/json-patch\"")),
    );
    let description = format!(
        "{}{}",
        url("", &link("describedby", "")),
        named(
            "url",
            "http://example.com/other",
            "",
            "<rs:ln rel=\"describes\" href=\"http://example.com/res1\"/>"
        )
    );
    add("LN-14", Info, of("RL", &description), rl("", link("describedby", "")));
    let profile = format!("{}{}", link("describes", ""), link("profile", ""));
    add("LN-15", Info, rl("", profile), rl("", link("describes", "")));
    for (rule, rel) in [("LN-8", "canonical"), ("LN-16", "memento"), ("LN-22", "via")] {
        add(rule, Warning, rl("", link(rel, "")), rl("", format!("{}{}", link(rel, ""), link(rel, ""))));
    }
    add("LN-18", Warning, rl("", link("timegate", "")), rl("", link("timegate", "type=\"text/html\"")));
    for (rule, rel) in [
        ("LN-3", "duplicate"),
        ("LN-6", "alternate"),
        ("LN-17", "timegate"),
        ("LN-19", "timemap"),
        ("LN-20", "collection"),
        ("LN-21", "via"),
    ] {
        add(rule, Info, rl("", link(rel, "")), rl("", format!("<rs:ln rel=\"{rel}\"/>")));
    }
    let contents = link("contents", "");
    let package = of("RD", &url("type=\"application/zip\" length=\"1\"", &contents));
    add("LN-24", Warning, package, rl("", contents));
    let archives = link("archives", "");
    add("ARC-4", Warning, with("CL", "", &archives, ""), rl("", archives));
}

fn companions(add: Add<'_>) {
    let dated = |year: u32| url(&format!("at=\"{year}-01-03T09:00:00Z\""), "");
    let archive = |kind: &str, entries: &str| of(kind, entries);
    let lists = archive("resourcelist-archive", &format!("{}{}", dated(2011), dated(2012)));
    let bare = url("", "");
    add("ARC-2", Error, lists.clone(), lists.replace("resourcelist-archive", "resourcelistarchive"));
    add("ARC-5", Info, lists.clone(), with("resourcelist-archive", AT, "", &dated(2011)));
    add("ARC-6", Error, lists.clone(), without(&lists, UP));
    add("ARC-7", Warning, lists.clone(), archive("resourcelist-archive", &bare));
    add(
        "ARC-8",
        Warning,
        archive("resourcedump-archive", &dated(2012)),
        archive("resourcedump-archive", &bare),
    );
    let interval = |year: u32, until: u32| {
        url(&format!("from=\"{year}-01-01T00:00:00Z\" until=\"{until}-01-01T00:00:00Z\""), "")
    };
    let changes = archive("changelist-archive", &format!("{}{}", interval(2011, 2012), interval(2012, 2013)));
    add("ARC-9", Warning, changes.clone(), archive("changelist-archive", &bare));
    add(
        "ARC-10",
        Warning,
        archive("changedump-archive", &interval(2011, 2012)),
        archive("changedump-archive", &bare),
    );
    add(
        "ARC-11",
        Warning,
        lists.clone(),
        archive("resourcelist-archive", &format!("{}{}", dated(2012), dated(2011))),
    );
    let index = |head: &str| {
        document("sitemapindex", &format!("{head}<rs:md capability=\"resourcelist-archive\"/>"), &sitemap(""))
    };
    add("ARC-12", Error, index(UP), index(""));
    add(
        "ARC-15",
        Info,
        changes,
        archive("changelist-archive", &format!("{}{}", interval(2010, 2011), interval(2012, 2013))),
    );

    let early = change("created", 1, "");
    let late = change("updated", 2, "");
    let payload = of("CN", &format!("{early}{late}"));
    add("CN-6", Error, payload.clone(), without(&payload, UP));
    add("CN-7", Error, payload.clone(), of("CNI", &sitemap("change=\"updated\"")));
    add("CN-8", Warning, payload.clone(), of("CN", &format!("{late}{early}")));
    add("CN-22", Info, payload.clone(), of("CN", &url("change=\"updated\"", "")));
    add("N8-5", Info, payload.clone(), document("urlset", UP, &url("change=\"updated\"", "")));
    add("N8-6", Info, payload, of("CNI", &sitemap("change=\"updated\"")));
    let framework =
        |metadata: &str| of("FN", &url(&format!("datetime=\"2013-01-03T01:00:00Z\" {metadata}"), ""));
    add(
        "FN-1",
        Error,
        framework("change=\"updated\" capability=\"changelist\""),
        framework("change=\"updated\""),
    );
    let lists = |change: &str| framework(&format!("change=\"{change}\" capability=\"resourcelist\""));
    add("FN-2", Error, lists("created"), lists("deleted"));

    let plain = "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"/>";
    let list = of("RL", "");
    add("DIA-2", Info, list.clone(), list.replace("\"resourcelist\"", "\"resource-list\""));
    add("DIA-3", Info, list.clone(), list.replace("rel=\"up\"", "rel=\"resourcesync\""));
    add("DIA-7", Info, list.clone(), plain.to_owned());
    add("DIA-10", Error, list, "<feed xmlns=\"http://www.w3.org/2005/Atom\"/>".to_owned());
}
