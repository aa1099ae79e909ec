//! What can go wrong at a Destination.
