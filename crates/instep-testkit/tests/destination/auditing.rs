//! Audits of a copy, and its repair.

use crate::support::Copy;

#[test]
fn an_audit_tells_every_difference() {
    let copy = Copy::of_three();
    copy.sync();
    let (clean, _) = copy.audit();
    assert_eq!(clean.unwrap().exit_code(), 0);
    std::fs::write(copy.dir().join("a.txt"), "One").unwrap();
    copy.source.put("e.txt", "created");
    copy.source.delete("b.txt");
    let (report, mut heard) = copy.audit();
    assert_eq!(report.unwrap().exit_code(), 20);
    heard.itemized.sort();
    let line = |letter: char, path: &str| format!("{letter} {}", copy.source.url(path));
    assert_eq!(heard.itemized, [line('+', "e.txt"), line('-', "b.txt"), line('~', "a.txt")]);
}

#[test]
fn d44_repair_mends_what_an_audit_finds() {
    let copy = Copy::of_three();
    copy.sync();
    std::fs::write(copy.dir().join("a.txt"), "One").unwrap();
    std::fs::remove_file(copy.dir().join("b.txt")).unwrap();
    assert_eq!(copy.sync().exit_code(), 0);
    assert_eq!(copy.read("a.txt").as_deref(), Some("One"), "a plain run does not look");
    let run = copy.sync_with(|options| options.repair = true);
    assert_eq!(run.exit_code(), 0);
    assert_eq!(copy.differences(), [""; 0]);
}
