//! Waits for the results of other threads or processes that send no signal: checks again and again, with one deadline
//! for all tests.

use std::{
    fmt::Display,
    fs,
    path::Path,
    process::{Child, ExitStatus},
    thread,
    time::{Duration, Instant},
};

/// Longer than anything that a test waits for takes, also on a busy machine.
pub const LONG: Duration = Duration::from_secs(120);

/// The pause between two checks: short compared with the wait, long compared with a check.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Checks until there is a result, and returns it.
///
/// # Panics
/// If there is none after [`LONG`]; the message is the last error.
pub fn wait_for<T, E: Display>(mut look: impl FnMut() -> Result<T, E>) -> T {
    let begun = Instant::now();
    loop {
        match look() {
            Ok(found) => return found,
            Err(error) => assert!(begun.elapsed() < LONG, "{error}, and {LONG:?} have passed"),
        }
        thread::sleep(BETWEEN_LOOKS);
    }
}

/// Waits until something holds.
///
/// # Panics
/// If it does not after [`LONG`]; the message is `what`.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    wait_for(|| if is_so() { Ok(()) } else { Err(format!("not yet: {what}")) });
}

/// Waits for the end of a process.
///
/// # Panics
/// If it has not ended after [`LONG`]; it is killed then.
pub fn ended(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    wait_for(|| {
        let status = child.try_wait().expect("a child that nobody has waited for");
        if begun.elapsed() >= LONG {
            drop(child.kill());
        }
        status.ok_or("the process has not ended")
    })
}

/// Waits until a copy keeps this many bytes of a resource that has not arrived.
///
/// # Panics
/// If it does not after [`LONG`].
pub fn wait_for_part(copy: &Path, bytes: u64) {
    let kept = || -> Option<u64> {
        let files = fs::read_dir(copy.join(".instep/staging")).ok()?.filter_map(Result::ok);
        let parts = files.filter(|file| file.file_name().to_string_lossy().starts_with("part-"));
        parts.filter_map(|file| Some(file.metadata().ok()?.len())).max()
    };
    wait_for(|| match kept() {
        Some(length) if length >= bytes => Ok(()),
        length => Err(format!("only {length:?} of {bytes} bytes are kept")),
    });
}
