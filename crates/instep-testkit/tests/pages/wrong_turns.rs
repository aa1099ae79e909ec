//! Addresses without a page, or meant for programs.

use std::fs;

use crate::{
    PROGRAM,
    serving::{PERSON, Serving, folder},
};

#[test]
fn p14_a_person_who_finds_nothing_is_told_what_may_be_meant() {
    let folder = folder(&[("papers/2021/report.pdf", "1"), ("papers/2021/other.md", "2")]);
    let serving = Serving::start(folder.path(), &[]);
    let answer = serving.get("papers/2021/Reprot.pdf", PERSON);
    assert_eq!(answer.status, 404);
    let page = answer.assert_page("a misspelt name");
    for part in [">papers/2021/report.pdf</a>", "resourcesync/search?q=Reprot.pdf", "?path=papers%2F2021%2F"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("other.md"), "{page}");
    let page = serving.get("papers/1999/x/y.pdf", PERSON).assert_page("a folder that is not there");
    assert!(page.contains("?path=papers%2F\""), "{page}");
    let hostile = serving.get("%3Cscript%3Ealert(1)%3C/script%3E", PERSON);
    assert_eq!(hostile.status, 404);
    hostile.assert_page("a hostile name");
    assert_eq!(serving.get("papers/2021/Reprot.pdf", PROGRAM).body, "");
}

#[test]
fn p14_a_person_who_follows_the_batch_link_is_told_how_to_use_it() {
    let folder = folder(&[("a.txt", "abc")]);
    let serving = Serving::start(folder.path(), &[]);
    let page = serving.page("resourcesync/batch");
    assert!(page.contains("curl -f --json") && page.contains("batch.zip"), "{page}");
    assert_eq!(serving.get("resourcesync/batch", PROGRAM).status, 405);
    assert_eq!(serving.get("resourcesync/other/batch", PERSON).status, 404);
}

#[test]
fn p14_names_from_the_content_are_text_on_every_page() {
    let folder = folder(&[("<img src=x onerror=alert(1)>/a.txt", "1"), ("\u{202e}txt.exe", "2")]);
    let serving = Serving::start(folder.path(), &[]);
    fs::write(folder.path().join("<script>alert(1)<.txt"), "3").unwrap();
    let page = serving.wait_for("", |page| page.contains("alert(1)&lt;.txt"));
    assert!(page.contains("\\u{202e}txt.exe") || !page.contains('\u{202e}'), "{page}");
    let page = serving.page("resourcesync/browse");
    assert!(page.contains("&lt;img src=x onerror=alert(1)&gt;/"), "{page}");
    assert!(!page.contains('\u{202e}'), "{page}");
}

#[test]
fn o213_a_page_that_cannot_show_what_was_asked_names_that_and_not_itself() {
    let folder = folder(&[("papers/report.pdf", "1")]);
    let serving = Serving::start(folder.path(), &[]);
    for (path, missing) in [
        ("resourcesync/browse?path=paper%2F", "paper/"),
        ("resourcesync/document?name=resourcesync%2Fnope.xml", "resourcesync/nope.xml"),
        ("resourcesync/set?name=letters", "letters"),
        ("nope?path=other", "nope"),
    ] {
        let answer = serving.get(path, PERSON);
        assert_eq!(answer.status, 404, "{path}");
        let page = answer.assert_page(path);
        assert!(page.contains(&format!("There is nothing at <code>{missing}</code>")), "{path}: {page}");
    }
    let page = serving.get("resourcesync/browse?path=paper%2F", PERSON).body;
    assert!(page.contains("?path=papers%2F"), "{page}");
}

#[test]
fn o213_the_address_of_the_pages_may_be_typed_without_its_slash() {
    let folder = folder(&[("a.txt", "abc")]);
    let serving = Serving::start(folder.path(), &[]);
    assert_eq!(serving.get("resourcesync", PERSON).status, 301);
    assert_eq!(serving.get("resourcesync", PROGRAM).status, 404);
}

#[test]
fn o195_a_page_of_a_document_from_an_entry_that_no_document_has_is_empty() {
    let folder = folder(&[("a.txt", "abc")]);
    let serving = Serving::start(folder.path(), &[]);
    let list = "resourcesync/document?name=resourcesync%2Fresourcelist.xml";
    let page = serving.page(&format!("{list}&from={}", usize::MAX));
    assert!(page.contains("Entries from 1,048,577") && page.contains("None."), "{page}");
}
