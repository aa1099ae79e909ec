//! A line over time, as markup that fits any width. PURE.

use maud::{Markup, html};
use resourcesync::DateTime;

/// The most points of a line; more samples than this share points.
const POINTS: usize = 240;
/// The height and the width of a chart in its own units.
const HEIGHT: u64 = 1_000;
const WIDTH: usize = 1_000;
/// The shortest line that can be seen, as a part of the width.
const SHORTEST: f64 = 0.02;

/// Draws samples, the oldest first; the axis ends at `least` or higher. If neighbours share a point, the largest is
/// shown, so that a peak does not vanish. `label` writes a value, and `said` describes the last and the largest one
/// in a sentence.
pub(crate) fn line(
    samples: &[(DateTime, u64)],
    least: u64,
    label: &dyn Fn(u64) -> String,
    said: &dyn Fn(u64, u64) -> String,
) -> Markup {
    let (Some((from, _)), Some((until, last))) = (samples.first(), samples.last()) else {
        return html! { p.soft { "Nothing is known yet." } };
    };
    let together = samples.len().div_ceil(POINTS);
    let peaks: Vec<_> =
        samples.chunks(together).filter_map(|chunk| chunk.iter().map(|(_, value)| *value).max()).collect();
    let top = peaks.iter().max().copied().unwrap_or_default().max(least).max(1);
    let step = (peaks.len().saturating_sub(1)).max(1) as f64;
    let curve: Vec<_> = peaks.iter().enumerate().map(|(place, peak)| (place as f64 / step, *peak)).collect();
    // A single sample becomes a line over the whole width.
    let curve = if let [(_, only)] = curve[..] { vec![(0.0, only), (1.0, only)] } else { curve };
    plot(&curve, top, label, &said(*last, top), &[time(*from), time(*until)])
}

/// Draws a curve through points: their places from 0 to 1, and their values from 0 to `top`. `label` writes a value,
/// `said` describes all in a sentence, and `times` are labels of the axis: the beginnings of equal parts of it, or
/// two for its ends.
pub(crate) fn plot(
    curve: &[(f64, u64)],
    top: u64,
    label: &dyn Fn(u64) -> String,
    said: &str,
    times: &[String],
) -> Markup {
    html! {
        figure.chart {
            div.plot {
                div.y aria-hidden="true" { span { (label(top)) } span { (label(top / 2)) } span { "0" } }
                svg viewBox=(format!("0 0 {WIDTH} {HEIGHT}")) preserveAspectRatio="none" role="img" aria-label=(said) {
                    @for y in [0, HEIGHT / 2, HEIGHT] {
                        line x1="0" x2=(WIDTH) y1=(y) y2=(y) vector-effect="non-scaling-stroke" {}
                    }
                    polyline points=(points(curve, top)) vector-effect="non-scaling-stroke" {}
                }
                div class=(format!("x of-{}", times.len())) aria-hidden="true" {
                    @for (number, time) in times.iter().enumerate() {
                        span class=[(times.len() == 2 && number == 1).then_some("last")] { (time) }
                    }
                }
            }
        }
    }
}

fn points(curve: &[(f64, u64)], top: u64) -> String {
    let point = |(place, value): &(f64, u64)| {
        let y = u128::from(HEIGHT) - u128::from(*value) * u128::from(HEIGHT) / u128::from(top);
        format!("{:.1},{y}", place * WIDTH as f64)
    };
    // A line without length is not drawn, so a single point gets a short one that ends there.
    let begin = match curve {
        [(place, value)] => Some(point(&((place - SHORTEST).max(0.0), *value))),
        _ => None,
    };
    begin.into_iter().chain(curve.iter().map(point)).collect::<Vec<_>>().join(" ")
}

fn time(moment: DateTime) -> String {
    moment.to_string().get(5..16).unwrap_or_default().replace('T', " ")
}
