//! Folders, the search, resources with their history, and documents.

use std::{fs, process::Command};

use instep_testkit::peers;

use crate::{
    PROGRAM,
    serving::{PERSON, Serving, escaped, folder},
};

#[test]
fn p14_folders_can_be_browsed_sorted_and_left_upwards() {
    let folder =
        folder(&[("a/x y/1.txt", "1"), ("a/x y/2.txt", "22"), ("a/3.txt", "4444"), ("a/5.txt", "5")]);
    let serving = Serving::start(folder.path(), &[]);
    let page = serving.page("resourcesync/browse");
    assert!(page.contains(">a/</a> <small>4 resources</small>"), "{page}");
    let page = serving.page("resourcesync/browse?path=a/");
    let places =
        |page: &str, names: &[&str]| names.iter().map(|name| page.find(name).unwrap()).collect::<Vec<_>>();
    assert!(places(&page, &[">x y/<", ">3.txt<", ">5.txt<"]).is_sorted(), "{page}");
    let by_size = serving.page("resourcesync/browse?path=a/&sort=size");
    assert!(places(&by_size, &[">x y/<", ">5.txt<", ">3.txt<"]).is_sorted(), "{by_size}");
    assert!(by_size.contains("aria-sort=\"ascending\""), "{by_size}");
    let by_size = serving.page("resourcesync/browse?path=a/&sort=size&order=desc");
    assert!(places(&by_size, &[">x y/<", ">3.txt<", ">5.txt<"]).is_sorted(), "{by_size}");
    let deep = serving.page("resourcesync/browse?path=a/x%2520y/");
    assert!(deep.contains("<h1>a/x y/</h1>") && deep.contains("?path=a%2F\">a</a>"), "{deep}");
    assert_eq!(serving.get("resourcesync/browse?path=absent/", PERSON).status, 404);
}

#[test]
fn p14_a_folder_without_a_page_of_its_own_is_a_listing_for_people_and_absent_for_programs() {
    let folder = folder(&[("a/1.txt", "1"), ("own/index.html", "mine")]);
    let serving = Serving::start(folder.path(), &[]);
    assert!(serving.page("a/").contains(">1.txt</a>"));
    assert_eq!(serving.get("a/", PROGRAM).status, 404);
    assert_eq!(serving.get("own/", PERSON).body, "mine");
}

#[test]
fn p14_a_long_folder_goes_on_on_the_next_page() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..620 {
        fs::write(folder.path().join(format!("{number:04}.txt")), "x").unwrap();
    }
    let serving = Serving::start(folder.path(), &[]);
    let first = serving.page("resourcesync/browse");
    assert_eq!(first.matches(".txt</a>").count(), 500);
    assert!(first.contains("from=0500.txt"), "{first}");
    let second = serving.page("resourcesync/browse?path=&from=0500.txt");
    assert_eq!(second.matches(".txt</a>").count(), 120);
    assert!(second.contains("0500.txt</a>") && !second.contains("Next items"));
}

#[test]
fn o600_the_pages_of_a_long_folder_have_a_folder_whose_siblings_begin_with_its_name() {
    let folder = folder(&[("item/1.txt", "1")]);
    for number in 0..620 {
        fs::write(folder.path().join(format!("item-{number:04}.txt")), "x").unwrap();
    }
    let serving = Serving::start(folder.path(), &[]);
    let first = serving.page("resourcesync/browse");
    assert_eq!(first.matches(".txt</a>").count(), 500);
    assert!(first.contains("from=item-0500.txt"), "{first}");
    let second = serving.page("resourcesync/browse?path=&from=item-0500.txt");
    assert_eq!(second.matches(".txt</a>").count(), 120);
    assert!(second.contains(">item/</a>") && !second.contains("Next items"), "{second}");
    let third = serving.page("resourcesync/browse?path=&from=item%2F");
    assert!(third.contains(">item/</a>") && !third.contains(".txt</a>"), "{third}");
}

#[test]
fn p14_the_search_finds_any_part_of_a_path_in_either_case() {
    let folder =
        folder(&[("a/one.txt", "1"), ("b/Two.txt", "2"), ("b/three.md", "3"), ("names/\u{e9} <i>.txt", "4")]);
    let serving = Serving::start(folder.path(), &[]);
    for (asked, found) in [
        ("wo.t", &["b/Two.txt"][..]),
        ("ONE", &["a/one.txt"]),
        ("b/ .txt", &["b/Two.txt"]),
        (".txt", &["a/one.txt", "b/Two.txt", "names/\u{e9} &lt;i&gt;.txt"]),
        ("\u{e9} <i>", &["names/\u{e9} &lt;i&gt;.txt"]),
        ("absent", &[]),
        ("%", &["names/\u{e9} &lt;i&gt;.txt"]),
        ("_", &[]),
        ("<script>alert(1)</script>", &[]),
    ] {
        let page = serving.page(&format!("resourcesync/search?q={}", escaped(asked)));
        let links = page.matches("resourcesync/resource?").count();
        assert_eq!(links, found.len(), "{asked}: {page}");
        assert!(found.iter().all(|name| page.contains(&format!(">{name}</a>"))), "{asked}: {page}");
    }
}

#[test]
fn p14_a_resource_has_a_page_whose_command_verifies_it() {
    let Some([shell, _, _]) = peers::find(["sh", "curl", "sha256sum"]) else { return };
    let folder = folder(&[("it's <b>.txt", "the <b>text</b>"), ("page.html", "<script>alert(1)</script>")]);
    let serving = Serving::start(folder.path(), &[]);
    let uri = format!("{}it's%20%3Cb%3E.txt", serving.base);
    let page = serving.page(&format!("resourcesync/resource?uri={}", escaped(&uri)));
    for part in ["<h1>it's &lt;b&gt;.txt</h1>", "text/plain", "15 bytes", "the &lt;b&gt;text&lt;/b&gt;"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let command = page.split("<code>").find(|code| code.starts_with("test ")).unwrap();
    let command = command.split("</code>").next().unwrap();
    let command = [("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")]
        .iter()
        .fold(command.to_owned(), |text, (escaped, character)| text.replace(escaped, character));
    let run = |command: &str| Command::new(&shell).args(["-c", command]).output().unwrap();
    assert_eq!(run(&command).stdout, b"identical\n", "{command}");
    fs::write(folder.path().join("it's <b>.txt"), "other").unwrap();
    assert!(!run(&command).status.success(), "{command}");
    // HTML is shown as it is written.
    let page = serving.page(&format!("resourcesync/resource?uri={}page.html", escaped(&serving.base)));
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert_eq!(serving.get("resourcesync/resource?uri=http://x/", PERSON).status, 404);
    assert_eq!(serving.get("resourcesync/resource", PROGRAM).status, 404);
}

#[test]
fn p14_the_history_of_a_resource_shows_what_differs_where_versions_are_kept() {
    let folder = folder(&[("a.txt", "one\ntwo\nthree\n")]);
    let serving = Serving::start(folder.path(), &["--versions"]);
    fs::write(folder.path().join("a.txt"), "one\n<2>\nthree\n").unwrap();
    let address = format!("resourcesync/resource?uri={}a.txt", escaped(&serving.base));
    let page = serving.wait_for(&address, |page| page.matches("Open this version").count() == 2);
    for part in ["<span class=\"deleted\">- two\n", "<span class=\"created\">+ &lt;2&gt;\n", "present"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let memento = page.split('"').rfind(|part| part.contains("/memento/")).unwrap();
    assert_eq!(serving.get(memento.trim_start_matches('/'), PROGRAM).body, "one\ntwo\nthree\n");
}

#[test]
fn p14_without_versions_the_history_is_that_of_the_change_list() {
    let folder = folder(&[("a.txt", "one")]);
    let serving = Serving::start(folder.path(), &[]);
    fs::write(folder.path().join("a.txt"), "other").unwrap();
    let address = format!("resourcesync/resource?uri={}a.txt", escaped(&serving.base));
    let page = serving.wait_for(&address, |page| page.contains("kind updated"));
    assert!(page.contains("Past versions are not kept"), "{page}");
}

#[test]
fn p14_a_document_has_a_page_and_nothing_else_of_the_disk_has() {
    let folder = folder(&[("a.txt", "abc")]);
    let serving = Serving::start(folder.path(), &[]);
    let page = serving.page("resourcesync/document?name=resourcesync/resourcelist.xml");
    assert!(page.contains("<h1>Resource List</h1>") && page.contains(">a.txt</a>"), "{page}");
    for name in
        ["../catalogue.db", "resourcesync/absent.xml", "/etc/passwd", "..%2f..%2fa.xml", "robots.txt", ""]
    {
        let answer = serving.get(&format!("resourcesync/document?name={name}"), PERSON);
        assert_eq!(answer.status, 404, "{name}");
    }
    let answer = serving.get("resourcesync/resourcelist.html", PERSON);
    assert_eq!(answer.status, 301);
    assert!(
        answer.head.contains("location: /resourcesync/document?name=resourcesync%2fresourcelist.xml"),
        "{}",
        answer.head
    );
}
