//! Pictures of results: SVG, for light and for dark pages.

mod bars;
mod curves;
mod theme;

use std::{fs, path::Path};

use anyhow::{Context, Result, anyhow};
use plotters::{
    coord::Shift,
    drawing::DrawingArea,
    prelude::{IntoDrawingArea as _, SVGBackend},
};

use crate::{
    measure::{Sample, cpu, median_of, wall},
    results::{BenchResults, JobResults, MeasuredCurve},
};
use curves::{Axes, Scale};
use theme::{PictureTheme, THEMES};

/// The results that the pictures in the repository are drawn of.
pub const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/results/reference.json");

/// The pictures, beside this crate's README.
pub const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/plots");

const WIDTH: u32 = 760;
const HEIGHT: u32 = 420;

type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A picture of the contenders of one job.
struct PeersPicture {
    job: &'static str,
    unit: &'static str,
    measure: fn(Sample) -> f64,
}

/// A picture of the curves of one job that have the unit of its axes.
struct CurvesPicture {
    file: &'static str,
    job: &'static str,
    title: &'static str,
    axes: Axes,
}

const PEERS: &[PeersPicture] = &[
    PeersPicture { job: "read", unit: "CPU s", measure: cpu },
    PeersPicture { job: "write", unit: "CPU s", measure: cpu },
    PeersPicture { job: "publish", unit: "CPU s", measure: cpu },
    PeersPicture { job: "sync", unit: "CPU s", measure: cpu },
    PeersPicture { job: "sync", unit: "wall s", measure: wall },
    PeersPicture { job: "audit", unit: "CPU s", measure: cpu },
    PeersPicture { job: "validate", unit: "CPU s", measure: cpu },
    PeersPicture { job: "dump", unit: "CPU s", measure: cpu },
];

const CURVES: &[CurvesPicture] = &[
    CurvesPicture {
        file: "growth-cpu",
        job: "growth",
        title: "CPU for each resource",
        axes: Axes { up: "CPU \u{b5}s a resource", scales: [Scale::Logarithmic, Scale::Logarithmic] },
    },
    CurvesPicture {
        file: "growth-memory",
        job: "growth",
        title: "Peak memory",
        axes: Axes { up: "peak MiB", scales: [Scale::Logarithmic, Scale::Linear] },
    },
    CurvesPicture {
        file: "growth-bytes",
        job: "growth",
        title: "Catalogue, state and list on disk",
        axes: Axes { up: "bytes a resource", scales: [Scale::Logarithmic, Scale::Linear] },
    },
    CurvesPicture {
        file: "latency-lag",
        job: "lag",
        title: "From a written file to its verified copy",
        axes: Axes { up: "part", scales: [Scale::Logarithmic, Scale::Linear] },
    },
    CurvesPicture {
        file: "latency-channels",
        job: "channels",
        title: "From a publication to its message",
        axes: Axes { up: "part", scales: [Scale::Logarithmic, Scale::Linear] },
    },
    CurvesPicture {
        file: "memory-follow",
        job: "endure",
        title: "Memory while following",
        axes: Axes { up: "MiB", scales: [Scale::Linear, Scale::Linear] },
    },
];

/// Draws every picture that the results have figures for.
pub fn draw(results: &BenchResults, folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    let about = caption(results);
    for theme in &THEMES {
        let place = |name: &str| folder.join(format!("{name}-{}.svg", theme.name));
        for peers in PEERS {
            let Some(job) = results.job(peers.job).filter(|job| job.rows.len() > 1) else { continue };
            let rows =
                job.rows.iter().map(|row| (row.name.as_str(), (peers.measure)(median_of(&row.samples))));
            let rows: Vec<_> = rows.collect();
            let figure = peers.unit.split(' ').next().unwrap_or_default().to_lowercase();
            let path = place(&format!("peers-{}-{figure}", peers.job));
            let title = format!("{}, {}", peers.job, peers.unit);
            let size = (WIDTH, bars::height(rows.len()));
            picture(&path, theme, size, [&title, &about], |canvas| bars::draw(canvas, theme, &rows))?;
        }
        for curves in CURVES {
            let drawn = results.job(curves.job).map(|job| of_unit(job, curves.axes.up)).unwrap_or_default();
            if !drawn.is_empty() {
                let path = place(curves.file);
                picture(&path, theme, (WIDTH, HEIGHT), [curves.title, &about], |canvas| {
                    curves::draw(canvas, theme, &curves.axes, &drawn)
                })?;
            }
        }
    }
    Ok(())
}

fn of_unit(job: &JobResults, up: &str) -> Vec<MeasuredCurve> {
    job.curves.iter().filter(|curve| curve.up == up && curve.points.len() > 1).cloned().collect()
}

/// Describes the figures.
fn caption(results: &BenchResults) -> String {
    let machine = &results.machine;
    let busy = if machine.was_busy() { ", beside other work" } else { "" };
    let day = results.date.split('T').next().unwrap_or_default();
    format!("{}, {} cores of {}, {day}{busy}", results.version, machine.cores, machine.processor)
}

/// Draws one picture for one kind of page, below its title and caption.
fn picture(
    path: &Path,
    theme: &PictureTheme,
    (width, height): (u32, u32),
    [title, about]: [&str; 2],
    draw: impl FnOnce(&Canvas<'_>) -> Result<()>,
) -> Result<()> {
    let area = SVGBackend::new(path, (width, height)).into_drawing_area();
    let failed = |error: &dyn std::fmt::Display| anyhow!("{}: {error}", path.display());
    area.fill(&theme.background).map_err(|error| failed(&error))?;
    area.draw_text(title, &theme.text(17), (16, 12)).map_err(|error| failed(&error))?;
    area.draw_text(about, &theme.faint(11), (16, 34)).map_err(|error| failed(&error))?;
    let (_, below) = area.split_vertically(54);
    draw(&below).with_context(|| path.display().to_string())?;
    area.present().map_err(|error| failed(&error))?;
    drop((below, area));
    // Files of text end with a line.
    let mut text = fs::read_to_string(path)?;
    if !text.ends_with('\n') {
        text.push('\n');
        fs::write(path, text)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::draw;
    use crate::{
        measure::Sample,
        results::{BenchResults, JobResults, MeasuredCurve, MeasuredMachine, SampledRow},
    };

    fn results() -> BenchResults {
        let row = |name: &str, cpu| SampledRow {
            name: name.to_owned(),
            samples: vec![Sample { wall: cpu, cpu, peak_mib: 9.0 }],
        };
        let curve = MeasuredCurve {
            name: "publish & more".to_owned(),
            across: "resources".to_owned(),
            up: "peak MiB".to_owned(),
            points: vec![(1e3, 20.0), (1e4, 21.0), (1e6, 30.0)],
        };
        let machine = MeasuredMachine {
            processor: "P".to_owned(),
            cores: 2,
            memory_mib: 1,
            kernel: "6".to_owned(),
            load: 3.0,
        };
        let sync = JobResults {
            name: "sync".to_owned(),
            rows: vec![row("instep sync", 1.0), row("peer", 4.0)],
            ..JobResults::default()
        };
        let growth = JobResults { name: "growth".to_owned(), curves: vec![curve], ..JobResults::default() };
        BenchResults {
            version: "instep 0.1.0".to_owned(),
            commit: None,
            profile: "dist".to_owned(),
            date: "2026-01-31T12:00:00Z".to_owned(),
            machine,
            jobs: vec![sync, growth],
        }
    }

    #[test]
    fn each_picture_is_well_formed_for_both_kinds_of_pages_and_says_what_it_is_of() {
        let folder = tempfile::tempdir().unwrap();
        let json = serde_json::to_string(&results()).unwrap();
        draw(&serde_json::from_str(&json).unwrap(), folder.path()).unwrap();
        for name in ["peers-sync-cpu", "peers-sync-wall", "growth-memory"] {
            for theme in ["light", "dark"] {
                let svg = std::fs::read_to_string(folder.path().join(format!("{name}-{theme}.svg"))).unwrap();
                let mut reader = quick_xml::Reader::from_str(&svg);
                while !matches!(reader.read_event().unwrap(), quick_xml::events::Event::Eof) {}
                assert!(svg.contains("instep 0.1.0") && svg.contains("beside other work"), "{svg}");
            }
        }
        assert!(!folder.path().join("latency-lag-light.svg").exists());
    }

    #[test]
    fn a_bar_of_a_peer_that_needs_four_times_as_much_is_four_times_as_long() {
        let folder = tempfile::tempdir().unwrap();
        draw(&results(), folder.path()).unwrap();
        let svg = std::fs::read_to_string(folder.path().join("peers-sync-cpu-light.svg")).unwrap();
        let width = |line: &str| line.split("width=\"").nth(1)?.split('"').next()?.parse::<f64>().ok();
        let widths: Vec<_> = svg.lines().filter(|line| line.starts_with("<rect")).filter_map(width).collect();
        let [_background, ours, peer] = widths[..] else { panic!("{svg}") };
        assert!((peer / ours - 4.0).abs() < 0.1, "{ours} {peer}");
    }
}
