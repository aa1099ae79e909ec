//! The `instep` program: reads the command line, starts the log, runs one command and returns its exit code.
//!
//! The libraries do the work. This crate turns options into their settings, and their events and reports into text
//! for people or JSON lines for programs.

mod activities;
mod advice;
mod args;
mod cli;
mod command;
mod config;
mod copy;
mod exit;
mod export;
mod fleet;
mod foreign;
mod global;
mod listener;
mod pages;
mod publication;
mod replacing;
mod resync;
mod runtime;
mod service;
mod simulation;
mod sitemap;
mod ui;
mod web_archive;

use std::{env, process::ExitCode};

/// Another allocator for musl, whose own has one lock for all threads: a run with many transfers would wait for it.
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let argv: Vec<_> = env::args_os().collect();
    if let Some(code) = resync::run(&argv) {
        return code;
    }
    let (cli, config) = match cli::parse(argv.clone()) {
        Ok(parsed) => parsed,
        Err(message) => return ui::usage(&message, &argv).into(),
    };
    runtime::survive_file_size_limit();
    ui::start_log(&cli.global);
    let output = ui::Output::new(&cli.global);
    match cli::run(cli.command, &config, &output) {
        Ok(exit) => output.checked(exit).into(),
        Err(error) => output.failed(&error).into(),
    }
}
