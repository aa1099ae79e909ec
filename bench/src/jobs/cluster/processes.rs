//! The CPU that processes have taken.

use std::{fs, path::Path};

use anyhow::{Context as _, Result};

/// Ticks of the times in `/proc` that make a second: the same on every machine that runs Linux.
const TICKS: f64 = 100.0;

/// The figures of a process in `/proc/ID/stat`.
struct ProcessTimes {
    parent: u32,
    own: f64,
    /// Of those that it started and that have ended.
    ended: f64,
}

impl ProcessTimes {
    fn of(id: u32) -> Result<Self> {
        let text = fs::read_to_string(Path::new("/proc").join(id.to_string()).join("stat"))?;
        // The name before them may hold anything.
        let (_, fields) = text.rsplit_once(')').context("no process")?;
        let fields: Vec<_> = fields.split_whitespace().collect();
        let number = |place: usize| -> Result<f64> {
            Ok(fields.get(place).context("a short line of figures")?.parse::<f64>()?)
        };
        let seconds =
            |places: [usize; 2]| Ok::<_, anyhow::Error>((number(places[0])? + number(places[1])?) / TICKS);
        Ok(Self { parent: number(1)? as u32, own: seconds([11, 12])?, ended: seconds([13, 14])? })
    }
}

/// Returns the seconds of CPU that a process has taken.
pub fn seconds(id: u32) -> Result<f64> {
    Ok(ProcessTimes::of(id)?.own)
}

/// Returns the seconds of CPU that a process and all that it started have taken.
pub fn seconds_of_all(id: u32) -> Result<f64> {
    let first = ProcessTimes::of(id)?;
    let processes =
        fs::read_dir("/proc")?.filter_map(|process| process.ok()?.file_name().to_str()?.parse().ok());
    // One that ends meanwhile is counted by the first one the next time.
    let others =
        processes.filter_map(|other| ProcessTimes::of(other).ok()).filter(|other| other.parent == id);
    Ok(first.own + first.ended + others.map(|other| other.own).sum::<f64>())
}
