//! Channels and the hub: who is told, after the documents are in place.
