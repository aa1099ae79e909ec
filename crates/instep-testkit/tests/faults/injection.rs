//! Points of a program at which it changes something, and what happens to it there: `strace` kills it or lets the call fail.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt, fs,
    path::Path,
    process::Command,
};

use instep_testkit::{Run, wrap};

/// System calls that change what is on disk, or open it.
const CALLS: &str = "rename,renameat,renameat2,fsync,fdatasync,syncfs,pwrite64,write,openat,unlink,unlinkat,\
                     ftruncate,mkdir,mkdirat,rmdir,fallocate,linkat,symlinkat,copy_file_range";

/// The exit code of a run that was asked to end.
pub(crate) const TERMINATED: i32 = 143;

/// The nth call of a kind by any thread. `strace` counts by thread, so several calls may be the nth: the first of
/// them is hit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Point {
    pub(crate) call: String,
    pub(crate) number: usize,
    /// Returns `true` if some thread's nth call has nothing to do with the folder, such as the loader's: a failure of it shows nothing.
    pub(crate) is_mixed: bool,
}

/// The fault at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The program is killed before the call.
    Kill,
    /// The call fails once.
    Once(&'static str),
    /// This call and all later ones of its kind fail: the disk stays full, or read-only.
    FromThenOn(&'static str),
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.call, self.number)
    }
}

impl Fault {
    /// Returns the errors that the call at a point can have.
    pub(crate) fn errors_at(point: &Point) -> &'static [Self] {
        match point.call.as_str() {
            "openat" if point.is_mixed => &[],
            // The same call also wakes threads and answers on sockets, where no disk can fail.
            "write" => &[],
            "openat" => &[Self::Once("EMFILE"), Self::FromThenOn("EROFS"), Self::Once("EIO")],
            "rename" | "renameat" | "renameat2" | "mkdir" | "mkdirat" | "linkat" | "symlinkat" => {
                &[Self::FromThenOn("ENOSPC"), Self::FromThenOn("EROFS"), Self::Once("EIO")]
            }
            "unlink" | "unlinkat" | "rmdir" => &[Self::FromThenOn("EROFS"), Self::Once("EIO")],
            _ => &[Self::FromThenOn("ENOSPC"), Self::Once("ENOSPC"), Self::Once("EIO")],
        }
    }

    fn argument(self, point: &Point) -> String {
        let Point { call, number, .. } = point;
        match self {
            Self::Kill => format!("inject={call}:signal=SIGKILL:when={number}"),
            Self::Once(error) => format!("inject={call}:error={error}:when={number}"),
            Self::FromThenOn(error) => format!("inject={call}:error={error}:when={number}+"),
        }
    }
}

/// Runs a command to its end and returns every point of it below a folder.
pub(crate) fn points(strace: &Path, command: &Command, folder: &Path) -> Vec<Point> {
    let log = folder.with_extension("strace");
    let mut traced = Command::new(strace);
    traced
        .args(["-f", "--seccomp-bpf", "-qq", "-y", "-s", "0", "-o"])
        .arg(&log)
        .args(["-e", &format!("trace={CALLS}")]);
    let run = Run::of(&mut wrap(traced, command));
    assert!(matches!(run.code, Some(0 | TERMINATED)), "{:?} {}{}", run.code, run.stdout, run.stderr);
    let text = fs::read_to_string(&log).unwrap();
    let place = folder.to_string_lossy();
    let mut counts = BTreeMap::<(&str, &str), usize>::new();
    let (mut below, mut elsewhere) = (BTreeSet::new(), BTreeSet::new());
    for line in text.lines() {
        let Some((thread, rest)) = line.split_once(' ') else { continue };
        let Some((call, arguments)) = rest.trim_start().split_once('(') else { continue };
        if !call.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            continue;
        }
        let number = counts.entry((thread, call)).or_default();
        *number += 1;
        // With -y every descriptor shows its path, the working directory too, which an absolute path does not depend on.
        let arguments = match arguments.split_once("\"/") {
            Some((folder, path)) if folder.starts_with("AT_FDCWD") => &format!("/{path}"),
            _ => arguments,
        };
        let side = if arguments.contains(&*place) { &mut below } else { &mut elsewhere };
        side.insert((call.to_owned(), *number));
    }
    let point = |(call, number): (String, usize)| {
        let is_mixed = elsewhere.contains(&(call.clone(), number));
        Point { call, number, is_mixed }
    };
    below.into_iter().map(point).collect()
}

/// Runs a command with a fault at a point; returns `None` if the point was not reached.
pub(crate) fn inject(
    strace: &Path,
    command: &Command,
    point: &Point,
    fault: Fault,
    log: &Path,
) -> Option<Run> {
    let mut traced = Command::new(strace);
    traced.args(["-f", "-qq", "-s", "0", "-o"]).arg(log);
    if fault != Fault::Kill {
        // Faster, but with it strace 6.1 injects no signals.
        traced.arg("--seccomp-bpf");
    }
    traced.args(["-e", &format!("trace={}", point.call), "-e", &fault.argument(point)]);
    let run = Run::of(&mut wrap(traced, command));
    let reached = match fault {
        Fault::Kill => run.code.is_none() || run.code == Some(137),
        _ => fs::read_to_string(log).unwrap().contains("(INJECTED)"),
    };
    reached.then_some(run)
}
