//! Rules that attributes and times break.

use super::*;

pub(super) fn attributes(add: Add<'_>) {
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
    add("ATT-12", Error, rl(&format!("hash=\"{MD5}\"")), rl("hash=\" \""));
    let upper = rl(&format!("hash=\"{}\"", MD5.to_uppercase()));
    add("ATT-13", Error, upper.clone(), rl("hash=\"md5:1584\""));
    add("ATT-13", Warning, upper, rl("hash=\"sha-256:f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk\""));
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

pub(super) fn times(add: Add<'_>) {
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
    add("TIME-8", Error, until("03"), until("02"));
    let member = |hour: u32| of("RLI", &sitemap(&format!("at=\"2013-01-03T{hour:02}:00:00Z\"")));
    add("TIME-11", Info, member(9), member(8));
    let interval = |from: u32, until: u32| {
        sitemap(&format!("from=\"2013-01-{from:02}T00:00:00Z\" until=\"2013-01-{until:02}T00:00:00Z\""))
    };
    let index = |second: u32| {
        of("CLI", &format!("{}{}", interval(3, 4), interval(second, 6).replace("part1", "part2")))
    };
    add("TIME-13", Info, index(4), index(5));
    let closed = |last: &str| {
        let member = sitemap(&format!("from=\"2013-01-03T00:00:00Z\" {last}"));
        with("CLI", " until=\"2013-01-06T00:00:00Z\"", "", &member)
    };
    add("TIME-6", Error, closed("until=\"2013-01-06T00:00:00Z\""), closed(""));
    let pair = |first, second| {
        of("CL", &format!("{}{}", change("created", first, ""), change("updated", second, "")))
    };
    add("TIME-14", Info, pair(3, 3), pair(4, 3));
}
