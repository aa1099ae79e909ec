//! Colours of the pictures.

use plotters::style::{IntoFont as _, RGBColor, TextStyle};

/// The background page of a picture.
pub struct PictureTheme {
    /// The end of the file's name.
    pub name: &'static str,
    pub background: RGBColor,
    text: RGBColor,
    faint: RGBColor,
    pub grid: RGBColor,
    /// This program.
    pub ours: RGBColor,
    /// A peer, a bare loop.
    pub other: RGBColor,
    /// Colours of curves that red-green colour-blind readers can also distinguish.
    pub curves: [RGBColor; 10],
}

impl PictureTheme {
    /// Letters with this number of pixels.
    pub fn text(&self, size: u32) -> TextStyle<'_> {
        TextStyle::from(("sans-serif", size).into_font()).color(&self.text)
    }

    /// Returns the same, of less weight.
    pub fn faint(&self, size: u32) -> TextStyle<'_> {
        TextStyle::from(("sans-serif", size).into_font()).color(&self.faint)
    }
}

/// Both kinds of pages.
pub const THEMES: [PictureTheme; 2] = [
    PictureTheme {
        name: "light",
        background: RGBColor(255, 255, 255),
        text: RGBColor(31, 35, 40),
        faint: RGBColor(89, 99, 110),
        grid: RGBColor(218, 222, 227),
        ours: RGBColor(0, 98, 173),
        other: RGBColor(175, 184, 193),
        curves: [
            RGBColor(0, 98, 173),
            RGBColor(200, 80, 0),
            RGBColor(0, 130, 100),
            RGBColor(170, 70, 140),
            RGBColor(120, 105, 0),
            RGBColor(40, 150, 210),
            RGBColor(90, 90, 90),
            RGBColor(150, 30, 40),
            RGBColor(85, 60, 180),
            RGBColor(20, 20, 20),
        ],
    },
    PictureTheme {
        name: "dark",
        background: RGBColor(13, 17, 23),
        text: RGBColor(230, 237, 243),
        faint: RGBColor(145, 152, 161),
        grid: RGBColor(48, 54, 61),
        ours: RGBColor(88, 166, 255),
        other: RGBColor(96, 105, 117),
        curves: [
            RGBColor(88, 166, 255),
            RGBColor(255, 145, 60),
            RGBColor(40, 200, 155),
            RGBColor(230, 140, 205),
            RGBColor(230, 210, 70),
            RGBColor(120, 215, 255),
            RGBColor(180, 180, 180),
            RGBColor(255, 110, 110),
            RGBColor(180, 155, 255),
            RGBColor(240, 240, 240),
        ],
    },
];
