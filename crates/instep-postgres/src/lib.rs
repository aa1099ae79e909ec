#![doc = include_str!("../README.md")]

mod address;
mod error;
mod form;
mod hosts;
mod idle;
mod lease;
mod link;
mod numbered;
mod session;
mod tables;
mod tls;
mod waiting;
mod wakeups;

pub use address::Address;
pub use error::{EngineFault, PostgresError};
pub use idle::PooledSession;
pub use lease::{Claimant, LeaseOwners, WriteLease, beat_over};
pub use link::{ServerLink, ServerRetries};
pub use numbered::{NumberedWriter, WriteRight};
pub use session::{Session, Values};
pub use tables::{TableStep, Tables};
pub use waiting::{driver, wait};
pub use wakeups::{Wakeups, wake};
