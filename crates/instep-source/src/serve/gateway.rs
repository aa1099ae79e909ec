//! Gateways: further protocols that a program adds to a Source, over the same resources.

use std::{fmt, io, sync::Arc};

use axum::Router;

use super::view::SourceView;

/// A protocol beside ResourceSync that a Source answers, such as OAI-PMH.
pub trait Gateway: fmt::Debug + Send + Sync {
    /// Returns its routes, below the base URL. Called once, before the first publication; a document or resource
    /// under the same path is not served any more.
    ///
    /// # Errors
    /// If one of its files cannot be opened.
    fn routes(&self, source: &Arc<SourceView>) -> io::Result<Router>;
}
