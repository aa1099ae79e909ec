//! A passing and a failing document for each rule that a document can break.

mod companions;
mod documents;
mod values;

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

/// Returns a document: its root element, what stands before the entries, and the entries.
pub(crate) fn document(root: &str, head: &str, entries: &str) -> String {
    format!(
        "<{root} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\" \
         xmlns:rs=\"http://www.openarchives.org/rs/terms/\">\n{head}\n{entries}\n</{root}>\n"
    )
}

/// Returns the kinds of documents with a right root; `entries` stand in place of `{}`.
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

/// Returns an entry with attributes on its `rs:md`, and more elements.
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

/// Returns a change at an hour of the day.
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
    values::attributes(&mut add);
    values::times(&mut add);
    documents::descriptions(&mut add);
    documents::lists(&mut add);
    documents::dumps(&mut add);
    companions::links(&mut add);
    companions::companions(&mut add);
    cases
}

type Add<'c> = &'c mut dyn FnMut(&'static str, Severity, String, String);

fn general(add: Add<'_>) {
    let plain = url("", "");
    let list = of("RL", &plain);
    add("GEN-1", Error, list.clone(), list.replace("sitemap/0.9", "sitemap/0.8"));
    add("GEN-2", Error, list.clone(), list.replace("rs/terms/", "rs/terms"));
    for bare in [
        "<md length=\"3\"/>",
        "<md xmlns=\"\" length=\"3\"/>",
        "<ln rel=\"via\" href=\"http://example.com/a\"/>",
    ] {
        add("GEN-2", Error, list.clone(), of("RL", &url("", bare)));
    }
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
    let priority = |value| of("RL", &url("", &format!("^<priority>{value}</priority>")));
    for wrong in ["1.1", "-0.1", "high", "1e-1", "NaN", "", "0.5</priority><priority>0.5"] {
        add("GEN-23", Warning, priority(" 1.0 "), priority(wrong));
    }
    for unknown in ["<rs:meta length=\"3\"/>", "<rs:url/>"] {
        add("GEN-2", Warning, list.clone(), of("RL", &url("", unknown)));
    }
    for rule in ["NAV-1", "NAV-2"] {
        let rel = if rule == "NAV-1" { "up" } else { "index" };
        let one = link(rel, "");
        let two = list.replacen("<rs:md", &format!("{one}{one}<rs:md"), 1);
        add(rule, Warning, list.clone(), two);
    }
    let declared = format!("<?xml version=\"1.0\"?>{list}");
    for broken in [
        list.replace("</loc>", "&nbsp</loc>"),
        format!("\n{declared}"),
        list.replace("</loc>", "</loc><a:b/>"),
        of("RL", &url("a:b=\"1\"", "")),
    ] {
        add("GEN-24", Error, declared.clone(), broken);
    }
    add("GEN-26", Error, list.clone(), format!("<!DOCTYPE urlset [<!ENTITY a \"a\">]>{list}"));
    add("NAV-5", Error, list.clone(), list.replace("http://example.com/up.xml", "up.xml"));
}

fn many(count: u32) -> String {
    (0..count).map(|index| format!("<url><loc>http://e.com/{index}</loc></url>\n")).collect()
}
