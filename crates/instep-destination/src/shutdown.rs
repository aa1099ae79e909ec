//! The signal by which a caller ends work that is in progress.

use tokio_util::sync::CancellationToken;

/// Asks work to end from elsewhere: a run that is asked commits what is in flight and returns. Clones are one and the
/// same.
///
/// ```
/// let shutdown = instep_destination::Shutdown::new();
/// let elsewhere = shutdown.clone();
/// elsewhere.request();
/// assert!(shutdown.is_requested());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Shutdown(CancellationToken);

impl Shutdown {
    /// Returns one that was not requested yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the work to end. Doing so again changes nothing.
    pub fn request(&self) {
        self.0.cancel();
    }

    /// Returns `true` once the work was asked to end.
    pub fn is_requested(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until the work is asked to end.
    pub async fn requested(&self) {
        self.0.cancelled().await;
    }

    /// Returns one that this one requests too, and that requests nothing here.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        &self.0
    }
}
