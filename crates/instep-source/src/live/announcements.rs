//! The steps after each publication of a Source that is kept current.

use std::sync::Arc;

use tokio::sync::watch as state;

use crate::{
    Error, PublishReport, Publisher,
    publish::Announce,
    status::{self, Overview},
};

/// The steps after each publication: the overview first, so that a client that is notified finds it current.
pub(super) struct Announcements {
    pub(super) overview: state::Sender<Arc<Overview>>,
    pub(super) channels: Box<dyn Announce + Send>,
    /// The number of folders that are scanned because they cannot be watched.
    pub(super) unwatched: usize,
    /// The reason why the guard refused the last scan of everything; publications of single paths do not settle that.
    pub(super) refusal: Option<String>,
}

impl Announce for Announcements {
    fn announce(&mut self, publisher: &Publisher, report: &PublishReport) -> Result<(), Error> {
        let mut current = status::overview(publisher.context(), &self.overview.borrow())?;
        current.unwatched_folders = self.unwatched;
        current.failure.clone_from(&self.refusal);
        self.overview.send_replace(Arc::new(current));
        self.channels.announce(publisher, report)
    }
}
