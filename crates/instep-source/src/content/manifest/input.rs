//! Standard input as a manifest. A process can read it once only, so it is kept while it may be needed again.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Seek as _},
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The standard input of this process.
static INPUT: Mutex<StandardInput> = Mutex::new(StandardInput::Unread);

/// The part of standard input that was read.
#[derive(Debug)]
enum StandardInput {
    /// Nothing.
    Unread,
    /// All of it, which is in a temporary file; or as much as came before a fault.
    Kept(io::Result<File>),
    /// All of it, by the only reader; or it belongs to others.
    Taken,
}

/// Returns standard input from its beginning, and keeps it for [`take`]; `None` if it was taken.
pub(super) fn look() -> io::Result<Option<Box<dyn BufRead>>> {
    let mut input = lock();
    if matches!(*input, StandardInput::Unread) {
        *input = StandardInput::Kept(keep());
    }
    match &*input {
        StandardInput::Kept(Ok(kept)) => from_beginning(kept.try_clone()?).map(Some),
        StandardInput::Kept(Err(fault)) => Err(io::Error::new(fault.kind(), fault.to_string())),
        StandardInput::Unread | StandardInput::Taken => Ok(None),
    }
}

/// Returns standard input from its beginning, for the last time; `None` if it was taken before.
pub(super) fn take() -> io::Result<Option<Box<dyn BufRead>>> {
    let input = mem::replace(&mut *lock(), StandardInput::Taken);
    match input {
        StandardInput::Unread => Ok(Some(Box::new(BufReader::new(io::stdin())))),
        StandardInput::Kept(kept) => from_beginning(kept?).map(Some),
        StandardInput::Taken => Ok(None),
    }
}

/// Leaves standard input to the application, whose changes may come there.
pub(crate) fn leave_standard_input() {
    *lock() = StandardInput::Taken;
}

fn keep() -> io::Result<File> {
    let mut kept = tempfile::tempfile()?;
    io::copy(&mut io::stdin().lock(), &mut kept)?;
    Ok(kept)
}

fn from_beginning(mut kept: File) -> io::Result<Box<dyn BufRead>> {
    kept.rewind()?;
    Ok(Box::new(BufReader::new(kept)))
}

fn lock() -> MutexGuard<'static, StandardInput> {
    INPUT.lock().unwrap_or_else(PoisonError::into_inner)
}
