//! Programs of other projects, for tests that run them.

use std::{
    fs::OpenOptions,
    io::Write,
    path::{Path, PathBuf},
};

/// Returns the paths of these programs; `None` if one is missing and the test may be [left out](left_out).
///
/// # Panics
/// If one is missing and the test may not be left out.
pub fn find<const N: usize>(programs: [&str; N]) -> Option<[PathBuf; N]> {
    let found = programs.map(|program| (program, locate(program)));
    let missing: Vec<_> = found.iter().filter(|(_, path)| path.is_none()).map(|(name, _)| *name).collect();
    if missing.is_empty() {
        return Some(found.map(|(_, path)| path.unwrap_or_default()));
    }
    left_out(&missing.join(", "));
    None
}

/// Returns a file of a Python package among the peers; `None` if it is missing and the test may be [left out](left_out).
///
/// # Panics
/// If it is missing and the test may not be left out.
pub fn file(name: &str) -> Option<PathBuf> {
    let versions = std::fs::read_dir(target().join("peers/lib")).into_iter().flatten().flatten();
    let found =
        versions.map(|version| version.path().join("site-packages").join(name)).find(|file| file.is_file());
    if found.is_none() {
        left_out(name);
    }
    found
}

/// Records that the calling test is left out because something is missing, for `cargo xtask test` to report. No test
/// may be left out in another way, because it would pass without testing anything.
///
/// # Panics
/// If the test was not started by `cargo xtask test`, which names what is left out, or if `CI=true`: there, nothing may
/// be missing.
pub fn left_out(missing: &str) {
    let thread = std::thread::current();
    let line = format!("{} needs {missing}", thread.name().unwrap_or("a test"));
    let list = std::env::var_os("INSTEP_LEFT_OUT").filter(|_| std::env::var("CI").as_deref() != Ok("true"));
    let list = list.unwrap_or_else(|| panic!("{line}: `cargo xtask test` installs it"));
    let list = OpenOptions::new().append(true).open(list);
    list.and_then(|mut list| writeln!(list, "{line}")).expect("the list of tests left out");
}

/// Returns the path of a program: among the peers that were installed for the tests, or else in `PATH`.
fn locate(program: &str) -> Option<PathBuf> {
    let target = target();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = ["peers/bin", "peers-of-cargo/bin"]
        .map(|folder| target.join(folder))
        .into_iter()
        .chain(std::env::split_paths(&path));
    let folders = folders.chain(["/usr/sbin", "/sbin"].map(PathBuf::from)).chain(database_folders());
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Returns the folders in which Debian has the programs of each version of PostgreSQL.
fn database_folders() -> Vec<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    versions.map(|version| version.path().join("bin")).collect()
}

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"), PathBuf::from)
}
