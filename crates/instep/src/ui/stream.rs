//! Writes to standard output and standard error. Both may share a terminal with the progress display, so the display is
//! removed while a line is written.

use std::{
    io::{self, IsTerminal, Write},
    sync::{Mutex, OnceLock, PoisonError},
};

use indicatif::ProgressBar;
use tracing_subscriber::fmt::MakeWriter;

use super::format::json_text;
use crate::exit::Exit;

/// The display that is drawn at the bottom of the terminal. It is a static because a process has one terminal, and log
/// lines come from anywhere.
static DRAWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Sets the drawing at the bottom of the terminal.
pub(crate) fn draw(bar: &ProgressBar) {
    *DRAWN.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
}

/// Clears the drawing.
pub(crate) fn clear() {
    let drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner).take();
    drawn.iter().for_each(ProgressBar::finish_and_clear);
}

/// Returns the width of the terminal of standard error.
pub(crate) fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr());
    size.map_or(80, |size| usize::from(size.ws_col).max(20))
}

/// Runs `write` while nothing is drawn, so that lines and display do not mix.
fn above_drawing<T>(write: impl FnOnce() -> T) -> T {
    let drawn = DRAWN.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match drawn {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Returns `true` if a stream shows colours: it is a terminal and `NO_COLOR` is not set.
pub(crate) fn has_color(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The reason why a part of the result could not be written, such as a full disk; the first one if there are several.
static LOST: OnceLock<String> = OnceLock::new();

/// Returns the reason why a part of the result could not be written; `None` if all was written.
pub(crate) fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// Writes a line of the result. If the reader of a pipe has gone, ends the program with the exit code of SIGPIPE,
/// because 0 would mean that the work was done.
pub(crate) fn write_line(line: &str) {
    write_text(&format!("{line}\n"));
}

/// Writes a text of the result, as [`write_line`] does.
pub(crate) fn write_text(text: &str) {
    let written = above_drawing(|| {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
    });
    if let Err(error) = written {
        end_with_reader(&error);
        drop(LOST.set(error.to_string()));
    }
}

/// Ends the program if the reader of a pipe has gone.
fn end_with_reader(error: &io::Error) {
    if error.kind() == io::ErrorKind::BrokenPipe {
        std::process::exit(Exit::PipeClosed.code().into());
    }
}

/// Writes the bytes of a result as they are. As for [`write_line`], the program ends if their reader has gone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResultWriter;

impl Write for ResultWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        io::stdout().write(bytes).inspect_err(end_with_reader)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush().inspect_err(end_with_reader)
    }
}

/// Writes a line to standard error. If its reader has gone, the work continues: a server must not end with the program
/// that keeps its log.
pub(crate) fn write_log_line(line: &str) {
    let _ = above_drawing(|| writeln!(io::stderr(), "{line}"));
}

/// Writes log lines to standard error, above the display.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogWriter {
    /// `true` if the lines are JSON.
    pub(crate) is_json: bool,
}

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // One call has a complete line, so it is written at once.
        let written = if self.is_json {
            let line = json_text(&String::from_utf8_lossy(bytes));
            above_drawing(|| io::stderr().write_all(line.as_bytes()))
        } else {
            above_drawing(|| io::stderr().write_all(bytes))
        };
        written.map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

impl MakeWriter<'_> for LogWriter {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        *self
    }
}
