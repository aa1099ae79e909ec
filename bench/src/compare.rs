//! Two runs held against each other, with the noise that each of them saw.

use anyhow::Result;

use crate::{
    measure::{Sample, cpu, median_of, peak, wall},
    results::{BenchResults, JobResults, SampledRow},
};

/// A difference below this is ignored, even if the samples vary less.
const LEAST: f64 = 0.03;

type Measure = (&'static str, fn(Sample) -> f64);

const MEASURES: [Measure; 3] = [("CPU s", cpu), ("wall s", wall), ("peak MiB", peak)];

/// The outcome for one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Movement {
    Better,
    Worse,
    /// Within the noise.
    None,
}

/// Prints each figure that both runs have, and which of them moved by more than the noise.
pub fn print(before: &BenchResults, after: &BenchResults) -> Result<()> {
    for (name, run) in [("before", before), ("after", after)] {
        let commit = run.commit.as_deref().unwrap_or("no commit");
        let busy = if run.machine.was_busy() { ", busy: times of the clock say little" } else { "" };
        println!("- {name}: {} ({commit}, {}), {}{busy}", run.version, run.profile, run.date);
    }
    if !before.machine.is_like(&after.machine) {
        println!("- the machines differ: only ratios to peers of the same run can be compared");
    }
    println!(
        "\n| job | | figure | before | after | ratio | noise | |\n|---|---|---|---:|---:|---:|---:|---|"
    );
    for (job, other) in after.jobs.iter().filter_map(|job| Some((job, before.job(&job.name)?))) {
        for row in &job.rows {
            let Some(earlier) = other.rows.iter().find(|earlier| earlier.name == row.name) else { continue };
            print_row(job, earlier, row);
        }
        for number in &job.numbers {
            let earlier = other.numbers.iter().find(|earlier| earlier.name == number.name);
            let Some(earlier) = earlier.filter(|earlier| earlier.value != 0.0) else { continue };
            let (figure, values) = (number.unit.as_str(), (earlier.value, number.value));
            print_figure((&job.name, &number.name, figure), values, 0.0);
        }
    }
    Ok(())
}

fn print_row(job: &JobResults, before: &SampledRow, after: &SampledRow) {
    for (figure, measure) in MEASURES {
        let values = (measure(median_of(&before.samples)), measure(median_of(&after.samples)));
        let noise = spread(&before.samples, measure).max(spread(&after.samples, measure));
        if values.0 > 0.0 {
            print_figure((&job.name, &after.name, figure), values, noise);
        }
    }
}

fn print_figure((job, name, figure): (&str, &str, &str), (before, after): (f64, f64), noise: f64) {
    let word = match difference(before, after, noise) {
        Movement::Better => "less",
        Movement::Worse => "MORE",
        Movement::None => "",
    };
    let ratio = after / before;
    println!("| {job} | {name} | {figure} | {before:.3} | {after:.3} | {ratio:.2} | {noise:.2} | {word} |");
}

/// Returns half the difference between the smallest and the largest sample, relative to the median.
fn spread(samples: &[Sample], measure: fn(Sample) -> f64) -> f64 {
    let values = samples.iter().map(|sample| measure(*sample));
    let (least, most) =
        values.fold((f64::INFINITY, 0.0_f64), |(least, most), value| (least.min(value), most.max(value)));
    let median = measure(median_of(samples));
    if median > 0.0 { (most - least) / 2.0 / median } else { 0.0 }
}

fn difference(before: f64, after: f64, noise: f64) -> Movement {
    let moved = after / before - 1.0;
    match moved.abs() > noise.max(LEAST) {
        false => Movement::None,
        true if moved > 0.0 => Movement::Worse,
        true => Movement::Better,
    }
}

#[cfg(test)]
mod tests {
    use super::{Movement, difference, spread};
    use crate::measure::{Sample, cpu};

    fn samples(values: &[f64]) -> Vec<Sample> {
        values.iter().map(|cpu| Sample { cpu: *cpu, ..Sample::default() }).collect()
    }

    #[test]
    fn a_figure_that_moves_less_than_its_samples_did_is_the_same() {
        let noise = spread(&samples(&[0.9, 1.0, 1.1]), cpu);
        assert!((noise - 0.1).abs() < 1e-9);
        assert_eq!(difference(1.0, 1.09, noise), Movement::None);
        assert_eq!(difference(1.0, 1.11, noise), Movement::Worse);
        assert_eq!(difference(1.0, 0.89, noise), Movement::Better);
    }

    #[test]
    fn three_percent_are_noise_even_of_a_single_sample() {
        assert_eq!(difference(1.0, 1.02, spread(&samples(&[1.0]), cpu)), Movement::None);
        assert_eq!(difference(1.0, 1.04, 0.0), Movement::Worse);
    }
}
