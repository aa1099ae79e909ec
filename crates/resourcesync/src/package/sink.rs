//! The sink of a package that is being written.

use std::io::{self, Seek, SeekFrom, Write};

/// A sink that, once it has failed, accepts and discards all further bytes. A ZIP writer that is dropped tries to end
/// its file, and prints an error if that fails; a full disk was already reported at the first failure.
#[derive(Debug)]
pub(super) struct PackageSink<W> {
    sink: W,
    has_failed: bool,
    /// The place of the next byte, and that after the last one: also of bytes that are not written any more, because a
    /// ZIP writer counts them.
    place: u64,
    end: u64,
}

impl<W> PackageSink<W> {
    pub(super) fn new(sink: W) -> Self {
        Self { sink, has_failed: false, place: 0, end: 0 }
    }

    /// Returns the sink.
    ///
    /// # Errors
    /// If it has failed: its content is not a complete package.
    pub(super) fn into_whole(self) -> io::Result<W> {
        if self.has_failed {
            Err(io::Error::other("an earlier part of the package could not be written"))
        } else {
            Ok(self.sink)
        }
    }

    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        self.has_failed |= result.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
        result
    }
}

impl<W: Write> Write for PackageSink<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = if self.has_failed {
            bytes.len()
        } else {
            let written = self.sink.write(bytes);
            self.note(written)?
        };
        self.place += written as u64;
        self.end = self.end.max(self.place);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.has_failed {
            return Ok(());
        }
        let flushed = self.sink.flush();
        self.note(flushed)
    }
}

impl<W: Seek> Seek for PackageSink<W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.place = match (self.has_failed, to) {
            (false, to) => {
                let place = self.sink.seek(to);
                self.note(place)?
            }
            (true, SeekFrom::Start(place)) => place,
            (true, SeekFrom::Current(by)) => self.place.saturating_add_signed(by),
            (true, SeekFrom::End(by)) => self.end.saturating_add_signed(by),
        };
        Ok(self.place)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::{package::PackageWriter, value::PackagePath};

    /// A disk with room for so many bytes, which counts attempts to write after it was full.
    #[derive(Debug)]
    struct Disk<'a> {
        room: usize,
        attempts: &'a mut usize,
        bytes: Cursor<Vec<u8>>,
    }

    impl Write for Disk<'_> {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.bytes.get_ref().len() + bytes.len() > self.room {
                *self.attempts += 1;
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.bytes.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Seek for Disk<'_> {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.bytes.seek(to)
        }
    }

    #[test]
    fn d41_a_package_on_a_full_disk_fails_once_and_is_not_written_to_again() {
        let mut refused = 0;
        for room in (0..4_000).step_by(97) {
            let mut attempts = 0;
            let disk = Disk { room, attempts: &mut attempts, bytes: Cursor::default() };
            let path = PackagePath::new("/a");
            let written = PackageWriter::new(disk, b"<urlset/>").and_then(|mut package| {
                let added = package.add(&path, None, 2_000, &[7; 2_000][..]);
                // A caller that continues after a failure gets no package either.
                let ended = package.finish().map(drop);
                added.and(ended)
            });
            assert_eq!(written.is_err(), attempts > 0, "{room}");
            assert!(attempts <= 1, "{room}: {attempts} attempts");
            refused += attempts;
        }
        assert!(refused > 10 && refused < 41, "{refused}");
    }
}
