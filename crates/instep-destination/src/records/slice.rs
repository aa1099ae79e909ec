//! The actions of a slice. The run that shares its plan writes them, and other workers read them, which may be of
//! another version.

use std::{borrow::Cow, io};

use resourcesync::Uri;
use serde::{Deserialize, Serialize};

use super::desired::WrittenDesired;
use crate::state::{Action, ActionKind};

/// The version of the bytes that this program writes. A worker takes no share of a plan of another version.
#[cfg(feature = "postgres")]
pub(crate) const VERSION: u32 = 1;

/// The usual size of an action in bytes.
const USUAL_BYTES: usize = 192;

#[derive(Serialize, Deserialize)]
struct WrittenAction<'a> {
    kind: u8,
    uri: Cow<'a, str>,
    #[serde(borrow)]
    desired: WrittenDesired<'a>,
}

/// Returns actions as bytes of [`VERSION`].
///
/// # Errors
/// If one of them cannot be written.
pub(crate) fn to_bytes(actions: &[Action]) -> io::Result<Vec<u8>> {
    let written = actions.iter().map(WrittenAction::of).collect::<io::Result<Vec<_>>>()?;
    postcard::to_extend(&written, Vec::with_capacity(written.len() * USUAL_BYTES)).map_err(io::Error::other)
}

/// Returns the actions in bytes of [`VERSION`], in their order.
///
/// # Errors
/// If the bytes are damaged.
pub(crate) fn from_bytes(bytes: &[u8]) -> io::Result<Vec<Action>> {
    let written: Vec<WrittenAction<'_>> = postcard::from_bytes(bytes).map_err(io::Error::other)?;
    written.into_iter().map(Action::try_from).collect()
}

impl<'a> WrittenAction<'a> {
    fn of(Action { kind, desired, .. }: &'a Action) -> io::Result<Self> {
        Ok(Self {
            kind: *kind as u8,
            uri: Cow::Borrowed(desired.uri.as_str()),
            desired: WrittenDesired::of(desired).map_err(io::Error::other)?,
        })
    }
}

impl TryFrom<WrittenAction<'_>> for Action {
    type Error = io::Error;

    fn try_from(written: WrittenAction<'_>) -> io::Result<Self> {
        let kind = ActionKind::ALL.get(usize::from(written.kind)).copied();
        let kind = kind.filter(|kind| kind.asks());
        let kind = kind.ok_or_else(|| io::Error::other(format!("{} is no kind of action", written.kind)))?;
        let uri = Uri::parse_recorded(&written.uri).map_err(io::Error::other)?;
        let desired = written.desired.desired(uri).map_err(io::Error::other)?;
        Ok(Self::new(kind, desired))
    }
}
