//! Jobs about copying and following.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;
use instep_testkit::Server;

use crate::{
    Options, data,
    measure::{BenchReport, Contender, cpu, limit, peak, time, wall},
    programs::{self, instep, program, python},
};

/// A folder, published and served.
pub struct Site {
    pub server: Server,
    pub folder: PathBuf,
    /// A file with the URL of each resource on a line.
    pub urls: String,
}

impl Site {
    /// Publishes and serves the small files.
    pub fn open(files: usize) -> Result<Self> {
        let name = |number: usize| format!("d{:04}/f{number:07}.txt", number / 100);
        Self::over(data::small_files(files)?, (0..files).map(name))
    }

    /// Publishes and serves a folder. The documents lie in the folder itself, rewritten for the port of nginx.
    pub fn over(folder: PathBuf, names: impl Iterator<Item = String>) -> Result<Self> {
        let server = programs::nginx(&folder)?;
        for document in ["resourcesync", ".well-known", ".instep"] {
            data::remove(&folder.join(document))?;
        }
        let urls = data::scratch()?.join("urls.txt");
        fs::write(&urls, names.map(|name| format!("{}{name}\n", server.url())).collect::<String>())?;
        let site = Self { server, folder, urls: urls.display().to_string() };
        time(&mut site.publish())?;
        Ok(site)
    }

    pub fn publish(&self) -> Command {
        let folder = self.folder.display().to_string();
        instep(&["publish", &folder, "--base-url", &self.server.url(), "--hash", "md5,sha-256", "-q"])
    }

    pub fn sync(&self, copy: &str) -> Command {
        let url = self.server.url();
        instep(&["sync", &url, copy, "--verify", "all", "--transfers", "64", "--per-host", "64", "-q"])
    }
}

/// Measures a baseline: every file fetched, verified and durable.
pub fn baseline(options: &Options, report: &mut BenchReport) -> Result<()> {
    let site = Site::open(options.files)?;
    let copy = data::folder("copy")?.display().to_string();
    let (url, urls) = (site.server.url(), site.urls.clone());
    let fresh = || data::empty("copy").map(drop);
    let mut contenders = vec![
        Contender::new("instep sync", fresh, || time(&mut site.sync(&copy))),
        Contender::new("bare loop: hyper, 64 in flight", fresh, || limit(&["fetch", &urls, &url, &copy])),
    ];
    if !options.without_peers {
        for (name, command) in peers(&url, &urls, &copy) {
            contenders.push(Contender::new(name, fresh, move || {
                let mut command = command();
                time(command.current_dir("/dev/shm/instep-bench/copy"))
            }));
        }
    }
    report.compare(options.rounds, contenders)?;
    report.times_faster("instep sync", "resync-sync -b", wall, 15.0, "wall");
    report.times_faster("instep sync", "resync-sync -b", cpu, 11.0, "CPU");
    for (peer, most) in [
        ("wget2, 16 threads", 0.55),
        ("curl --parallel", 0.7),
        ("rclone, 16 transfers", 0.3),
        ("aria2c -j16", 0.2),
    ] {
        report.at_most("instep sync", peer, wall, most, "wall");
    }
    report.at_most("instep sync", "bare loop: hyper, 64 in flight", wall, 1.25, "wall");
    report.goal("peak MiB of instep sync", report.of("instep sync").map_or(0.0, peak), 64.0);
    Ok(())
}

type PeerCommand<'a> = (&'static str, Box<dyn Fn() -> Command + 'a>);

/// Returns the commands of the peers. None of them verifies the fetched files.
fn peers<'a>(url: &'a str, urls: &'a str, copy: &'a str) -> Vec<PeerCommand<'a>> {
    let list = format!("{url}resourcesync/resourcelist.xml");
    let remote = url.trim_end_matches('/');
    vec![
        (
            "resync-sync -b",
            Box::new(move || python("resync-sync", &["-b", "--sitemap", &list, remote, copy])),
        ),
        (
            "rclone, 16 transfers",
            Box::new(move || {
                let excluded = ["--exclude", "/resourcesync/**", "--exclude", "/robots.txt"];
                let arguments =
                    ["copy", ":http:", copy, "--http-url", url, "--transfers", "16", "--checkers", "16"];
                program("rclone", &[&arguments[..], &excluded].concat())
            }),
        ),
        (
            "wget2, 16 threads",
            Box::new(move || {
                program("wget2", &["-q", "--max-threads=16", "-x", "-nH", "-P", copy, "-i", urls])
            }),
        ),
        (
            "aria2c -j16",
            Box::new(move || {
                let quiet = ["-q", "-j16", "--file-allocation=none", "--auto-file-renaming=false"];
                program("aria2c", &[&quiet[..], &["-d", copy, "-i", urls]].concat())
            }),
        ),
        ("curl --parallel", {
            let configuration = curl_configuration(urls, url, copy);
            Box::new(move || {
                let arguments =
                    ["--parallel", "--parallel-max", "64", "--create-dirs", "-s", "-K", &configuration];
                program("curl", &arguments)
            })
        }),
    ]
}

/// Returns a configuration for curl, with pairs of URL and file.
fn curl_configuration(urls: &str, base: &str, copy: &str) -> String {
    let file = Path::new(urls).with_extension("curl");
    let text = fs::read_to_string(urls).unwrap_or_default();
    let pair = |url: &str| {
        let path = url.strip_prefix(base).unwrap_or(url);
        format!("url=\"{url}\"\noutput=\"{copy}/{path}\"\n")
    };
    drop(fs::write(&file, text.lines().map(pair).collect::<String>()));
    file.display().to_string()
}

/// Measures a run with nothing new at the Source.
pub fn again(options: &Options, report: &mut BenchReport) -> Result<()> {
    let site = Site::open(options.files)?;
    let copy = data::empty("copy")?.display().to_string();
    time(&mut site.sync(&copy))?;
    let url = site.server.url();
    let mut contenders = vec![Contender::command("instep sync", || site.sync(&copy))];
    if !options.without_peers {
        contenders.push(Contender::command("rclone --size-only --http-no-head", || {
            let cheap = ["--size-only", "--http-no-head", "--transfers", "16"];
            program("rclone", &[&["copy", ":http:", &copy, "--http-url", &url], &cheap[..]].concat())
        }));
    }
    report.compare(options.rounds, contenders)?;
    report.goal("wall of instep sync", report.of("instep sync").map_or(0.0, wall), 0.05);
    Ok(())
}

/// Measures the peak memory, which must not follow the number of files.
pub fn memory(_: &Options, report: &mut BenchReport) -> Result<()> {
    for files in [50_000, 200_000] {
        let folder = data::small_files(files)?.display().to_string();
        let copy = data::empty("copy")?.display().to_string();
        let (state, out) = (format!("{copy}/state"), format!("{copy}/out"));
        let published = time(&mut instep(&[
            "publish",
            &folder,
            "--base-url",
            "http://h/",
            "--out",
            &out,
            "--state",
            &state,
            "-q",
        ]))?;
        report.row(&format!("publish {files}"), published);
        let site = Site::open(files)?;
        let copy = data::empty("copy")?.display().to_string();
        report.row(&format!("sync {files}"), time(&mut site.sync(&copy))?);
    }
    println!();
    for verb in ["publish", "sync"] {
        let (small, large) = (format!("{verb} 50000"), format!("{verb} 200000"));
        report.goal(&format!("peak MiB of {small}"), report.of(&small).map_or(0.0, peak), 64.0);
        report.at_most(&large, &small, peak, 1.3, "peak memory");
    }
    Ok(())
}
