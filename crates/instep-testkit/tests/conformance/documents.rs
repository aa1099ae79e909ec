//! Rules that Source Descriptions, Capability Lists, lists and dumps break.

use super::*;

pub(super) fn descriptions(add: Add<'_>) {
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

pub(super) fn lists(add: Add<'_>) {
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

pub(super) fn dumps(add: Add<'_>) {
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
