//! PURE: (snapshot, changes, policy, now) to the documents to write.

mod place;

pub use place::{Place, SetPlace};
