//! Bare loops: the speed of the machine without checks, state or durability. Each runs as a separate process
//! (`instep-bench limit NAME ...`) and prints the seconds, the CPU seconds and the peak MiB of one run.

mod delay;
mod fetch;
mod files;
mod read;
mod repository;
pub mod sources;
mod write;

use std::{
    fs,
    io::{self, BufRead},
    path::Path,
    time::Instant,
};

use anyhow::{Result, bail};
use rustix::time::{ClockId, clock_gettime};

/// Runs one loop.
pub fn run(arguments: &[String]) -> Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["count", file, times] => measured(times, || read::count(Path::new(file))),
        ["fold", file, times] => measured(times, || read::fold(Path::new(file))),
        ["typed", file, times] => measured(times, || read::typed(Path::new(file))),
        ["write", entries, times] => {
            let entries = write::entries(entries.parse()?)?;
            measured(times, || write::checked(&entries))
        }
        ["format", entries, times] => {
            let entries = write::entries(entries.parse()?)?;
            measured(times, || write::formatted(&entries))
        }
        ["hash", folder, algorithm] => measured("1", || files::hash(Path::new(folder), algorithm)),
        ["stat", folder] => measured("1", || files::stat(Path::new(folder))),
        ["fetch", urls, base, folder] => {
            measured("1", || fetch::all(Path::new(urls), base, Path::new(folder)))
        }
        ["repository", port, records] => measured("1", || repository::serve(port, records)),
        ["sources", port, resources, milliseconds] => {
            measured("1", || sources::serve(port, resources, milliseconds))
        }
        ["harvest", url, folder] => measured("1", || repository::harvest(url, Path::new(folder))),
        ["delay", port, upstream, milliseconds] => {
            measured("1", || delay::proxy(port, upstream, milliseconds))
        }
        other => bail!("There is no loop {other:?}"),
    }
}

/// Reads the head of a request; returns its target, or `None` at the end of the connection.
fn read_target(lines: &mut impl BufRead) -> io::Result<Option<String>> {
    let (mut target, mut line) = (String::new(), String::new());
    loop {
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if target.is_empty() {
            line.split(' ').nth(1).unwrap_or_default().clone_into(&mut target);
        }
        if line.trim().is_empty() {
            return Ok(Some(target));
        }
    }
}

/// Runs work this number of times, and prints the means of wall and CPU time and the peak memory. The count of the work
/// goes to stderr.
fn measured(times: &str, mut work: impl FnMut() -> Result<u64>) -> Result<()> {
    let times: u32 = times.parse()?;
    let (start, cpu_before) = (Instant::now(), cpu_seconds());
    for _ in 0..times {
        eprintln!("{}", work()?);
    }
    let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu_before);
    println!("{} {} {}", wall / f64::from(times), cpu / f64::from(times), peak_mib()?);
    Ok(())
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn peak_mib() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    Ok(peak.unwrap_or("0").trim().parse::<f64>()? / 1024.0)
}
