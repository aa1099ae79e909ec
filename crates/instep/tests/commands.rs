//! The commands as people use them: what each one does and prints, and what it says to a wrong command line.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up must fail")]

#[path = "commands/arguments.rs"]
mod arguments;
#[path = "commands/backup.rs"]
mod backup;
#[path = "commands/combinations.rs"]
mod combinations;
#[path = "commands/init.rs"]
mod init;
#[path = "commands/listening.rs"]
mod listening;
#[path = "commands/metrics.rs"]
mod metrics;
#[path = "commands/mirroring.rs"]
mod mirroring;
#[path = "commands/mistakes.rs"]
mod mistakes;
#[path = "commands/moving.rs"]
mod moving;
#[path = "commands/paths.rs"]
mod paths;
#[path = "commands/pipes.rs"]
mod pipes;
#[path = "commands/publishing.rs"]
mod publishing;
#[path = "commands/reported.rs"]
mod reported;
#[path = "commands/signals.rs"]
mod signals;
#[path = "commands/sources.rs"]
mod sources;
#[path = "commands/support.rs"]
mod support;
#[path = "commands/watching.rs"]
mod watching;
