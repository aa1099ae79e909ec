//! What the Source knows: its current resources and the ordered log of their changes.

mod record;

pub use record::{ChangeRecord, FileStamp, Resource, State};
