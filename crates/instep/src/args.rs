//! Groups of options that several commands share, each in its own file with the settings of a library that it becomes.
//! Options of a single command are with that command.

pub(crate) mod access;
pub(crate) mod callbacks;
pub(crate) mod channels;
pub(crate) mod content;
mod documents_out;
pub(crate) mod fleet;
pub(crate) mod folders;
pub(crate) mod headings;
pub(crate) mod packages;
pub(crate) mod piped;
pub(crate) mod republishing;
pub(crate) mod rules;
pub(crate) mod selection;
pub(crate) mod server;
pub(crate) mod serving;
pub(crate) mod sets;
pub(crate) mod source;
pub(crate) mod source_url;
pub(crate) mod values;
pub(crate) mod waiting;
