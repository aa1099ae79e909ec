//! Fetches documents: conditional, capped, decoded, read entry by entry.
