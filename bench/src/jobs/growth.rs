//! The job `growth`: the same work at 1,000 resources and at a million, to see that the cost of each stays the same.

use std::{
    fs,
    io::{BufWriter, Write as _},
    path::Path,
    process::Command,
};

use anyhow::Result;

use super::sync::Site;
use crate::{
    Options, data,
    measure::{BenchReport, Sample, cpu, limit, median_of, peak, time},
    programs::instep,
};

/// Above this number, resources are lines of a manifest: the memory does not hold two copies of that many files.
const MOST_FILES: usize = 1_000_000;
/// Rounds of runs that change nothing.
const ROUNDS: usize = 3;
/// The part by which the cost of a resource may grow from one size to the next.
const FLAT: f64 = 1.2;
/// Below this number of resources, most of the cost of a run is constant.
const LEAST: usize = 10_000;

/// Work whose cost follows the number of resources.
const PROPORTIONAL: &[&str] = &[
    "publish",
    "publish, nothing changed",
    "Resource List written anew",
    "read",
    "sync",
    "sync, list published anew",
    "audit",
    "publish a manifest",
    "publish a manifest, nothing changed",
];

/// The figures at one size.
#[derive(Default)]
struct GrowthPoint {
    resources: usize,
    runs: Vec<(&'static str, Sample)>,
    /// Sizes of files.
    bytes: Vec<(&'static str, u64)>,
}

/// Measures each size, and keeps a curve for each kind of work.
pub fn growth(options: &Options, report: &mut BenchReport) -> Result<()> {
    let mut points = Vec::new();
    for resources in options.sizes.iter().copied() {
        println!("{resources} resources\n\n| | wall s | CPU s | peak MiB |\n|---|---:|---:|---:|");
        let mut point = GrowthPoint { resources, ..GrowthPoint::default() };
        if resources <= MOST_FILES {
            point.files(report)?;
        }
        point.manifest(report)?;
        println!();
        points.push(point);
    }
    curves(&points, report);
    flat(&points, report);
    Ok(())
}

impl GrowthPoint {
    /// Measures a folder of files: published, copied, audited.
    fn files(&mut self, report: &mut BenchReport) -> Result<()> {
        let site = Site::open(self.resources)?;
        let state = site.folder.join(".instep");
        // Published once for nginx' port; measured from the beginning again.
        for document in ["resourcesync", ".well-known", ".instep"] {
            data::remove(&site.folder.join(document))?;
        }
        self.once(report, "publish", &mut site.publish())?;
        // Before it is rewritten: the parts of the previous one stay for a while.
        self.bytes.push(("Resource List", bytes(&site.folder.join("resourcesync"), "resourcelist")?));
        self.often(report, "publish, nothing changed", || site.publish())?;
        fs::write(site.folder.join("d0000/f0000000.txt"), "changed")?;
        self.once(report, "publish, one changed", &mut site.publish())?;
        self.once(report, "Resource List written anew", site.publish().arg("--snapshot"))?;
        let list = data::resource_list(self.resources)?.display().to_string();
        self.add(report, "read", vec![limit(&["typed", &list, "3"])?]);
        self.bytes.push(("catalogue", bytes(&state, "catalogue.db")?));

        let copy = data::empty("copy")?;
        let (name, url) = (copy.display().to_string(), site.server.url());
        self.once(report, "sync", &mut site.sync(&name))?;
        self.often(report, "sync, nothing changed", || site.sync(&name))?;
        time(site.publish().arg("--snapshot"))?;
        self.once(report, "sync, list published anew", site.sync(&name).args(["--via", "list"]))?;
        self.often(report, "audit", || instep(&["audit", &url, &name, "-q"]))?;
        self.bytes.push(("state", bytes(&copy.join(".instep"), "state.sqlite")?));
        data::remove(&copy)?;
        if self.resources > 200_000 {
            data::discard_small_files(self.resources)?;
            data::remove(&site.folder)?;
        }
        Ok(())
    }

    /// Measures the same number of lines of a manifest: resources that an application serves.
    fn manifest(&mut self, report: &mut BenchReport) -> Result<()> {
        let folder = data::empty("manifest")?;
        let lines = folder.join("resources.jsonl");
        let mut writer = BufWriter::new(fs::File::create(&lines)?);
        for number in 0..self.resources {
            let uri = format!("http://source.example.com/d{:06}/f{number:08}", number / 100);
            writeln!(
                writer,
                r#"{{"uri":"{uri}","length":{},"type":"text/plain","lastmod":"2026-01-31T12:00:00Z"}}"#,
                number % 1_800
            )?;
        }
        writer.flush()?;
        let publish = || publish_manifest(&folder, &lines);
        self.once(report, "publish a manifest", &mut publish())?;
        self.once(report, "publish a manifest, nothing changed", &mut publish())?;
        self.bytes.push(("catalogue of a manifest", bytes(&folder.join("state"), "catalogue.db")?));
        data::remove(&folder)
    }

    fn once(&mut self, report: &mut BenchReport, name: &'static str, command: &mut Command) -> Result<()> {
        let sample = time(command)?;
        self.add(report, name, vec![sample]);
        Ok(())
    }

    fn often(
        &mut self,
        report: &mut BenchReport,
        name: &'static str,
        command: impl Fn() -> Command,
    ) -> Result<()> {
        let samples = (0..ROUNDS).map(|_| time(&mut command())).collect::<Result<Vec<_>>>()?;
        self.add(report, name, samples);
        Ok(())
    }

    fn add(&mut self, report: &mut BenchReport, name: &'static str, samples: Vec<Sample>) {
        self.runs.push((name, median_of(&samples)));
        report.samples(&format!("{name}, {}", self.resources), samples);
    }

    /// Returns the CPU of a kind of work, in microseconds for each resource; `None` if it was not measured.
    fn cpu_each(&self, name: &str) -> Option<f64> {
        let (_, sample) = self.runs.iter().find(|(run, _)| *run == name)?;
        Some(cpu(*sample) * 1e6 / self.resources as f64)
    }
}

fn publish_manifest(folder: &Path, lines: &Path) -> Command {
    let place = |name: &str| folder.join(name).display().to_string();
    let (out, state, lines) = (place("documents"), place("state"), lines.display().to_string());
    let base = "http://source.example.com/";
    instep(&[
        "publish",
        &place(""),
        "--from",
        &lines,
        "--base-url",
        base,
        "--out",
        &out,
        "--state",
        &state,
        "-q",
    ])
}

/// Sums the sizes of the files of a folder whose names begin so.
fn bytes(folder: &Path, prefix: &str) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            sum += entry.metadata()?.len();
        }
    }
    Ok(sum)
}

fn curves(points: &[GrowthPoint], report: &mut BenchReport) {
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in points.iter().flat_map(|point| &point.runs) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    for name in names {
        let runs = |measure: fn(Sample) -> f64| -> Vec<(usize, f64)> {
            let of = |point: &GrowthPoint| {
                point
                    .runs
                    .iter()
                    .find(|(run, _)| *run == name)
                    .map(|(_, sample)| (point.resources, measure(*sample)))
            };
            points.iter().filter_map(of).collect()
        };
        let each = |(resources, seconds): (usize, f64)| (resources as f64, seconds * 1e6 / resources as f64);
        report.curve(name, "resources", "CPU \u{b5}s a resource", runs(cpu).into_iter().map(each).collect());
        let memory = runs(peak).into_iter().map(|(resources, mib)| (resources as f64, mib)).collect();
        report.curve(name, "resources", "peak MiB", memory);
    }
    for name in ["catalogue", "Resource List", "state", "catalogue of a manifest"] {
        let of = |point: &GrowthPoint| {
            let (_, bytes) = point.bytes.iter().find(|(file, _)| *file == name)?;
            Some((point.resources as f64, *bytes as f64 / point.resources as f64))
        };
        report.curve(name, "resources", "bytes a resource", points.iter().filter_map(of).collect());
    }
}

/// Requires that the cost of a resource does not grow from one size to the next.
fn flat(points: &[GrowthPoint], report: &mut BenchReport) {
    for pair in points.windows(2).filter(|pair| pair[0].resources >= LEAST) {
        for name in PROPORTIONAL {
            let (Some(small), Some(large)) = (pair[0].cpu_each(name), pair[1].cpu_each(name)) else {
                continue;
            };
            let what = format!("CPU a resource of {name}, {} over {}", pair[1].resources, pair[0].resources);
            report.goal(&what, large / small, FLAT);
        }
    }
}
