//! Where changes of a copy are told: a file, the standard output, a command.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use instep_destination::{ChangeSink, CopyChange};
use serde_json::json;

use super::output::typed;

/// A JSON line for each change, behind those that are there.
#[derive(Debug)]
pub(crate) enum Events {
    /// On the standard output.
    Stdout,
    /// At the end of a file.
    File(PathBuf),
    /// To a command of the shell, by its standard input; it runs once for each group of changes.
    Command(String),
}

impl Events {
    /// `-` is the standard output.
    pub(crate) fn to(path: PathBuf) -> Self {
        if path.as_os_str() == "-" { Self::Stdout } else { Self::File(path) }
    }
}

impl ChangeSink for Events {
    fn take(&self, changes: &[CopyChange]) -> io::Result<()> {
        let lines: String = changes.iter().map(|change| typed("change", fields(change)) + "\n").collect();
        match self {
            Self::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(lines.as_bytes()).and_then(|()| stdout.flush())
            }
            Self::File(path) => append(path, lines.as_bytes()),
            Self::Command(command) => hand_to(command, lines.as_bytes()),
        }
    }
}

fn fields(change: &CopyChange) -> serde_json::Value {
    json!({
        "sequence": change.sequence,
        "change": change.change.as_str(),
        "uri": change.uri,
        "path": change.path,
        "bytes": change.length,
        "hash": change.digests.to_string(),
        "lastmod": change.lastmod.map(|time| time.to_string()),
        "datetime": change.datetime.map(|time| time.to_string()),
    })
}

/// What is appended is on the disk when this returns: the copy forgets it then.
fn append(path: &Path, lines: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    let is_file = file.metadata()?.is_file();
    if is_file {
        cut_torn_line(&mut file)?;
    }
    file.write_all(lines)?;
    if is_file { file.sync_data() } else { Ok(()) }
}

/// A run that was killed may have left half a line: it comes again, whole.
fn cut_torn_line(file: &mut File) -> io::Result<()> {
    const STEP: u64 = 4 << 10;
    let length = file.metadata()?.len();
    let mut end = length;
    while end > 0 {
        let start = end.saturating_sub(STEP);
        let mut tail = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        (&*file).take(end - start).read_to_end(&mut tail)?;
        match tail.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => {
                end = start + last as u64 + 1;
                break;
            }
            None => end = start,
        }
    }
    if end < length { file.set_len(end) } else { Ok(()) }
}

fn hand_to(command: &str, lines: &[u8]) -> io::Result<()> {
    let mut child = Command::new("sh").args(["-c", command]).stdin(Stdio::piped()).spawn()?;
    // A command that needs no input may end before it has read it: its exit status counts.
    let written = match child.stdin.take().map(|mut input| input.write_all(lines)) {
        Some(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    };
    let status = child.wait()?;
    written?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{command:?} ended with {status}"))) }
}
