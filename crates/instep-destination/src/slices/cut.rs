//! A plan in the order of its URIs, cut into slices of one origin.

use crate::state::{Action, NewSlice, SLICE, SliceId};

/// Cuts actions that come in the order of their URIs into slices.
#[derive(Debug, Default)]
pub(crate) struct SliceCutter {
    open: Vec<Action>,
    origin: String,
    /// The number of slices of this origin so far. The URIs of an origin are consecutive.
    turn: i64,
    last: SliceId,
}

/// The actions of a slice that is cut.
#[derive(Debug)]
pub(crate) struct CutSlice {
    pub(crate) id: SliceId,
    pub(crate) turn: i64,
    pub(crate) actions: Vec<Action>,
}

impl SliceCutter {
    /// Adds an action with its origin. Returns the slice before it, if that is full or of another origin.
    pub(crate) fn push(&mut self, action: Action, origin: &str) -> Option<CutSlice> {
        let cut = if self.open.len() == SLICE || self.origin != origin { self.finish() } else { None };
        if self.origin != origin {
            origin.clone_into(&mut self.origin);
            self.turn = 0;
        }
        self.open.push(action);
        cut
    }

    /// Returns the last slice; `None` if it is empty.
    pub(crate) fn finish(&mut self) -> Option<CutSlice> {
        if self.open.is_empty() {
            return None;
        }
        self.last += 1;
        self.turn += 1;
        Some(CutSlice { id: self.last, turn: self.turn, actions: std::mem::take(&mut self.open) })
    }
}

impl CutSlice {
    /// Returns the row of the slice, given its actions as bytes.
    pub(crate) fn written(&self, actions: Vec<u8>) -> NewSlice {
        let total = u16::try_from(self.actions.len()).unwrap_or(u16::MAX);
        NewSlice { id: self.id, turn: self.turn, total, actions }
    }
}
