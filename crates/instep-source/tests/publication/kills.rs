//! A publication that is killed before any one of its steps.

use std::{collections::BTreeMap, env, fs, path::Path, process::Command, time::Duration};

use instep_source::{Archives, DumpPolicy, NoMonitor, PublishOptions, publish};

use super::{
    readers::{check_change_list, check_resource_list},
    site::{BASE, Site},
};

const SITE: &str = "INSTEP_TEST_KILLED_SITE";
/// The system calls by which a publication changes the disk.
const STEPS: &str = "rename,renameat,renameat2,unlink,unlinkat,fsync,fdatasync,syncfs,ftruncate";
/// No publication of this test has so many steps in one thread.
const MANY: usize = 200;

fn options(root: &Path) -> PublishOptions {
    let mut options = PublishOptions::new(root, BASE);
    options.lists.entries = 2;
    options.lists.rotation.entries = 2;
    options.lists.snapshot_every = Duration::ZERO;
    options.archives = Some(Archives::default());
    options.dumps.policy = DumpPolicy::Always;
    options.dumps.every = Duration::ZERO;
    options
}

/// Each snapshot in the archives is that of the time that its entry states.
fn check_archives(site: &Site) {
    for archive in ["resourcelist-archive.xml", "resourcedump-archive.xml"] {
        assert!(site.path(archive).exists(), "{archive}");
        for entry in site.read(archive).1 {
            let (header, _) = site.read(entry.loc.as_str().rsplit('/').next().unwrap());
            assert_eq!(header.metadata.unwrap().at, entry.metadata.at, "{}", entry.loc);
        }
    }
}

/// Not a test by itself: what the killed process does.
#[test]
fn child() {
    let Some(root) = env::var_os(SITE) else { return };
    publish(&options(root.as_ref()), &NoMonitor).unwrap();
}

#[test]
fn s5_s7_a_publication_killed_before_any_step_leaves_whole_documents_and_is_repaired() {
    let mut site = Site::new(&[("a", "0"), ("b", "0"), ("c", "0")]);
    site.options = options(site.root.path());
    site.publish();
    let mut lengths: BTreeMap<_, _> = ["a", "b", "c"].map(|name| (format!("{BASE}{name}"), Some(1))).into();
    let mut killed = 0;
    for step in 1..MANY {
        let length = step + 1;
        site.write("a", &"x".repeat(length));
        fs::write(site.root.path().join(format!("new{step}")), "y").unwrap();
        lengths.insert(format!("{BASE}a"), Some(length as u64));
        lengths.insert(format!("{BASE}new{step}"), Some(1));
        let mut child = Command::new("strace");
        child.args(["-f", "-qq", "-o", "/dev/null", "-e"]).arg(format!("trace={STEPS}"));
        child.arg("-e").arg(format!("inject={STEPS}:signal=KILL:when={step}"));
        child.arg(env::current_exe().unwrap()).args(["--exact", "kills::child"]);
        // It may not be installed: then the publications that are blocked have to do.
        let Ok(output) = child.env(SITE, site.root.path()).output() else { return };
        check_resource_list(&site);
        check_change_list(&site, 2);
        site.publish();
        check_archives(&site);
        assert_eq!(listed(&site), lengths, "killed before step {step}");
        assert!(site.publish().is_nothing_new(), "killed before step {step}");
        assert_eq!(site.changes().len(), 2 * step, "killed before step {step}");
        if output.status.success() {
            break;
        }
        killed += 1;
    }
    assert!((10..MANY - 1).contains(&killed), "{killed} steps");
}

/// Returns the resources, as the parts of the Resource List name them.
fn listed(site: &Site) -> BTreeMap<String, Option<u64>> {
    let (_, parts) = site.read("resourcelist.xml");
    let entries = parts.iter().flat_map(|part| site.read(part.loc.as_str().rsplit('/').next().unwrap()).1);
    entries.map(|entry| (entry.loc.into_string(), entry.metadata.length)).collect()
}
