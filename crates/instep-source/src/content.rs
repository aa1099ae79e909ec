//! Where bitstreams live: a folder, or what a manifest names.
