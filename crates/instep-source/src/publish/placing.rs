//! Puts the staged documents of a publication in place.

use super::{context::SourceContext, foreign, needed, published, publisher::Publisher};
use crate::{
    Error, PublishMonitor, PublishPhase,
    catalogue::Snapshot,
    records::PublishedSource,
    render::{Before, Now},
    sink::{FolderSink, Sink},
};

/// Staged documents, between the present and the next state.
pub(super) struct Rendered {
    pub(super) before: Before,
    pub(super) next: PublishedSource,
    pub(super) sink: FolderSink,
    /// The number of resources that are left out, wholly or in part.
    pub(super) omitted: u64,
}

impl Publisher {
    /// Puts the staged documents in place; they are to be announced then. Those of a publication that failed before it could
    /// announce them are announced with them, unless others have replaced them.
    pub(super) fn place_documents(
        &mut self,
        rendered: &mut Rendered,
        now: Now,
        monitor: &dyn PublishMonitor,
    ) -> Result<Vec<String>, Error> {
        let Self { context, unannounced, .. } = self;
        unannounced.retain(|name| rendered.next.documents.contains_key(name));
        context.place_documents(rendered, now, monitor, unannounced)
    }
}

impl SourceContext {
    /// Returns the documents in place. Another folder than that of the last publication may have older ones, which
    /// nothing but their bytes distinguishes, so none of them is assumed to be right.
    pub(super) fn before(&self, snapshot: &Snapshot) -> Result<Before, Error> {
        let mut before = published::load(snapshot)?;
        let placed_in = before.published.placed_in.as_ref();
        before.repair |= placed_in.is_some_and(|folder| Some(folder) != self.folder().as_ref());
        before.operators_robots = self.operators_robots()?;
        Ok(before)
    }

    /// Returns the folder of the documents; `None` if each server of the Source has its own, and keeps it current.
    fn folder(&self) -> Option<String> {
        let out = self.out();
        let folder = std::path::absolute(out).unwrap_or_else(|_| out.to_owned());
        (!self.catalogue.is_shared()).then(|| folder.to_string_lossy().into_owned())
    }

    /// Puts the staged documents in place, and adds their names to `all_placed`, also if a later step fails. The catalogue is
    /// updated before and after, so that an interruption is detected.
    fn place_documents(
        &self,
        rendered: &mut Rendered,
        now: Now,
        monitor: &dyn PublishMonitor,
        all_placed: &mut Vec<String>,
    ) -> Result<Vec<String>, Error> {
        let Rendered { before, next, sink, .. } = rendered;
        next.placed_in = self.folder();
        let mut expired = next.expire(self.options.lists.grace, now.at);
        if *next == before.published && !before.repair && sink.is_empty() {
            return Ok(Vec::new());
        }
        if !self.options.overwrite_documents {
            foreign::refuse_overwriting(self.out(), sink.staged(), &before.published)?;
        }
        if before.published.gzip_twins && !next.gzip_twins {
            expired.extend(published::twins(&self.catalogue.snapshot()?, &before.published)?);
        }
        monitor.phase(PublishPhase::Commit);
        let outbox = self.owing(&sink.in_order(), &expired, &before.published)?;
        published::begin(&self.catalogue, next, outbox)?;
        self.share(sink, &expired)?;
        let placed = sink.commit(&expired)?;
        all_placed.extend(placed.iter().map(|(name, _)| name.clone()));
        // The announcement still reads the changes that this publication adds: drop only those that were not needed
        // before.
        let needed = needed::needed_after(&before.published).unwrap_or(0);
        let first_listed = needed::first_listed(next);
        published::complete(&self.catalogue, std::mem::take(next), needed)?;
        placed.iter().for_each(|(name, bytes)| monitor.document(name, *bytes));
        if !placed.is_empty() {
            self.drop_patches(first_listed)?;
        }
        Ok(placed.into_iter().map(|(name, _)| name).collect())
    }
}
