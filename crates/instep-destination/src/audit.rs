//! Is the copy right?
