//! Digests of streams.

use std::{
    fmt,
    io::{self, Read},
};

use md5::Digest as _;

use super::{Algorithm, Digest, Digests};

/// Computes several digests over one stream of bytes.
pub struct Hasher(Vec<Computation>);

enum Computation {
    Md5(md5::Md5),
    Sha1(sha1::Sha1),
    Sha2(Algorithm, ring::digest::Context),
}

impl Hasher {
    /// Begins a digest for each of these algorithms; unknown ones are ignored.
    pub fn new<'a>(algorithms: impl IntoIterator<Item = &'a Algorithm>) -> Self {
        let state = |algorithm: &Algorithm| {
            let sha2 = |of| Computation::Sha2(algorithm.clone(), ring::digest::Context::new(of));
            Some(match algorithm {
                Algorithm::Md5 => Computation::Md5(md5::Md5::new()),
                Algorithm::Sha1 => Computation::Sha1(sha1::Sha1::new()),
                Algorithm::Sha256 => sha2(&ring::digest::SHA256),
                Algorithm::Sha384 => sha2(&ring::digest::SHA384),
                Algorithm::Sha512 => sha2(&ring::digest::SHA512),
                Algorithm::Other(_) => return None,
            })
        };
        Self(algorithms.into_iter().filter_map(state).collect())
    }

    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        for state in &mut self.0 {
            match state {
                Computation::Md5(md5) => md5.update(bytes),
                Computation::Sha1(sha1) => sha1.update(bytes),
                Computation::Sha2(_, context) => context.update(bytes),
            }
        }
    }

    /// Adds everything that a reader yields, through a buffer, and returns the number of bytes.
    ///
    /// # Errors
    /// If the reader fails.
    ///
    /// ```
    /// # use resourcesync::{Algorithm, Hasher};
    /// # fn main() -> std::io::Result<()> {
    /// let mut hasher = Hasher::new(&[Algorithm::Md5]);
    /// assert_eq!(hasher.take_all(&mut &b"text"[..], &mut [0; 64])?, 4);
    /// assert_eq!(hasher.finish().to_string(), "md5:1cb251ec0d568de6a929b520c4aed8d1");
    /// # Ok(())
    /// # }
    /// ```
    pub fn take_all(&mut self, reader: &mut (impl Read + ?Sized), buffer: &mut [u8]) -> io::Result<u64> {
        let mut taken = 0;
        loop {
            match reader.read(buffer) {
                Ok(0) => return Ok(taken),
                Ok(read) => {
                    self.update(&buffer[..read]);
                    taken += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Returns the digests of all bytes added.
    pub fn finish(self) -> Digests {
        let digest = |state| match state {
            Computation::Md5(md5) => Digest::new(Algorithm::Md5, &md5.finalize()),
            Computation::Sha1(sha1) => Digest::new(Algorithm::Sha1, &sha1.finalize()),
            Computation::Sha2(algorithm, context) => Digest::new(algorithm, context.finish().as_ref()),
        };
        self.0.into_iter().filter_map(digest).collect()
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hasher").field("digests", &self.0.len()).finish()
    }
}
