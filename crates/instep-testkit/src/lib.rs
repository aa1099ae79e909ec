//! The common tools of the tests of this workspace: a Source that misbehaves on request, a clock that is moved by
//! hand, data from a fixed seed, and folders compared by digest.

#![expect(clippy::expect_used, reason = "what fails here fails the test that uses it")]

mod clock;
mod contract;
mod cutter;
mod dice;
pub mod generate;
mod object_storage;
pub mod peers;
mod postgres;
mod program;
mod repository;
mod server;
mod source;
mod tree;
mod waiting;

pub use clock::TestClock;
pub use contract::{additions_of_a_later_version, keep_contract};
pub use cutter::Cutter;
pub use dice::Dice;
pub use object_storage::S3Server;
pub use postgres::PostgresServer;
pub use program::{Run, example, instep, wrap};
pub use repository::{FakeRecord, FakeRepository, RepositoryFault, RepositoryLayout};
pub use server::{Server, free_port};
pub use source::{FakeSource, Fault, Layout, Page, ReceivedRequest};
pub use tree::{Tree, compare, folder_with_files};
pub use waiting::{LONG, ended, wait_for, wait_for_part, wait_until};
