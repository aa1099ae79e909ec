//! What a Destination tells while it works.
