use std::io::{self, IsTerminal};

use instep_source::ErrorKind;
use serde::Serialize;
use serde_json::{Value, json};

use super::{has_color, write_line};
use crate::{
    args::{Global, When},
    exit::Exit,
};

/// Where a command puts what it has to say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// Results and problems as JSON lines.
    pub(crate) json: bool,
    /// Results and errors only.
    pub(crate) quiet: bool,
    /// More than results.
    pub(crate) verbose: bool,
    /// Whether progress is drawn.
    pub(crate) bars: bool,
    /// Whether results have colours.
    pub(crate) color: bool,
}

impl Output {
    pub(crate) fn new(global: &Global) -> Self {
        let bars = match global.progress {
            When::Always => true,
            When::Never => false,
            When::Auto => io::stderr().is_terminal() && !global.quiet && !global.json,
        };
        let color = has_color(&io::stdout()) && !global.json;
        Self { json: global.json, quiet: global.quiet, verbose: global.verbose > 0, bars, color }
    }

    /// A line of the result, for people.
    pub(crate) fn line(&self, text: impl AsRef<str>) {
        if !self.json {
            write_line(io::stdout(), text.as_ref());
        }
    }

    /// What a command that did something says at its end, for people; its exit code says enough to who wants quiet.
    pub(crate) fn closing(&self, text: impl AsRef<str>) {
        if !self.quiet {
            self.line(text);
        }
    }

    /// A result that has a form of its own, for people and programs alike.
    pub(crate) fn raw(&self, text: &str) {
        write_line(io::stdout(), text);
    }

    /// An object of the result, for programs: one line, its `type` first.
    pub(crate) fn object(&self, kind: &str, fields: impl Serialize) {
        if self.json {
            write_line(io::stdout(), &typed(kind, fields));
        }
    }

    /// Something to know that is not the result.
    pub(crate) fn note(&self, text: impl AsRef<str>) {
        if !self.quiet && !self.json {
            write_line(io::stderr(), text.as_ref());
        }
    }

    /// Paints a text, where colours are shown; `code` is an SGR number.
    pub(crate) fn paint(&self, code: u8, text: &str) -> String {
        if self.color { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// Says why the command failed, and how it therefore ends.
    pub(crate) fn failed(&self, error: &anyhow::Error) -> Exit {
        let exit = exit_of(error);
        // What ends with a code of the program's own says why in its context.
        let told = error.chain().filter(|cause| cause.downcast_ref::<Exit>().is_none());
        let text = told.map(ToString::to_string).collect::<Vec<_>>().join(": ");
        if self.json {
            let fields = json!({ "message": text, "exit_code": exit.code(), "meaning": exit.meaning() });
            write_line(io::stdout(), &typed("error", fields));
        }
        write_line(io::stderr(), &format!("instep: {text}"));
        exit
    }
}

pub(super) fn typed(kind: &str, fields: impl Serialize) -> String {
    let mut object = serde_json::Map::from_iter([("type".to_owned(), Value::from(kind))]);
    if let Ok(Value::Object(fields)) = serde_json::to_value(fields) {
        object.extend(fields);
    }
    Value::Object(object).to_string()
}

/// The exit code of an error: that of the library it came from, usage for what the program itself refuses.
fn exit_of(error: &anyhow::Error) -> Exit {
    if let Some(exit) = error.downcast_ref::<Exit>() {
        return *exit;
    }
    if let Some(error) = error.downcast_ref::<instep_destination::Error>() {
        return Exit::from_code(error.exit_code());
    }
    match error.downcast_ref::<instep_source::Error>().map(instep_source::Error::kind) {
        Some(ErrorKind::Usage) => Exit::Usage,
        Some(ErrorKind::Locked) => Exit::Locked,
        Some(ErrorKind::Storage) => Exit::Storage,
        Some(ErrorKind::NewerState) => Exit::NewerState,
        Some(_) => Exit::Failed,
        None => Exit::Usage,
    }
}
