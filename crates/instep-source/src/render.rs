//! PURE: (snapshot, changes, policy, now) to the documents to write.
