//! The Source over HTTP: what it answers, what it withstands, and that it keeps itself current.

mod current;
mod hostile;
mod raw;
mod semantics;
mod server;
