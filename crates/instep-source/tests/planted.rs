//! Links that an attacker placed where the Source writes, and a process whose files nobody else may read.
#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::Command,
};

use instep_source::{NoMonitor, PublishOptions, publish};

const BASE: &str = "http://example.com/";
const UMASK: &str = "INSTEP_TEST_UMASK_FOLDER";

fn content(folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("a"), "a").unwrap();
    fs::set_permissions(folder.join("a"), fs::Permissions::from_mode(0o644)).unwrap();
}

#[test]
fn c14_nothing_is_written_or_deleted_through_a_planted_link() {
    for planted in
        [".instep", "resourcesync", "resourcesync/.stage", "resourcesync/.stage/lists", ".well-known"]
    {
        let dir = tempfile::tempdir().unwrap();
        let (site, victim) = (dir.path().join("site"), dir.path().join("victim"));
        content(&site);
        fs::create_dir_all(victim.join("lists/deep")).unwrap();
        fs::write(victim.join("lists/deep/theirs"), "theirs").unwrap();
        fs::create_dir_all(site.join(planted).parent().unwrap()).unwrap();
        symlink(&victim, site.join(planted)).unwrap();
        let refused = publish(&PublishOptions::new(&site, BASE), &NoMonitor).unwrap_err();
        let text = format!("{refused:?} {refused}");
        assert!(text.contains(site.to_str().unwrap()), "{planted}: {text}");
        assert_eq!(fs::read_to_string(victim.join("lists/deep/theirs")).unwrap(), "theirs", "{planted}");
        let names: Vec<_> = fs::read_dir(&victim).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["lists"], "{planted}");
        // The way out: the link is taken away.
        fs::remove_file(site.join(planted)).unwrap();
        publish(&PublishOptions::new(&site, BASE), &NoMonitor).unwrap();
    }
}

/// Not a test by itself: what the process with the narrow mask does.
#[test]
fn child() {
    let Some(folder) = std::env::var_os(UMASK) else { return };
    publish(&PublishOptions::new(Path::new(&folder), BASE), &NoMonitor).unwrap();
}

#[test]
fn c18_documents_can_be_read_by_a_web_server_whatever_the_mask_of_the_process() {
    let site = tempfile::tempdir().unwrap();
    content(site.path());
    let test = std::env::current_exe().unwrap();
    let script = format!("umask 077; exec '{}' --exact child", test.display());
    let output = Command::new("sh").args(["-c", &script]).env(UMASK, site.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let mode = |name: &str| fs::metadata(site.path().join(name)).unwrap().permissions().mode() & 0o777;
    for folder in ["resourcesync", ".well-known"] {
        assert_eq!(mode(folder), 0o755, "{folder}");
    }
    for document in ["resourcesync/resourcelist.xml", ".well-known/resourcesync", "robots.txt"] {
        assert_eq!(mode(document), 0o644, "{document}");
    }
    assert_eq!(mode(".instep"), 0o700);
}
