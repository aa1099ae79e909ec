//! Any URL to the Source's capabilities.
