use std::fmt;
use std::io::{self, Read};

use md5::Digest as _;

use super::{Algorithm, Digest, Digests};

/// Computes several digests over one stream of bytes.
pub struct Hasher(Vec<State>);

enum State {
    Md5(md5::Md5),
    Sha1(sha1::Sha1),
    Sha2(Algorithm, ring::digest::Context),
}

impl Hasher {
    /// For each of these algorithms; those that are not known here are passed over.
    pub fn new<'a>(algorithms: impl IntoIterator<Item = &'a Algorithm>) -> Self {
        let state = |algorithm: &Algorithm| {
            let sha2 = |of| State::Sha2(algorithm.clone(), ring::digest::Context::new(of));
            Some(match algorithm {
                Algorithm::Md5 => State::Md5(md5::Md5::new()),
                Algorithm::Sha1 => State::Sha1(sha1::Sha1::new()),
                Algorithm::Sha256 => sha2(&ring::digest::SHA256),
                Algorithm::Sha384 => sha2(&ring::digest::SHA384),
                Algorithm::Sha512 => sha2(&ring::digest::SHA512),
                Algorithm::Other(_) => return None,
            })
        };
        Self(algorithms.into_iter().filter_map(state).collect())
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        for state in &mut self.0 {
            match state {
                State::Md5(md5) => md5.update(bytes),
                State::Sha1(sha1) => sha1.update(bytes),
                State::Sha2(_, context) => context.update(bytes),
            }
        }
    }

    /// Takes everything that a reader yields, through a buffer; how many bytes that were.
    ///
    /// # Errors
    /// When the bytes do not arrive.
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

    /// The digests of all bytes taken.
    pub fn finish(self) -> Digests {
        let digest = |state| match state {
            State::Md5(md5) => Digest::new(Algorithm::Md5, &md5.finalize()),
            State::Sha1(sha1) => Digest::new(Algorithm::Sha1, &sha1.finalize()),
            State::Sha2(algorithm, context) => Digest::new(algorithm, context.finish().as_ref()),
        };
        self.0.into_iter().filter_map(digest).collect()
    }
}

impl fmt::Debug for Hasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hasher").field("digests", &self.0.len()).finish()
    }
}
