//! The operator's maps of URIs to paths, as the last run over a URL had them.

use serde::{Deserialize, Serialize};

use super::versioned;
use crate::state::{CopyState, ReadState, StateError};

const VERSION: u32 = 1;

/// The maps, each with the beginning of URIs and the path that replaces it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LastMaps {
    maps: Vec<(String, String)>,
}

impl LastMaps {
    pub(crate) fn of(maps: &[(String, String)]) -> Self {
        Self { maps: maps.to_vec() }
    }

    /// Reads the maps of the last run over a URL; `None` if no run recorded any.
    pub(crate) fn read(state: &dyn ReadState, url: &str) -> Result<Option<Self>, StateError> {
        versioned::read(state, &name(url), VERSION)
    }

    pub(crate) fn write(&self, state: &mut dyn CopyState, url: &str) -> Result<(), StateError> {
        versioned::write(state, &name(url), VERSION, self)
    }
}

fn name(url: &str) -> String {
    format!("maps {url}")
}
