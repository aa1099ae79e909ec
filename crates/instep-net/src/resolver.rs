//! Names to addresses.

use std::{future::Future, io, net::IpAddr, pin::Pin};

/// The addresses of a name, on their way.
pub type Resolving = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Turns names into addresses.
///
/// # Contract
/// The addresses that are returned are those that are checked and connected to: nobody asks a second time in between (D24).
pub trait Resolve: Send + Sync {
    /// Returns every address of a name, in the order in which they are to be tried.
    fn resolve(&self, host: &str) -> Resolving;
}

/// The resolver of the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, host: &str) -> Resolving {
        let host = host.to_owned();
        Box::pin(async move {
            Ok(tokio::net::lookup_host((host.as_str(), 0)).await?.map(|address| address.ip()).collect())
        })
    }
}
