//! Jobs about reading lists.

use anyhow::{Result, ensure};

use crate::{
    Options, data,
    measure::{BenchReport, Contender, Sample, cpu, limit},
    programs::{program, python},
};

/// Passes of a loop over the file in one process; the mean is the sample.
const TIMES: &str = "10";

const READ_WITH_PYTHON: &str = "\
import sys, time, resource
from resync.resource_list import ResourceList
start, cpu = time.perf_counter(), time.process_time()
ResourceList().read(sys.argv[1])
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(time.perf_counter() - start, time.process_time() - cpu, peak)
";

/// Measures the CPU beside bare loops and the reference client.
pub fn time(options: &Options, report: &mut BenchReport) -> Result<()> {
    let list = data::resource_list(options.entries)?.display().to_string();
    let looped = |name: &'static str, title: &str| {
        let list = list.clone();
        Contender::new(title, || Ok(()), move || limit(&[name, &list, TIMES]))
    };
    let mut contenders = vec![
        looped("typed", "instep (resourcesync)"),
        looped("count", "bare loop: count locs"),
        looped("fold", "bare loop: typed entries, unchecked"),
    ];
    if !options.without_peers {
        contenders.push(Contender::command("xmllint --stream", || {
            program("xmllint", &["--noout", "--stream", &list])
        }));
        contenders.push(Contender::new("resync (Python)", || Ok(()), || python_read(&list)));
    }
    report.compare(options.rounds, contenders)?;
    report.at_most("instep (resourcesync)", "bare loop: count locs", cpu, 1.0, "CPU");
    report.at_most("instep (resourcesync)", "bare loop: typed entries, unchecked", cpu, 1.5, "CPU");
    report.times_faster("instep (resourcesync)", "resync (Python)", cpu, 60.0, "CPU");
    Ok(())
}

/// Measures the peak memory of a million entries in one list.
pub fn memory(_: &Options, report: &mut BenchReport) -> Result<()> {
    let list = data::resource_list(1_000_000)?.display().to_string();
    report.compare(
        1,
        vec![Contender::new("instep (resourcesync)", || Ok(()), || limit(&["typed", &list, "1"]))],
    )?;
    let peak = report.of("instep (resourcesync)").unwrap_or_default().peak_mib;
    report.goal("peak MiB", peak, 20.0);
    Ok(())
}

fn python_read(list: &str) -> Result<Sample> {
    let output = python("python", &["-c", READ_WITH_PYTHON, list]).output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let [wall, cpu, peak_mib] = numbers.as_slice() else { anyhow::bail!("Python says {text}") };
    Ok(Sample { wall: *wall, cpu: *cpu, peak_mib: *peak_mib })
}
