//! The end of a scan that is no longer needed.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Asks a scan to end before it is complete. Clones are the same request.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScanStop(Arc<AtomicBool>);

impl ScanStop {
    pub(crate) fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
