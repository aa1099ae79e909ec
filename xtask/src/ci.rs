//! `cargo xtask ci`: what must hold before a change is taken, besides the tests.

use anyhow::Result;

use crate::{
    dependencies,
    run::{cargo, checked, is_installed},
};

/// Format, lints, documentation and dependencies.
pub fn run() -> Result<()> {
    checked(&mut cargo(&["fmt", "--all", "--check"]))?;
    checked(&mut cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))?;
    checked(cargo(&["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    dependencies::check()?;
    if is_installed("cargo-deny") {
        checked(&mut cargo(&["deny", "--offline", "check", "bans", "licenses", "sources"]))?;
    }
    Ok(())
}
