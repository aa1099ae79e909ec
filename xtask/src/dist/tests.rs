//! Packages that are made from this build, and used.

mod contrib;
mod deb;
mod image;
mod rpm;
mod systemd;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use instep_testkit::peers;

use super::{Release, archive, checksums, host, is_dynamic, sbom, version};
use crate::run::output;

/// Returns the program of this build without its lines, and a folder for packages.
fn release(name: &str) -> (Release, PathBuf) {
    let test = env::current_exe().unwrap();
    let built = test.ancestors().nth(2).unwrap().join("instep");
    assert!(built.is_file(), "{} is not there: cargo build -p instep", built.display());
    let folder = test.ancestors().nth(2).unwrap().join("dist-tests").join(name);
    drop(fs::remove_dir_all(&folder));
    fs::create_dir_all(folder.join("program")).unwrap();
    let program = folder.join("program/instep");
    output(Command::new("strip").arg("-o").arg(&program).arg(&built)).unwrap();
    (Release { version: version().unwrap(), platform: host().unwrap(), program, compression: 0 }, folder)
}

fn bash(script: &str, folder: &Path) -> String {
    let mut bash = Command::new("timeout");
    output(bash.args(["300", "bash", "-euo", "pipefail", "-c", script]).current_dir(folder)).unwrap()
}

/// Returns `true` if these programs are there; else the test is left out.
fn are_there<const N: usize>(programs: [&str; N]) -> bool {
    peers::find(programs).is_some()
}

/// Returns the files below a folder, with their modes.
fn listing(folder: &Path) -> Vec<String> {
    let lines = bash("find . -type f -printf '/%P %m\\n' | sort", folder);
    lines.lines().map(str::to_owned).collect()
}

#[test]
fn an_archive_and_its_list_of_parts_are_complete() {
    let (release, folder) = release("archive");
    let file = archive(&release, &folder).unwrap();
    let bill = sbom::write(&release, &folder).unwrap();
    checksums(&[file.clone(), bill.clone()], &folder).unwrap();
    assert_eq!(bash("sha256sum --check --strict SHA256SUMS", &folder).matches(": OK").count(), 2);
    let listing = output(Command::new("tar").arg("-tzf").arg(&file)).unwrap();
    for part in [
        "/instep\n",
        "/man/instep.1\n",
        "/completions/_instep\n",
        "/contrib/systemd/instep-sync@.timer\n",
        "/contrib/tmpfiles/instep.conf\n",
        "/NOTICE\n",
    ] {
        assert!(listing.contains(part), "{part} is not in\n{listing}");
    }
}

#[test]
fn the_list_of_parts_names_each_crate_that_cargo_builds_and_the_code_in_c() {
    let (release, folder) = release("sbom");
    let bill = fs::read_to_string(sbom::write(&release, &folder).unwrap()).unwrap();
    let bill: serde_json::Value = serde_json::from_str(&bill).unwrap();
    let parts = bill["components"].as_array().unwrap();
    let mut named: Vec<String> = parts
        .iter()
        .filter_map(|part| part["purl"].as_str()?.strip_prefix("pkg:cargo/"))
        .map(str::to_owned)
        .collect();
    named.sort();
    let mut tree =
        crate::run::cargo(&["tree", "-p", "instep", "--edges", "normal,build", "--prefix", "none"]);
    let tree = output(tree.args(["--locked", "--format", "{p}", "--target"]).arg(&release.platform)).unwrap();
    let package = |line: &str| {
        let mut words = line.split_whitespace();
        Some(format!("{}@{}", words.next()?, words.next()?.strip_prefix('v')?))
    };
    let mut built: Vec<String> =
        tree.lines().filter_map(package).filter(|one| !one.starts_with("instep@")).collect();
    built.sort();
    built.dedup();
    assert_eq!(named, built);
    assert!(parts.iter().any(|part| part["name"] == "sqlite" && part["version"].is_string()));
    for part in parts.iter().filter(|part| part["purl"].as_str().is_some_and(|purl| purl.contains("/serde@")))
    {
        assert_eq!(part["hashes"][0]["content"].as_str().map(str::len), Some(64), "{part}");
        assert_eq!(part["licenses"][0]["expression"], "MIT OR Apache-2.0");
    }
    let references = || parts.iter().chain([&bill["metadata"]["component"]]).map(|part| &part["bom-ref"]);
    for dependency in bill["dependencies"].as_array().unwrap() {
        let on = dependency["dependsOn"].as_array().unwrap();
        for reference in on.iter().chain([&dependency["ref"]]) {
            assert!(references().any(|known| known == reference), "{reference} is not described");
        }
    }
}

/// The check that a release for musl makes, with the static programs that any machine can build.
#[test]
fn a_static_program_is_told_from_one_that_asks_for_a_loader() {
    if !host().unwrap().contains("linux-gnu") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("hello.rs"), "fn main() { println!(\"hello\") }").unwrap();
    for (linking, expected) in [("+crt-static", false), ("-crt-static", true)] {
        let program = folder.path().join(linking);
        let mut rustc = Command::new("rustc");
        rustc.args(["-C", &format!("target-feature={linking}"), "hello.rs", "-o"]).arg(&program);
        output(rustc.current_dir(folder.path())).unwrap();
        assert_eq!(output(&mut Command::new(&program)).unwrap(), "hello\n");
        assert_eq!(is_dynamic(&program).unwrap(), expected, "{linking}");
    }
}
