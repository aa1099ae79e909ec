//! The clock that gives files their times: two writes within one tick of it leave equal stamps.

#[cfg(target_os = "linux")]
use std::time::Instant;
use std::{
    fs::File,
    io,
    sync::LazyLock,
    thread,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

#[cfg(target_os = "linux")]
use rustix::time::{ClockId, clock_getres, clock_gettime};

use crate::{catalogue::FileStamp, content::stamp};

/// Bounds of the measured tick.
const LEAST_TICK: Duration = Duration::from_millis(4);
const MOST_TICK: Duration = Duration::from_millis(20);
/// The pause between two readings of the clock.
#[cfg(target_os = "linux")]
const LOOK: Duration = Duration::from_micros(250);

/// A time that is certainly longer than a tick of the clock.
static TICK: LazyLock<Duration> = LazyLock::new(|| (2 * resolution()).clamp(LEAST_TICK, MOST_TICK));

/// Returns the stamp of a file, once its last write is so long ago that the next one must leave another time.
pub(super) fn standing(file: &File) -> io::Result<FileStamp> {
    let before = stamp(&rustix::fs::fstat(file)?);
    if stands(before) {
        return Ok(before);
    }
    await_clock_after(before.ctime_ns, file);
    Ok(stamp(&rustix::fs::fstat(file)?))
}

/// Returns `true` if a write from now on must leave another stamp than this one.
pub(super) fn stands(stamp: FileStamp) -> bool {
    !is_within_a_tick(stamp, now_ns(), *TICK)
}

/// Waits until a write to any of these files must leave another stamp.
pub(super) fn await_tick(stamps: impl IntoIterator<Item = FileStamp>) {
    let (tick, now) = (*TICK, now_ns());
    if stamps.into_iter().any(|stamp| is_within_a_tick(stamp, now, tick)) {
        thread::sleep(tick);
    }
}

/// Returns `true` if a write now could leave the stamp unchanged.
///
/// The time of the last write is not enough: a program can set it back, as `cp -p` and `rsync` do. The time of the
/// last change of the inode cannot be set, but on many file systems it also advances in ticks.
fn is_within_a_tick(stamp: FileStamp, now_ns: i64, tick: Duration) -> bool {
    let is_close = |ns: i64| i128::from(ns.saturating_sub(now_ns).unsigned_abs()) <= tick.as_nanos() as i128;
    is_close(stamp.mtime_ns) || is_close(stamp.ctime_ns)
}

/// Returns the time between two ticks.
#[cfg(target_os = "linux")]
fn resolution() -> Duration {
    let resolution = clock_getres(ClockId::RealtimeCoarse);
    Duration::new(resolution.tv_sec.unsigned_abs(), resolution.tv_nsec as u32)
}

/// Returns the time between two ticks: other systems give a file the exact time of a write.
#[cfg(not(target_os = "linux"))]
fn resolution() -> Duration {
    Duration::ZERO
}

/// Waits until the clock of the file's times is past this time, which a write set. If it is the clock of this
/// machine, this usually takes less than a tick, which delays the handling of a change; otherwise it is the clock of
/// a server.
#[cfg(target_os = "linux")]
fn await_clock_after(ctime_ns: i64, file: &File) {
    // ext4, XFS, Btrfs, tmpfs, F2FS, ZFS, bcachefs.
    const LOCAL: [u32; 7] =
        [0xEF53, 0x5846_5342, 0x9123_683E, 0x0102_1994, 0xF2F5_2010, 0x2FC1_2FC1, 0xCA45_1A4E];
    if !rustix::fs::fstatfs(file).is_ok_and(|system| LOCAL.contains(&(system.f_type as u32))) {
        return thread::sleep(*TICK);
    }
    let began = Instant::now();
    let is_past = || {
        let now = clock_gettime(ClockId::RealtimeCoarse);
        now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec) > ctime_ns
    };
    while !is_past() && began.elapsed() < *TICK {
        thread::sleep(LOOK);
    }
}

#[cfg(not(target_os = "linux"))]
fn await_clock_after(_: i64, _: &File) {
    thread::sleep(*TICK);
}

/// Returns the nanoseconds since 1970.
pub(super) fn now_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn c12_a_file_whose_time_was_set_back_is_waited_for_by_the_time_of_its_inode() {
        let now = 100_000_000_000;
        let tick = Duration::from_millis(8);
        let stamp = |mtime_ns, ctime_ns| FileStamp { mtime_ns, ctime_ns, ..FileStamp::default() };
        assert!(is_within_a_tick(stamp(1_000_000_000, now - 4_000_000), now, tick));
        assert!(is_within_a_tick(stamp(now - 4_000_000, 1_000_000_000), now, tick));
        assert!(!is_within_a_tick(stamp(1_000_000_000, now - 9_000_000), now, tick));
        // A file from the future is no reason to wait.
        assert!(!is_within_a_tick(stamp(i64::MAX, now - 9_000_000), now, tick));
    }

    #[test]
    fn s4_after_a_file_stands_no_write_leaves_its_stamp_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for round in 0..50u8 {
            let mut file = File::create(&path).unwrap();
            file.write_all(&[round]).unwrap();
            let before = standing(&File::open(&path).unwrap()).unwrap();
            file.write_all(&[round]).unwrap();
            let after = stamp(&rustix::fs::fstat(&file).unwrap());
            assert_ne!((before.mtime_ns, before.ctime_ns), (after.mtime_ns, after.ctime_ns), "round {round}");
        }
    }
}
