//! Contenders of a job as bars, one below the other.

use anyhow::{Result, anyhow};
use plotters::{prelude::Rectangle, style::Color as _};

use super::{Canvas, PictureTheme};

/// Pixels of a bar with the room between it and the next.
const STEP: i32 = 30;
/// The left end of all bars, right of their names.
const LEFT: i32 = 300;
/// Room for the number behind the longest bar.
const RIGHT: i32 = 80;

/// Returns the height of a picture with this number of bars.
pub fn height(bars: usize) -> u32 {
    54 + 24 + STEP.unsigned_abs() * u32::try_from(bars).unwrap_or_default()
}

/// Draws a bar for each name and number.
pub fn draw(canvas: &Canvas<'_>, theme: &PictureTheme, rows: &[(&str, f64)]) -> Result<()> {
    let most = rows.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let (width, _) = canvas.dim_in_pixel();
    let room = f64::from(width) - f64::from(LEFT + RIGHT);
    for (number, (name, value)) in (0..).zip(rows) {
        let top = 8 + number * STEP;
        let end = LEFT + ((value / most * room) as i32).max(1);
        let color = if name.starts_with("instep") { theme.ours } else { theme.other };
        let failed = |error: &dyn std::fmt::Display| anyhow!("{error}");
        canvas.draw_text(name, &theme.text(13), (16, top + 4)).map_err(|error| failed(&error))?;
        let bar = Rectangle::new([(LEFT, top), (end, top + STEP - 10)], color.filled());
        canvas.draw(&bar).map_err(|error| failed(&error))?;
        let value = if *value < 1.0 { format!("{value:.3}") } else { format!("{value:.2}") };
        canvas.draw_text(&value, &theme.faint(13), (end + 8, top + 4)).map_err(|error| failed(&error))?;
    }
    Ok(())
}
