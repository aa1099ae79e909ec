//! Each exit code of the table, by what leads to it.

use std::{
    fs::{self, File},
    path::Path,
    process::{Child, Command, Stdio},
};

use instep_testkit::{FakeSource, Fault, Run, free_port, instep};

fn sync(source: &FakeSource, copy: &Path, options: &[&str]) -> Run {
    Run::of(instep(["sync", "--retries", "0"]).arg(source.url("")).arg(copy).args(options))
}

fn source(count: usize) -> FakeSource {
    FakeSource::start()
        .with_resources((0..count).map(|number| (format!("f{number:03}.txt"), format!("text {number}"))))
}

#[test]
fn done_is_0_and_nothing_new_too() {
    let (source, copy) = (source(3), tempfile::tempdir().unwrap());
    let _ = sync(&source, copy.path(), &[]).with_code(0);
    let _ = sync(&source, copy.path(), &[]).with_code(0);
}

#[test]
fn wrong_usage_is_2() {
    for arguments in
        [&["sync"][..], &["sync", "http://h/", "--retries", "many"], &["fly"], &["sync", "ftp://h/", "d"]]
    {
        let _ = Run::of(&mut instep(arguments)).with_code(2);
    }
}

#[test]
fn a_resource_that_cannot_be_had_is_3_and_the_rest_is_there() {
    let (source, copy) = (source(3), tempfile::tempdir().unwrap());
    source.fail_always("f001.txt", Fault::Status(404));
    let _ = sync(&source, copy.path(), &[]).with_code(3);
    assert!(copy.path().join("f000.txt").exists() && !copy.path().join("f001.txt").exists());
}

#[test]
fn nobody_there_is_4_and_so_is_a_page_of_something_else() {
    let copy = tempfile::tempdir().unwrap();
    let url = format!("http://127.0.0.1:{}/", free_port().unwrap());
    let _ = Run::of(instep(["sync", "--retries", "0", &url]).arg(copy.path())).with_code(4);
    let elsewhere = FakeSource::start();
    for path in [".well-known/resourcesync", "capabilitylist.xml", "resourcelist.xml", "changelist.xml"] {
        elsewhere.fail_always(path, Fault::Status(404));
    }
    elsewhere.serve("", "<html>no source</html>");
    let _ = sync(&elsewhere, copy.path(), &[]).with_code(4);
}

#[test]
fn b23_a_list_in_utf_16_is_5() {
    let (source, copy) = (source(0), tempfile::tempdir().unwrap());
    let list = "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"></urlset>";
    for bytes in [u16::to_le_bytes as fn(u16) -> [u8; 2], u16::to_be_bytes] {
        let marked = format!("\u{feff}{list}").encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
        source.serve("utf-16.xml", marked);
        let url = source.url("utf-16.xml");
        for path in [".well-known/resourcesync", "resourcelist.xml", "sitemap.xml"] {
            source.fail_always(path, Fault::Status(404));
        }
        let _ = Run::of(instep(["sync", "--retries", "0", &url]).arg(copy.path())).with_code(5);
    }
}

#[test]
fn a_list_that_is_cut_off_is_5_and_changes_nothing() {
    let (source, copy) = (source(30), tempfile::tempdir().unwrap());
    source.lay_out(|layout| layout.change_list = false);
    source.rewrite("resourcelist.xml", |list| list[..list.len() / 2].to_owned());
    let _ = sync(&source, copy.path(), &["--delete"]).with_code(5);
    assert!(!copy.path().join("f000.txt").exists());
}

#[test]
fn too_many_deletions_and_an_empty_list_are_6() {
    let (source, copy) = (source(40), tempfile::tempdir().unwrap());
    source.lay_out(|layout| layout.change_list = false);
    let _ = sync(&source, copy.path(), &["--delete"]).with_code(0);
    (1..40).for_each(|number| source.delete(&format!("f{number:03}.txt")));
    let _ = sync(&source, copy.path(), &["--delete"]).with_code(6);
    source.delete("f000.txt");
    let _ = sync(&source, copy.path(), &["--delete", "--max-delete", "100%"]).with_code(6);
    assert_eq!(fs::read_to_string(copy.path().join("f039.txt")).unwrap(), "text 39");
}

#[test]
fn a_second_run_on_a_copy_is_7() {
    let (source, copy) = (source(3), tempfile::tempdir().unwrap());
    source.fail("f000.txt", [Fault::Hold]);
    let mut first = spawn(instep(["sync"]).arg(source.url("")).arg(copy.path()));
    source.wait_for("f000.txt", 1);
    let second = sync(&source, copy.path(), &[]).with_code(7);
    assert!(second.stderr.contains(&first.id().to_string()), "{}", second.stderr);
    source.release();
    assert_eq!(first.wait().unwrap().code(), Some(0));
}

#[test]
fn a_copy_that_cannot_be_written_is_8() {
    let (source, place) = (source(3), tempfile::tempdir().unwrap());
    File::create(place.path().join("file")).unwrap();
    let _ = sync(&source, &place.path().join("file/copy"), &[]).with_code(8);
}

#[test]
fn a_spent_budget_is_9_and_the_next_run_goes_on() {
    let (source, copy) = (source(100), tempfile::tempdir().unwrap());
    let _ = sync(&source, copy.path(), &["--max-transfer", "20", "--transfers", "1"]).with_code(9);
    assert!(!copy.path().join("f099.txt").exists());
    let _ = sync(&source, copy.path(), &[]).with_code(0);
    assert!(copy.path().join("f099.txt").exists());
}

#[test]
fn a_state_of_a_newer_version_is_10() {
    let (source, copy) = (source(3), tempfile::tempdir().unwrap());
    let _ = sync(&source, copy.path(), &[]).with_code(0);
    let databases: Vec<_> = walkdir::WalkDir::new(copy.path().join(".instep"))
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| fs::read(entry.path()).is_ok_and(|bytes| bytes.starts_with(b"SQLite format 3")))
        .collect();
    assert_eq!(databases.len(), 1, "{databases:?}");
    let database = rusqlite::Connection::open(databases[0].path()).unwrap();
    database.pragma_update(None, "user_version", 9_999).unwrap();
    drop(database);
    let _ = sync(&source, copy.path(), &[]).with_code(10);
}

#[test]
fn an_audit_that_finds_differences_is_20_and_an_equal_copy_is_0() {
    let (source, copy) = (source(3), tempfile::tempdir().unwrap());
    let _ = sync(&source, copy.path(), &[]).with_code(0);
    let audit = || Run::of(instep(["audit", &source.url("")]).arg(copy.path()));
    let _ = audit().with_code(0);
    fs::write(copy.path().join("f001.txt"), "text X").unwrap();
    fs::remove_file(copy.path().join("f002.txt")).unwrap();
    source.delete("f000.txt");
    let lines = audit().with_code(20).stdout;
    for (letter, name) in [("~", "f001.txt"), ("+", "f002.txt"), ("-", "f000.txt")] {
        let line = lines.lines().find(|line| line.contains(name));
        assert!(line.is_some_and(|line| line.trim_start().starts_with(letter)), "{letter} {name}\n{lines}");
    }
}

#[test]
fn a_signal_is_130_or_143_and_the_state_is_kept() {
    for (signal, code) in [("INT", 130), ("TERM", 143)] {
        let (source, copy) = (source(20), tempfile::tempdir().unwrap());
        source.fail("f010.txt", [Fault::Hold]);
        let mut run = spawn(instep(["sync"]).arg(source.url("")).arg(copy.path()));
        source.wait_for("f010.txt", 1);
        let kill = Command::new("kill").args([format!("-{signal}"), run.id().to_string()]).status().unwrap();
        assert!(kill.success());
        source.release();
        assert_eq!(run.wait().unwrap().code(), Some(code), "{signal}");
        let _ = sync(&source, copy.path(), &[]).with_code(0);
    }
}

#[test]
fn the_table_of_exit_codes_can_be_read() {
    let table = Run::of(&mut instep(["help", "exit-codes"])).with_code(0).stdout;
    for code in ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "20", "130", "143"] {
        assert!(table.lines().any(|line| line.split_whitespace().next() == Some(code)), "{code}\n{table}");
    }
}

pub(crate) fn spawn(command: &mut Command) -> Child {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}
