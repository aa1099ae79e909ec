//! Delivers the changes of a copy to a file, to standard output, to a command or as webhooks. Each group of changes is
//! delivered before the copy forgets it, so a killed run may deliver a group twice but never loses one.

mod fields;
mod grace;
mod webhook;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read as _, Seek as _, SeekFrom, Write},
    os::unix::{fs::FileTypeExt as _, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    thread,
};

use anyhow::Context as _;
use instep_destination::{ChangeSink, CopyChange, Shutdown};
use instep_store::parent_folder;
use rustix::{
    fs::{Access, Mode, OFlags, access, open},
    io::Errno,
    process::{Pid, Signal, kill_process_group},
};

use super::output::typed;
use fields::fields;
use grace::ReceiverWait;
pub(crate) use grace::end_of_receivers;
pub(crate) use webhook::Webhook;

/// The receiver of a JSON line per change.
#[derive(Debug)]
pub(crate) enum Events {
    /// Lines are written to standard output.
    Stdout,
    /// Lines are appended to a file, or written to a pipe once it has a reader. After the shutdown was requested that
    /// reader has a few seconds left.
    File(PathBuf, Shutdown),
    /// A shell command runs once for each group of changes and reads the lines from its standard input. If its exit
    /// status is not 0, the group is delivered again. After the shutdown was requested it has a few seconds left.
    Command(String, Shutdown),
    /// Each group of changes is sent as a signed message.
    Webhook(Box<Webhook>, Shutdown),
}

impl Events {
    /// Returns the receiver for a path; `-` is standard output.
    ///
    /// Errors: the file cannot be written. This is checked here, because the run would find it only with its first
    /// change.
    pub(crate) fn to(path: PathBuf, shutdown: Shutdown) -> anyhow::Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::Stdout);
        }
        probe(&path).with_context(|| format!("The changes cannot be written to {}", path.display()))?;
        Ok(Self::File(path, shutdown))
    }
}

/// Checks that lines can be appended to a file, without making it, because a dry run must not make files.
fn probe(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if found.is_file() => OpenOptions::new().append(true).open(path).map(drop),
        // A pipe is not opened: that would wait for its reader.
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(access(parent_folder(path), Access::WRITE_OK | Access::EXEC_OK)?)
        }
        Err(error) => Err(error),
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
            Self::File(path, shutdown) => append(path, lines.as_bytes(), shutdown)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))),
            Self::Command(command, shutdown) => hand_to(command, lines, shutdown),
            Self::Webhook(webhook, shutdown) => webhook.send(changes, shutdown),
        }
    }
}

/// Appends lines and waits until they are on disk, because the copy then forgets the changes.
fn append(path: &Path, lines: &[u8], shutdown: &Shutdown) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo()) {
        return write_to_pipe(path, lines, shutdown);
    }
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    let is_file = file.metadata()?.is_file();
    if is_file {
        cut_torn_line(&mut file)?;
    }
    file.write_all(lines)?;
    if is_file { file.sync_data() } else { Ok(()) }
}

/// Writes lines to a pipe as its reader takes them. A pipe that is opened for reading too needs no reader: it would take the
/// lines, and lose them when it is closed.
fn write_to_pipe(path: &Path, mut lines: &[u8], shutdown: &Shutdown) -> io::Result<()> {
    let unread = || io::Error::other("nobody read the pipe before the run was to end");
    let mut receiver_wait = ReceiverWait::new(shutdown);
    let mut pipe = loop {
        match open(path, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()) {
            Err(Errno::NXIO) if receiver_wait.wait() => {}
            Err(Errno::NXIO) => return Err(unread()),
            opened => break File::from(opened?),
        }
    };
    while !lines.is_empty() {
        match pipe.write(lines) {
            Ok(written) => {
                lines = &lines[written..];
                receiver_wait.renew();
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            Err(_) if receiver_wait.wait() => {}
            Err(_) => return Err(unread()),
        }
    }
    Ok(())
}

/// Removes an incomplete line that a killed run left at the end; the complete line will be written again. The end of a
/// file that something else has written stays, and gets a line end.
fn cut_torn_line(file: &mut File) -> io::Result<()> {
    const STEP: u64 = 4 << 10;
    /// The beginning of each line that is appended.
    const OURS: &[u8] = b"{\"type\":\"change\"";
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
    if end == length {
        return Ok(());
    }
    let mut beginning = Vec::new();
    file.seek(SeekFrom::Start(end))?;
    (&*file).take(OURS.len() as u64).read_to_end(&mut beginning)?;
    // The file may be one that was named by mistake: then nothing of it may be lost.
    if OURS.starts_with(&beginning) { file.set_len(end) } else { file.write_all(b"\n") }
}

fn hand_to(command: &str, lines: String, shutdown: &Shutdown) -> io::Result<()> {
    let mut child =
        Command::new("sh").args(["-c", command]).stdin(Stdio::piped()).process_group(0).spawn()?;
    // Written on a separate thread, so that a command that does not read its input cannot keep the run from ending.
    let writing =
        child.stdin.take().map(|mut input| thread::spawn(move || input.write_all(lines.as_bytes())));
    let Some(status) = wait(&mut child, shutdown)? else {
        let _ = kill_process_group(Pid::from_child(&child), Signal::KILL);
        child.wait()?;
        return Err(io::Error::other(format!("{command:?} was still at work when the run was to end")));
    };
    // A program that the command has started may have its input, and read it later or never.
    let mut receiver_wait = ReceiverWait::new(shutdown);
    while writing.as_ref().is_some_and(|writing| !writing.is_finished()) {
        if !receiver_wait.wait() {
            return Err(io::Error::other(format!(
                "the input of {command:?} was not read when the run was to end"
            )));
        }
    }
    // A command may end before it has read its input, which breaks the pipe. Then its exit status decides.
    match writing.map(thread::JoinHandle::join) {
        Some(Ok(Err(error))) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
        _ => {}
    }
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{command:?} ended with {status}"))) }
}

/// Waits for a command. Returns `None` if the run was asked to end and the command has not ended in its time.
fn wait(child: &mut Child, shutdown: &Shutdown) -> io::Result<Option<ExitStatus>> {
    let mut receiver_wait = ReceiverWait::new(shutdown);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if !receiver_wait.wait() {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;

    use super::*;

    #[test]
    fn o552_changes_wait_until_somebody_reads_their_pipe() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("events");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let lines = "a line\n".repeat(20_000);
        thread::scope(|scope| {
            let writing = scope.spawn(|| append(&pipe, lines.as_bytes(), &Shutdown::new()));
            // Time in which lines that nobody reads would be lost. Correct code passes after any time.
            thread::sleep(Duration::from_millis(100));
            assert!(!writing.is_finished(), "nobody has the lines");
            assert_eq!(fs::read_to_string(&pipe).unwrap(), lines);
            writing.join().unwrap().unwrap();
        });
    }

    #[test]
    fn o609_a_command_that_leaves_its_input_to_another_one_keeps_no_run_from_ending() {
        let (shutdown, lines) = (Shutdown::new(), "a line\n".repeat(50_000));
        shutdown.request();
        // The shell ends at once, and what it started has the input and does not read it.
        let command = "exec 3<&0; sleep 30 <&3 >&- 2>&- & exit 0";
        let (ended, has_ended) = std::sync::mpsc::channel();
        thread::spawn(move || ended.send(hand_to(command, lines, &shutdown)));
        let answer = has_ended.recv_timeout(Duration::from_secs(20)).unwrap();
        assert!(answer.unwrap_err().to_string().contains("was not read"));
    }

    #[test]
    fn o185_a_file_that_something_else_has_written_loses_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let line = typed("change", json!({ "change": "created", "path": "a.txt" })) + "\n";
        let torn = format!("{line}{}", &line[..line.len() - 3]);
        for (held, kept) in [
            ("", String::new()),
            ("notes of somebody", "notes of somebody\n".to_owned()),
            ("one\n{\n  \"a\": 1\n}", "one\n{\n  \"a\": 1\n}\n".to_owned()),
            // As runs that were killed while writing leave them.
            (&line[..1], String::new()),
            (&*torn, line.clone()),
        ] {
            let path = folder.path().join("events");
            fs::write(&path, held).unwrap();
            append(&path, line.as_bytes(), &Shutdown::new()).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), format!("{kept}{line}"), "{held:?}");
        }
    }
}
