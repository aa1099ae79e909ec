//! One small client: scope, politeness, retry.

mod address;
mod body;
mod client;
mod connect;
mod connection;
mod credentials;
mod error;
mod hosts;
mod message;
mod open;
mod options;
mod origin;
mod pace;
mod retry;
mod scope;
mod stream;
mod tls;
mod traffic;
mod width;

pub use body::Body;
pub use client::{Attempts, Client};
pub use connect::{Resolve, SystemResolver};
pub use credentials::{Credentials, netrc};
pub use error::{HttpError, Phase, Refusal};
pub use message::{Request, Response, Validators};
pub use options::HttpOptions;
pub use origin::Origin;
pub use scope::Scope;
pub use traffic::Traffic;
