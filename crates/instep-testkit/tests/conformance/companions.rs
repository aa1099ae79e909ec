//! Rules that links, archives, notifications and dialects break.

use super::*;

pub(super) fn links(add: Add<'_>) {
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

pub(super) fn companions(add: Add<'_>) {
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
        Error,
        archive("resourcedump-archive", &dated(2012)),
        archive("resourcedump-archive", &bare),
    );
    let interval = |year: u32, until: u32| {
        url(&format!("from=\"{year}-01-01T00:00:00Z\" until=\"{until}-01-01T00:00:00Z\""), "")
    };
    let changes = archive("changelist-archive", &format!("{}{}", interval(2011, 2012), interval(2012, 2013)));
    add("ARC-9", Error, changes.clone(), archive("changelist-archive", &bare));
    add(
        "ARC-10",
        Error,
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
    let about = |capability: &str| framework(&format!("change=\"created\" capability=\"{capability}\""));
    add("FN-2", Error, about("capabilitylist"), about("changedump-manifest"));
    add("FN-6", Error, about("capabilitylist"), about("change-notification"));

    let plain = "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"/>";
    let list = of("RL", "");
    add("DIA-2", Info, list.clone(), list.replace("\"resourcelist\"", "\"resource-list\""));
    add("DIA-3", Info, list.clone(), list.replace("rel=\"up\"", "rel=\"resourcesync\""));
    add("DIA-7", Info, list.clone(), plain.to_owned());
    add("DIA-10", Error, list, "<feed xmlns=\"http://www.w3.org/2005/Atom\"/>".to_owned());
}
