//! The project's own commands: `cargo xtask test`, `bench`, `ci`.

mod bench;
mod ci;
mod dependencies;
mod peers;
mod run;
mod test;

use anyhow::{Result, bail};

const USAGE: &str = "\
cargo xtask test [--long]        install the peers that are missing, run every test
cargo xtask bench [NAME] [...]   install the peers, build with optimization, measure; --help for the jobs
cargo xtask ci [--without-test]  format, lints, documentation, dependencies, then `test`
cargo xtask peers                install the peers of the tests and of the measurements, and no more";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["test"] => test::run(false),
        ["test", "--long"] => test::run(true),
        ["bench", rest @ ..] => bench::run(rest),
        ["ci"] => ci::run().and_then(|()| test::run(false)),
        ["ci", "--without-test"] => ci::run(),
        ["peers"] => {
            peers::install(peers::FOR_TESTS);
            peers::install(peers::FOR_BENCH);
            peers::install_python();
            Ok(())
        }
        _ => bail!("Not a command\n\n{USAGE}"),
    }
}
