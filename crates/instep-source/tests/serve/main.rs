//! The Source over HTTP: what it answers, what it withstands, and that it keeps itself current.

#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

mod admin;
mod batch;
mod behind_nginx;
mod channels;
mod corners;
mod current;
mod floods;
mod forms;
mod hostile;
mod hub;
mod local;
mod methods;
mod mounted;
mod pages;
mod raw;
mod semantics;
mod server;
mod silent;
mod subscriber;
mod tls;
mod versions;
