//! Writes the results, notes and errors of a command, as text or JSON. All commands use this one form.

use std::{
    ffi::OsString,
    io::{self, IsTerminal},
};

use serde::Serialize;
use serde_json::{Value, json};

use super::{
    format::{json_text, lines, name, shell_argument},
    stream::{clear, has_color, lost, write_line, write_log_line, write_text},
};
use crate::{
    advice,
    exit::Exit,
    global::{Global, LogFormat, When},
};

/// The form of a command's output, and its amount.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// `true` if results and problems are JSON lines on standard output.
    pub(crate) json: bool,
    /// `true` if only results and errors are written.
    pub(crate) quiet: bool,
    /// `true` if there is a line for each resource.
    pub(crate) verbose: bool,
    /// `true` if progress is drawn.
    pub(crate) bars: bool,
    /// `true` if results have colours.
    color: bool,
    /// `true` if the lines on standard error are JSON.
    log_json: bool,
}

/// The level of a line on standard error. It is shown only if the lines are JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineLevel {
    /// The line informs about the normal course of a command.
    Info,
    /// Something may need attention, and the command continues.
    Warn,
    /// Something failed.
    Error,
}

impl Output {
    pub(crate) fn new(global: &Global) -> Self {
        let log_json = global.log_format == LogFormat::Json;
        let bars = match global.progress {
            // Nothing is drawn beside a JSON log, because each of its lines must be JSON (P7).
            When::Always => !log_json,
            When::Never => false,
            When::Auto => io::stderr().is_terminal() && !global.quiet && !global.json && !log_json,
        };
        let color = has_color(&io::stdout()) && !global.json;
        Self { json: global.json, quiet: global.quiet, verbose: global.verbose > 0, bars, color, log_json }
    }

    /// Writes a line of the result, for people.
    pub(crate) fn line(&self, text: impl AsRef<str>) {
        if !self.json {
            write_line(text.as_ref());
        }
    }

    /// Writes the last line of a successful command as text. With `--quiet` the exit code is sufficient.
    pub(crate) fn closing(&self, text: impl AsRef<str>) {
        if !self.quiet {
            self.line(text);
        }
    }

    /// Writes a result that has its own format, for people and programs.
    pub(crate) fn raw(&self, text: &str) {
        write_line(text);
    }

    /// Writes a result as it is, without adding a line end.
    pub(crate) fn text(&self, text: &str) {
        write_text(text);
    }

    /// Returns the exit code of a command that has ended. If a part of its result could not be written, reports this
    /// and replaces the code of success.
    pub(crate) fn checked(&self, exit: Exit) -> Exit {
        let Some(reason) = lost() else { return exit };
        clear();
        self.log(LineLevel::Error, &format!("instep: Cannot write to standard output: {reason}"));
        if exit == Exit::Done { Exit::Storage } else { exit }
    }

    /// Writes an object of the result for programs: one line with its `type` first.
    pub(crate) fn object(&self, kind: &str, fields: impl Serialize) {
        if self.json {
            write_line(&typed(kind, fields));
        }
    }

    /// Writes a problem once: as a line on standard error for people, or as an object for programs.
    pub(crate) fn problem(&self, level: LineLevel, line: &str, fields: impl Serialize) {
        if self.json {
            self.object("problem", fields);
        } else {
            self.log(level, line);
        }
    }

    /// Writes information that is not a result to standard error. It is left out with `--quiet` and `--json`.
    pub(crate) fn note(&self, text: impl AsRef<str>) {
        if !self.quiet && !self.json {
            self.log(LineLevel::Info, text.as_ref());
        }
    }

    /// Writes a line to standard error, as text or as a line of a JSON log. Words in it may be from the network, so it
    /// is never written as it is (D10).
    pub(crate) fn log(&self, level: LineLevel, text: &str) {
        let line = if self.log_json { log_line(level, text) } else { lines(text) };
        write_log_line(&line);
    }

    /// Paints a text if colours are shown; `code` is an SGR number.
    pub(crate) fn paint(&self, code: u8, text: &str) -> String {
        if self.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// Writes the reason of a failure and what to do next, and returns the exit code.
    pub(crate) fn failed(&self, error: &anyhow::Error) -> Exit {
        clear();
        let exit = Exit::of(error);
        // An `Exit` in the chain is only there for the exit code; its context has the reason.
        let causes = error.chain().filter(|cause| cause.downcast_ref::<Exit>().is_none());
        let text = chain(causes.map(ToString::to_string));
        let hint = advice::for_error(error);
        self.error(exit, &text, hint);
        // A line break in words from the network would begin a line that seems to be this program's own.
        let shown =
            if self.log_json { text } else { advice::for_people(error).unwrap_or_else(|| name(&text)) };
        self.log(LineLevel::Error, &format!("instep: {shown}"));
        if let Some(hint) = hint.filter(|_| !self.json) {
            self.log(LineLevel::Info, &format!("  {hint}"));
        }
        exit
    }

    /// Writes the error that ended the command, for programs.
    fn error(&self, exit: Exit, message: &str, hint: Option<&str>) {
        let fields =
            json!({ "message": message, "hint": hint, "exit_code": exit.code(), "meaning": exit.meaning() });
        self.object("error", fields);
    }
}

/// Writes the fault of a command line, or the help that it requests. The format of the error is that which the command
/// line requests, although it is invalid.
pub(crate) fn usage(message: &clap::Error, argv: &[OsString]) -> Exit {
    if !message.use_stderr() {
        let _ = message.print();
        return Exit::Done;
    }
    let global = Global::as_written(argv);
    let output = Output::new(&global);
    let text = message.to_string();
    let (what, usage) = text.split_once("\n\n").unwrap_or((&text, ""));
    let what = what.trim_start_matches("error: ");
    let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
    // The hint is the line after the error: a tip of clap if there is one, otherwise the usage.
    output.error(Exit::Usage, &what, usage.lines().next().map(str::trim));
    if output.log_json {
        output.log(LineLevel::Error, &format!("instep: {what}"))
    } else {
        drop(message.print())
    }
    Exit::Usage
}

/// Prints the command that a command line of another program was translated into.
pub(crate) fn translated(arguments: &[String]) {
    let words: Vec<_> = arguments.iter().map(|argument| shell_argument(argument)).collect();
    write_log_line(&format!("Running: instep {}", words.join(" ")));
}

/// Prints a document, if there is one to print, or the reason why there is none.
pub(crate) fn document(built: &anyhow::Result<Option<String>>) -> Exit {
    let output = Output::new(&Global::as_written(&[]));
    match built {
        Ok(document) => {
            if let Some(xml) = document {
                write_line(xml.trim_end());
            }
            output.checked(Exit::Done)
        }
        Err(error) => output.failed(error),
    }
}

/// Joins an error and its causes. A cause with which the text before already ends is left out.
fn chain(causes: impl Iterator<Item = String>) -> String {
    let mut text = String::new();
    for cause in causes {
        if text.is_empty() {
            text = cause;
        } else if !text.ends_with(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Returns a JSON object in one line, its `type` first. The line may be read at a terminal, so no text in it can steer
/// one (D10).
pub(crate) fn typed(kind: &str, fields: impl Serialize) -> String {
    let mut object = serde_json::Map::from_iter([("type".to_owned(), Value::from(kind))]);
    if let Ok(Value::Object(fields)) = serde_json::to_value(fields) {
        object.extend(fields);
    }
    json_text(&Value::Object(object).to_string())
}

/// Returns a line in the form that the log of the libraries has with `--log-format json`.
fn log_line(level: LineLevel, text: &str) -> String {
    let level = match level {
        LineLevel::Info => "INFO",
        LineLevel::Warn => "WARN",
        LineLevel::Error => "ERROR",
    };
    let timestamp = jiff::Timestamp::now().to_string();
    let line = json!({ "timestamp": timestamp, "level": level, "message": text.trim(), "target": "instep" });
    json_text(&line.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{LineLevel, log_line, typed};

    #[test]
    fn d10_o1106_a_name_in_a_line_of_json_cannot_steer_the_terminal() {
        let text = "a\u{9b}31m\u{202e}\u{7f}\u{61c}\u{1b}é\nb";
        let fields = json!({ "uri": text });
        for (line, key) in [(typed("item", fields), "uri"), (log_line(LineLevel::Warn, text), "message")] {
            assert!(line.contains(r"a\u009b31m\u202e\u007f\u061c\u001bé\nb"), "{line}");
            assert_eq!(serde_json::from_str::<Value>(&line).unwrap()[key], text);
        }
    }
}
