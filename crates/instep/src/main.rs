//! `instep`: parse, trace, one command, its exit code.

mod args;
mod command;
mod config;
mod copy;
mod exit;
mod listener;
mod runtime;
mod simulation;
mod ui;

use std::{env, process::ExitCode};

fn main() -> ExitCode {
    let (cli, config) = match args::parse(env::args_os().collect()) {
        Ok(parsed) => parsed,
        Err(message) => return ui::usage(&message).into(),
    };
    ui::start_log(&cli.global);
    let output = ui::Output::new(&cli.global);
    match command::run(cli.command, &config, &output) {
        Ok(exit) => exit.into(),
        Err(error) => output.failed(&error).into(),
    }
}
