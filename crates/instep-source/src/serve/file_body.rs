//! The bytes of a large file, read piece by piece away from the tasks that answer.

use std::{
    fs::File,
    future::Future,
    io,
    ops::Range,
    os::unix::fs::FileExt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::task::{JoinHandle, spawn_blocking};

const PIECE: u64 = 256 * 1024;

/// A part of a file as the body of an answer. If the file became shorter, the body ends with an error, so that the
/// client does not treat it as complete.
#[derive(Debug)]
pub(crate) struct FileBody {
    file: Arc<File>,
    part: Range<u64>,
    reading: Option<JoinHandle<io::Result<Bytes>>>,
}

impl FileBody {
    /// Returns a body with a part of a file.
    pub(crate) fn new(file: Arc<File>, part: Range<u64>) -> Self {
        Self { file, part, reading: None }
    }

    fn next_piece(&self) -> JoinHandle<io::Result<Bytes>> {
        let file = Arc::clone(&self.file);
        let start = self.part.start;
        let length = usize::try_from((self.part.end - start).min(PIECE)).unwrap_or_default();
        spawn_blocking(move || {
            let mut piece = vec![0; length];
            file.read_exact_at(&mut piece, start)?;
            Ok(piece.into())
        })
    }
}

impl Body for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.part.is_empty() {
            return Poll::Ready(None);
        }
        let mut reading = match self.reading.take() {
            Some(reading) => reading,
            None => self.next_piece(),
        };
        let Poll::Ready(piece) = Pin::new(&mut reading).poll(context) else {
            self.reading = Some(reading);
            return Poll::Pending;
        };
        let piece = piece.map_err(io::Error::other).and_then(|piece| piece)?;
        self.part.start += piece.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.part.end - self.part.start)
    }
}
