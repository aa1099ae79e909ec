//! Folders of a Source that cannot be watched because of a limit of the system.

use std::{fs, process::Command};

use crate::support::{Running, folder, get, shell};

#[test]
fn c10_folders_that_cannot_be_watched_are_reported_and_scanned() {
    let can = Command::new("unshare").args(["-Ur", "true"]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        eprintln!("left out: limits cannot be set here");
        return;
    }
    let files = ["a", "b", "c", "d", "e"].map(|name| (format!("data/{name}/1.txt"), name));
    for limit in ["max_inotify_watches", "max_inotify_instances"] {
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let folder = folder(&files);
        let most = if limit.ends_with("watches") { 3 } else { 0 };
        let script =
            format!("exec unshare -Ur sh -c 'echo {most} > /proc/sys/user/{limit} && exec \"$@\"' sh \"$@\"");
        let serve = [
            "serve",
            "data",
            "--listen",
            "127.0.0.1:0",
            "--base-url",
            "http://127.0.0.1/",
            "--scan-every",
            "1s",
        ];
        let mut server = Running::start(shell(folder.path(), &script, &serve));
        let told = server.wait_for(|line| line["type"] == "problem");
        assert!(told["what"].as_str().unwrap().contains("max_user"), "{told}");
        let address = server.ready()["address"].clone();
        let ready = get(address.as_str().unwrap(), "/readyz");
        assert!(ready.contains(" 200 ") && ready.contains("cannot be watched"), "{ready}");
        let metrics = get(address.as_str().unwrap(), "/metrics");
        let unwatched =
            metrics.lines().find_map(|line| line.strip_prefix("instep_unwatched_folders ")).unwrap();
        assert!(unwatched.parse::<u32>().unwrap() > 0, "{unwatched}");
        for name in ["a", "b", "c", "d", "e"] {
            fs::write(folder.path().join(format!("data/{name}/1.txt")), "changed").unwrap();
        }
        let mut left: Vec<_> = ["a", "b", "c", "d", "e"].map(|name| format!("/{name}/1.txt")).into();
        while !left.is_empty() {
            let change = server.wait_for(|line| line["type"] == "item");
            left.retain(|name| !change["uri"].as_str().unwrap().ends_with(name));
        }
    }
}
