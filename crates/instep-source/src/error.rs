//! What can go wrong at a Source.
