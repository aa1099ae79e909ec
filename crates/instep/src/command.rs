//! One file per command, with its options, its call of a library and its output. Commands import nothing from each
//! other.

pub(crate) mod audit;
pub(crate) mod catalogue;
pub(crate) mod change;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod exit_codes;
pub(crate) mod explain;
pub(crate) mod explore;
pub(crate) mod export;
pub(crate) mod init;
pub(crate) mod publish;
pub(crate) mod republish;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod simulate;
pub(crate) mod source;
pub(crate) mod state;
pub(crate) mod status;
pub(crate) mod sync;
pub(crate) mod upgrade_sitemap;
pub(crate) mod validate;
