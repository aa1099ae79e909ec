//! The signal by which a caller ends work that is in progress.

use tokio_util::sync::CancellationToken;

/// A signal that ends a run from elsewhere: the run commits what is in flight and returns. Clones share the signal.
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
    /// Returns a signal that has not been given.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the signal. Giving it again changes nothing.
    pub fn request(&self) {
        self.0.cancel();
    }

    /// Returns `true` if the signal has been given.
    pub fn is_requested(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Waits until the signal is given.
    pub async fn requested(&self) {
        self.0.cancelled().await;
    }

    /// Returns a signal that is given with this one, and can also be given alone.
    #[must_use]
    pub fn child(&self) -> Self {
        Self(self.0.child_token())
    }

    pub(crate) fn token(&self) -> &CancellationToken {
        &self.0
    }
}
