//! Curves in one pair of axes, their names beside them.

use anyhow::{Result, anyhow};
use plotters::{
    chart::ChartBuilder,
    prelude::{Circle, LineSeries, PathElement},
    style::{Color as _, ShapeStyle},
};

use super::{Canvas, PictureTheme};
use crate::results::MeasuredCurve;

/// Pixels of the names at the right.
const NAMES: u32 = 230;

/// The steps of an axis.
#[derive(Clone, Copy, Debug)]
pub enum Scale {
    Linear,
    Logarithmic,
}

/// The unit of the curves, and the scales across and up.
#[derive(Clone, Copy, Debug)]
pub struct Axes {
    pub up: &'static str,
    pub scales: [Scale; 2],
}

impl Scale {
    /// Returns the place of a value; `None` if the scale has no place for it: a value too small to be measured is not
    /// a point of a logarithmic scale.
    fn place(self, value: f64) -> Option<f64> {
        match self {
            Self::Linear => Some(value),
            Self::Logarithmic => (value > 0.0).then(|| value.log10()),
        }
    }

    fn value(self, place: f64) -> f64 {
        match self {
            Self::Linear => place,
            Self::Logarithmic => 10_f64.powf(place),
        }
    }

    /// Returns the ends of an axis that has room for these places.
    fn range(self, places: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
        let (least, most) = places.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), place| {
            (least.min(place), most.max(place))
        });
        match self {
            Self::Linear => 0.0..most.max(f64::MIN_POSITIVE) * 1.08,
            Self::Logarithmic if least.floor() < most.ceil() => least.floor()..most.ceil(),
            Self::Logarithmic => least.floor()..least.floor() + 1.0,
        }
    }

    /// Marks of an axis: one for each power of ten, or as many as have room.
    fn marks(self, range: &std::ops::Range<f64>) -> usize {
        match self {
            Self::Linear => 6,
            Self::Logarithmic => (range.end - range.start) as usize + 1,
        }
    }
}

/// Draws the curves.
pub fn draw(canvas: &Canvas<'_>, theme: &PictureTheme, axes: &Axes, drawn: &[MeasuredCurve]) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| anyhow!("{error}");
    let (width, _) = canvas.dim_in_pixel();
    let (plot, names) = canvas.split_horizontally(width - NAMES);
    let [across, up] = axes.scales;
    let place = |(x, y): &(f64, f64)| Some((across.place(*x)?, up.place(*y)?));
    let points = || drawn.iter().flat_map(|curve| &curve.points).filter_map(place);
    let (x_range, y_range) = (across.range(points().map(|(x, _)| x)), up.range(points().map(|(_, y)| y)));
    let marks = (across.marks(&x_range), up.marks(&y_range));
    let mut chart = ChartBuilder::on(&plot)
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(62)
        .build_cartesian_2d(x_range, y_range)
        .map_err(|error| failed(&error))?;
    chart
        .configure_mesh()
        .x_labels(marks.0)
        .y_labels(marks.1)
        .disable_x_mesh()
        .bold_line_style(theme.grid)
        .light_line_style(theme.background)
        .axis_style(theme.grid)
        .label_style(theme.faint(12))
        .axis_desc_style(theme.faint(12))
        .x_desc(drawn.first().map(|curve| curve.across.as_str()).unwrap_or_default())
        .y_desc(axes.up)
        .x_label_formatter(&|place| number(across.value(*place)))
        .y_label_formatter(&|place| number(up.value(*place)))
        .draw()
        .map_err(|error| failed(&error))?;
    for ((number, curve), color) in (0..).zip(drawn).zip(theme.curves.iter().cycle()) {
        let line = ShapeStyle::from(color).stroke_width(2);
        chart
            .draw_series(LineSeries::new(curve.points.iter().filter_map(place), line))
            .map_err(|error| failed(&error))?;
        if curve.points.len() < 20 {
            let points = curve.points.iter().filter_map(place);
            let dots = points.map(|point| Circle::new(point, 3, color.filled()));
            chart.draw_series(dots).map_err(|error| failed(&error))?;
        }
        let top = 24 + number * 22;
        names.draw(&PathElement::new([(4, top + 7), (22, top + 7)], line)).map_err(|error| failed(&error))?;
        names.draw_text(&curve.name, &theme.text(12), (28, top)).map_err(|error| failed(&error))?;
    }
    Ok(())
}

/// Returns a number as a label: short, for any size.
fn number(value: f64) -> String {
    // The rounding error of a power of ten is no part of the number.
    let tenths = |value: f64| (value * 10.0).round() / 10.0;
    match value {
        value if value >= 999_999.0 => format!("{} M", tenths(value / 1e6)),
        value if value >= 999.9 => format!("{} k", tenths(value / 1e3)),
        value if value >= 10.0 || value == 0.0 => format!("{value:.0}"),
        value => format!("{value:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
    }
}
