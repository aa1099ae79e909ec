//! The pages in a browser: Chromium without a window, driven over its DevTools protocol.
#![expect(clippy::unwrap_used, reason = "a test ends where its ground is missing")]

#[path = "browser/accessible.rs"]
mod accessible;
#[path = "browser/chromium.rs"]
mod chromium;
#[path = "browser/fleet.rs"]
mod fleet;
#[path = "browser/live.rs"]
mod live;
#[path = "browser/pictures.rs"]
mod pictures;
#[path = "browser/sample.rs"]
mod sample;
#[path = "pages/serving.rs"]
mod serving;
#[path = "browser/terminal.rs"]
mod terminal;
