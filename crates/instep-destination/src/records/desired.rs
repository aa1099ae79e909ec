//! A desired state as bytes, for plans and for the slices of shared plans. Pending retries are columns of the state
//! instead.

use std::borrow::Cow;

use resourcesync::Uri;
use serde::{Deserialize, Serialize};

use super::metadata::WrittenMetadata;
use crate::plan::Desired;

/// The part of a present desired state that a fetch needs, without its URI.
#[derive(Serialize, Deserialize)]
pub(crate) struct WrittenDesired<'a> {
    #[serde(borrow)]
    metadata: WrittenMetadata<'a>,
    attempts: u32,
    retrieval: Option<Cow<'a, str>>,
    inherits_time: bool,
}

impl<'a> WrittenDesired<'a> {
    /// Returns the written form of a desired state.
    ///
    /// # Errors
    /// If the ways to get its bytes cannot be written.
    pub(crate) fn of(desired: &'a Desired) -> Result<Self, serde_json::Error> {
        let retrieval = desired.retrieval.as_ref().map(|retrieval| retrieval.to_text()).transpose()?;
        Ok(Self {
            metadata: WrittenMetadata::of(&desired.metadata),
            attempts: desired.attempts,
            retrieval: retrieval.map(Into::into),
            inherits_time: desired.inherits_time,
        })
    }

    /// Returns the desired state of a resource.
    ///
    /// # Errors
    /// If the ways to get its bytes cannot be read.
    pub(crate) fn desired(self, uri: Uri) -> Result<Desired, serde_json::Error> {
        let mut desired = Desired::new(uri);
        desired.metadata = self.metadata.metadata();
        (desired.attempts, desired.inherits_time) = (self.attempts, self.inherits_time);
        desired.set_retrieval_text(self.retrieval.as_deref())?;
        Ok(desired)
    }
}
