//! `cargo xtask ci`: everything that must hold before a change is taken.

use anyhow::Result;

use crate::{
    dependencies,
    run::{cargo, checked, is_installed},
    test,
};

pub fn run() -> Result<()> {
    checked(&mut cargo(&["fmt", "--all", "--check"]))?;
    checked(&mut cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]))?;
    checked(cargo(&["doc", "--workspace", "--no-deps", "--quiet"]).env("RUSTDOCFLAGS", "-D warnings"))?;
    dependencies::check()?;
    if is_installed("cargo-deny") {
        checked(&mut cargo(&["deny", "--offline", "check", "bans", "licenses", "sources"]))?;
    }
    test::run(false)
}
