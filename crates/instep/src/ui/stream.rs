//! Standard output and standard error, and the progress display that both share a terminal with.

use std::{
    io::{self, IsTerminal, Write},
    sync::{Mutex, OnceLock, PoisonError},
};

use indicatif::ProgressBar;
use tracing_subscriber::fmt::MakeWriter;

use crate::exit::Exit;

/// The lines that are drawn at the bottom of the terminal now. There is one terminal, so there is one of these.
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

/// Runs `write` while nothing is drawn, so that lines and bars do not tear each other.
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

/// The first line of the result that could not be written, as on a full disk.
static LOST: OnceLock<String> = OnceLock::new();

/// Returns the reason if a part of the result could not be written.
pub(crate) fn lost() -> Option<&'static str> {
    LOST.get().map(String::as_str)
}

/// Writes a line of the result. A reader that has gone away ends the program with the exit code of that signal: the
/// work is not done, and 0 would say so.
pub(crate) fn write_line(line: &str) {
    write_text(&format!("{line}\n"));
}

/// Writes a text of the result, as [`write_line`] does.
pub(crate) fn write_text(text: &str) {
    let written = above_drawing(|| {
        let mut stdout = io::stdout().lock();
        stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
    });
    match written {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            std::process::exit(Exit::PipeClosed.code().into());
        }
        Err(error) => drop(LOST.set(error.to_string())),
    }
}

/// Writes a line to standard error. If its reader has gone away, the work continues: a server does not end with the program
/// that keeps its log.
pub(crate) fn write_log_line(line: &str) {
    let _ = above_drawing(|| writeln!(io::stderr(), "{line}"));
}

/// Standard error for log lines.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The log passes complete lines.
        above_drawing(|| io::stderr().write_all(bytes)).map(|()| bytes.len())
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
