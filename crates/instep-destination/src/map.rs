//! URI to safe path: the only place where text from the network becomes a path.
