//! `upgrade-sitemap` over Sitemaps as sites write them.

use std::{fs, path::Path};

use instep_testkit::{Run, Server, instep, peers};
use tempfile::TempDir;

const SPACE: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";

/// Returns a Sitemap as a content management system writes it.
fn sitemap(base: &str, pages: &[(&str, &str)]) -> String {
    let entry = |(path, lastmod): &(&str, &str)| {
        format!(
            "  <url><loc>{base}{path}</loc><lastmod>{lastmod}</lastmod><n:news>kept &amp; untouched</n:news></url>\n"
        )
    };
    let entries: String = pages.iter().map(entry).collect();
    format!(
        "<?xml version='1.0'?>\n<!-- by a CMS -->\n<urlset xmlns='{SPACE}' xmlns:n='urn:news'>\n{entries}</urlset>\n"
    )
}

fn upgrade(file: &Path, base: &str) -> Run {
    Run::of(&mut instep(["upgrade-sitemap", file.to_str().unwrap(), "--base-url", base, "--json"]))
}

fn figures(run: &Run) -> [u64; 3] {
    let summary: serde_json::Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    ["created", "updated", "deleted"].map(|name| summary[name].as_u64().unwrap())
}

const DAY: &str = "2026-01-01T10:00:00Z";

#[test]
fn a_sitemap_becomes_a_resource_list_whose_changes_are_followed() {
    let dir = TempDir::new().unwrap();
    let site = dir.path().join("site");
    fs::create_dir(&site).unwrap();
    let Some([python]) = peers::find(["python3"]) else { return };
    let server = Server::python(&python, &site).unwrap();
    let base = server.url();
    for page in ["a", "b", "c"] {
        fs::write(site.join(page), format!("page {page}")).unwrap();
    }
    let file = site.join("sitemap.xml");
    let plain = sitemap(&base, &[("a", DAY), ("b", DAY)]);
    fs::write(&file, &plain).unwrap();
    assert_eq!(figures(&upgrade(&file, &base).with_code(0)), [2, 0, 0]);
    let upgraded = fs::read_to_string(&file).unwrap();
    assert!(
        upgraded.contains("<n:news>kept &amp; untouched</n:news>") && upgraded.contains("<!-- by a CMS -->")
    );
    _ = Run::of(&mut instep(["validate", file.to_str().unwrap()])).with_code(0);

    // Nothing happens twice.
    assert_eq!(figures(&upgrade(&file, &base).with_code(0)), [0, 0, 0]);
    assert_eq!(fs::read_to_string(&file).unwrap(), upgraded);

    let copy = dir.path().join("copy");
    let list = format!("{base}sitemap.xml");
    let sync = || Run::of(&mut instep(["sync", &list, copy.to_str().unwrap(), "--delete", "--json"]));
    _ = sync().with_code(0);
    assert_eq!(fs::read_to_string(copy.join("b")).unwrap(), "page b");

    // The site writes its Sitemap again: a page is new, one changed, one is gone.
    fs::write(site.join("b"), "page b, changed").unwrap();
    fs::remove_file(site.join("a")).unwrap();
    fs::write(&file, sitemap(&base, &[("b", "2026-02-02T10:00:00Z"), ("c", DAY)])).unwrap();
    assert_eq!(figures(&upgrade(&file, &base).with_code(0)), [1, 1, 1]);
    let run = sync().with_code(0);
    let summary: serde_json::Value = serde_json::from_str(run.stdout.lines().last().unwrap()).unwrap();
    assert_eq!(summary["strategy"], "changes", "{summary}");
    assert_eq!(fs::read_to_string(copy.join("b")).unwrap(), "page b, changed");
    assert!(copy.join("c").is_file() && !copy.join("a").exists());
}

#[test]
fn the_sitemaps_of_an_index_become_its_parts() {
    let dir = TempDir::new().unwrap();
    let base = "https://example.org/";
    let index = dir.path().join("index.xml");
    let member = |name: &str| format!("<sitemap><loc>{base}{name}</loc></sitemap>");
    let members = format!("{}{}", member("maps/one.xml"), member("two.xml.gz"));
    fs::write(&index, format!("<sitemapindex xmlns='{SPACE}'>{members}</sitemapindex>")).unwrap();
    fs::create_dir(dir.path().join("maps")).unwrap();
    fs::write(dir.path().join("maps/one.xml"), sitemap(base, &[("a", DAY)])).unwrap();

    // A part that is missing would look like deletions.
    let run = upgrade(&index, base).with_code(2);
    assert!(run.stderr.contains("two.xml.gz") || run.stdout.contains("two.xml.gz"), "{run:?}");

    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut gzip, sitemap(base, &[("b", DAY)]).as_bytes()).unwrap();
    fs::write(dir.path().join("two.xml.gz"), gzip.finish().unwrap()).unwrap();
    assert_eq!(figures(&upgrade(&index, base).with_code(0)), [2, 0, 0]);
    let part = fs::read_to_string(dir.path().join("maps/one.xml")).unwrap();
    assert!(part.contains("rel=\"index\" href=\"https://example.org/index.xml\""), "{part}");
    for document in ["index.xml", "maps/one.xml", "two.xml.gz"] {
        _ = Run::of(&mut instep(["validate", dir.path().join(document).to_str().unwrap()])).with_code(0);
    }
    if let Some([xmllint]) = peers::find(["xmllint"]) {
        _ = Run::of(std::process::Command::new(xmllint).arg("--noout").arg(&index)).with_code(0);
    }
}

#[test]
fn b33_entries_that_name_nothing_are_named_by_their_lines_and_the_rest_is_published() {
    let dir = TempDir::new().unwrap();
    let (file, base) = (dir.path().join("sitemap.xml"), "http://example.org/");
    let good = sitemap(base, &[("a", DAY), ("b", DAY)]);
    fs::write(&file, good.replace("</urlset>", "<url><lastmod>2026</lastmod></url>\n</urlset>")).unwrap();
    let run = upgrade(&file, base).with_code(3);
    assert_eq!(figures(&run), [2, 0, 0]);
    assert!(run.stdout.contains("line 6, column 1: an entry without loc"), "{}", run.stdout);
    // What the damaged entry stood for may be just what seems to be gone.
    fs::write(&file, sitemap(base, &[("a", DAY)]).replace("</urlset>", "<url/></urlset>")).unwrap();
    let _ = upgrade(&file, base).with_code(6);
    fs::write(&file, sitemap(base, &[("a", DAY)])).unwrap();
    assert_eq!(figures(&upgrade(&file, base).with_code(0)), [0, 0, 1]);
}

/// Returns a Sitemap in UTF-16, with a byte order mark.
fn utf16(text: &str) -> Vec<u8> {
    "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

#[test]
fn o81_a_sitemap_that_cannot_be_amended_stays_as_it_is_and_nothing_is_published() {
    let base = "http://example.org/";
    let plain = sitemap(base, &[("a", DAY)]);
    let metadata = format!(
        "xmlns:n='urn:news' xmlns:rs='http://www.openarchives.org/rs/terms/'>\
         <rs:md capability='resourcelist' at='{DAY}'/>"
    );
    let list = plain.replace("xmlns:n='urn:news'>", &metadata);
    for (text, reason) in
        [(utf16(&plain), "it is in UTF-16LE"), (list.into_bytes(), "a Resource List already")]
    {
        let dir = TempDir::new().unwrap();
        let file = dir.path().join("sitemap.xml");
        fs::write(&file, &text).unwrap();
        let run = upgrade(&file, base).with_code(2);
        assert!(run.stderr.contains(reason) || run.stdout.contains(reason), "{reason}: {run:?}");
        assert_eq!(fs::read(&file).unwrap(), text, "{reason}");
        assert!(!dir.path().join("resourcesync").exists(), "{reason}");
    }
}

#[test]
fn o82_a_lastmod_that_cannot_be_read_is_named_because_its_changes_are_not_noticed() {
    let dir = TempDir::new().unwrap();
    let (file, base) = (dir.path().join("sitemap.xml"), "http://example.org/");
    for odd in ["2026-01-01 10:00:00", "01.02.2026", "2026-01-01T10:00:00"] {
        fs::write(&file, sitemap(base, &[("a", odd), ("b", DAY)])).unwrap();
        let run = upgrade(&file, base).with_code(3);
        assert!(run.stdout.contains("line 4, column ") && run.stdout.contains(odd), "{}", run.stdout);
        assert!(run.stdout.contains("changes of this page are not noticed"), "{}", run.stdout);
    }
    fs::write(&file, sitemap(base, &[("a", "2026-01-01"), ("b", DAY)])).unwrap();
    assert_eq!(figures(&upgrade(&file, base).with_code(0)), [0, 1, 0]);
}

fn problems(run: &Run) -> Vec<serde_json::Value> {
    let lines = run.stdout.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    lines.filter(|line| line["type"] == "problem").collect()
}

#[test]
fn o906_a_page_whose_lastmod_cannot_be_read_is_not_called_left_out() {
    let dir = TempDir::new().unwrap();
    let (file, base) = (dir.path().join("sitemap.xml"), "http://example.org/");
    fs::write(&file, sitemap(base, &[("a", "01.02.2026"), ("b", DAY)])).unwrap();
    let run = upgrade(&file, base).with_code(3);
    let problems = problems(&run);
    assert!(problems.len() == 1 && problems[0]["skipped"] == false, "{problems:?}");
    assert_eq!(figures(&run), [2, 0, 0]);
}

#[test]
fn o907_an_entry_that_no_source_publishes_is_named_where_it_stands_and_withholds_no_deletion() {
    let dir = TempDir::new().unwrap();
    let (file, base) = (dir.path().join("sitemap.xml"), "http://example.org/");
    fs::write(&file, sitemap(base, &[("a", DAY), ("b", DAY), ("c", DAY), ("d", DAY)])).unwrap();
    _ = upgrade(&file, base).with_code(0);
    fs::write(&file, sitemap(base, &[("a", DAY), ("b", DAY), ("c", DAY), ("x/../y", DAY)])).unwrap();
    let run = upgrade(&file, base).with_code(3);
    let problems = problems(&run);
    assert!(problems.len() == 1 && problems[0]["skipped"] == true, "{problems:?}");
    assert_eq!(problems[0]["subject"], file.to_str().unwrap());
    assert!(problems[0]["what"].as_str().unwrap().starts_with("line 7, column "), "{problems:?}");
    assert_eq!(figures(&run), [0, 0, 1]);
}

#[test]
fn o82_a_sitemap_that_was_emptied_on_purpose_is_published_with_the_option_that_is_advised() {
    let dir = TempDir::new().unwrap();
    let (file, base) = (dir.path().join("sitemap.xml"), "http://example.org/");
    fs::write(&file, sitemap(base, &[("a", DAY)])).unwrap();
    let first = ["upgrade-sitemap", file.to_str().unwrap(), "--base-url", base];
    let run = Run::of(&mut instep(first)).with_code(0);
    assert!(run.stdout.contains("Published: +1") && !run.stderr.contains("--host-setup"), "{run:?}");
    fs::write(&file, sitemap(base, &[])).unwrap();
    let run = upgrade(&file, base).with_code(6);
    assert!(format!("{run:?}").contains("--allow-deletions"), "{run:?}");
    let arguments =
        ["upgrade-sitemap", file.to_str().unwrap(), "--base-url", base, "--json", "--allow-deletions"];
    assert_eq!(figures(&Run::of(&mut instep(arguments)).with_code(0)), [0, 0, 1]);
}

#[test]
fn o322_a_dry_run_writes_nothing_and_an_entry_that_is_repeated_is_named_where_it_stands() {
    let dir = TempDir::new().unwrap();
    let (file, base) = (dir.path().join("sitemap.xml"), "http://example.org/");
    let text = sitemap(base, &[("a", DAY), ("b", DAY), ("a", "2026-02-02")]);
    fs::write(&file, &text).unwrap();
    let mut dry =
        instep(["upgrade-sitemap", file.to_str().unwrap(), "--base-url", base, "--dry-run", "--json"]);
    let run = Run::of(&mut dry).with_code(3);
    assert_eq!(figures(&run), [2, 0, 0]);
    assert!(
        run.stdout.contains("\"dry_run\":true") && run.stdout.contains("line 6, column"),
        "{}",
        run.stdout
    );
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    let run = upgrade(&file, base).with_code(3);
    assert!(
        run.stdout.contains("http://example.org/a is listed before; that entry counts"),
        "{}",
        run.stdout
    );
    assert!(!run.stdout.contains("sitemap.jsonl"), "{}", run.stdout);
    assert_eq!(figures(&run), [2, 0, 0]);
    let manifest = fs::read_to_string(dir.path().join(".instep/sitemap.jsonl")).unwrap();
    assert_eq!(manifest.lines().count(), 2, "{manifest}");
    // A later one compares with what is published.
    let again = ["upgrade-sitemap", file.to_str().unwrap(), "--base-url", base, "--dry-run", "--json"];
    assert_eq!(figures(&Run::of(&mut instep(again)).with_code(3)), [0, 0, 0]);
    fs::write(&file, sitemap(base, &[("b", "2026-02-02T00:00:00Z"), ("c", DAY)])).unwrap();
    assert_eq!(figures(&Run::of(&mut instep(again)).with_code(0)), [1, 1, 1]);
}

#[test]
fn o241_a_link_to_a_sitemap_stays_one_and_the_file_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = TempDir::new().unwrap();
    let (link, real, base) =
        (dir.path().join("sitemap.xml"), dir.path().join("shared/current.xml"), "http://example.org/");
    fs::create_dir(dir.path().join("shared")).unwrap();
    fs::write(&real, sitemap(base, &[("a", DAY)])).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("shared/current.xml", &link).unwrap();
    assert_eq!(figures(&upgrade(&link, base).with_code(0)), [1, 0, 0]);
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("capability=\"resourcelist\""));
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    // The program that writes the Sitemap goes on as before.
    fs::write(&real, sitemap(base, &[("a", DAY), ("b", DAY)])).unwrap();
    assert_eq!(figures(&upgrade(&link, base).with_code(0)), [1, 0, 0]);
}
