//! The pages of a running Source as a program reads them: what is on them, and that everything from outside is text there.
//! In a browser they are looked at by `browser.rs`.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

#[path = "pages/copies.rs"]
mod copies;
#[path = "pages/overview.rs"]
mod overview;
#[path = "pages/resources.rs"]
mod resources;
#[path = "pages/serving.rs"]
mod serving;
#[path = "pages/stylesheet.rs"]
mod stylesheet;
#[path = "pages/wrong_turns.rs"]
mod wrong_turns;

/// The `Accept` of `curl`.
const PROGRAM: &str = "*/*";
