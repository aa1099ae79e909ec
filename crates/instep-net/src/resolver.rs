//! Names to addresses.

use std::{
    collections::BTreeMap,
    fmt,
    future::Future,
    io,
    net::IpAddr,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// The addresses of a name, on their way.
pub type Resolving = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send>>;

/// Turns names into addresses.
///
/// # Contract
/// The returned addresses are exactly those that are checked and connected to: there is no second lookup in between
/// (D24).
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

/// A resolver that caches answers for a while.
///
/// A caller that counts requests by address must connect to the address that was counted: a name server of an
/// attacker would give another one the second time.
#[derive(Clone)]
pub struct CachedResolver {
    inner: Arc<dyn Resolve>,
    remembered: Arc<Mutex<BTreeMap<String, CachedAddresses>>>,
    lasts: Duration,
}

/// The addresses of a name and the time after which they are looked up again.
type CachedAddresses = (Vec<IpAddr>, Instant);

impl CachedResolver {
    /// The names that are remembered at a time. Beyond that names are refused rather than forgotten, because a flood of
    /// names must not make an earlier one resolve again.
    const MOST: usize = 4_096;

    /// Returns a resolver that asks another one and remembers each answer for a time.
    pub fn new(inner: impl Resolve + 'static, lasts: Duration) -> Self {
        Self { inner: Arc::new(inner), remembered: Arc::default(), lasts }
    }

    fn remembered(&self, host: &str) -> io::Result<Option<Vec<IpAddr>>> {
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if let Some((addresses, _)) = remembered.get(host).filter(|(_, until)| now < *until) {
            return Ok(Some(addresses.clone()));
        }
        if remembered.len() >= Self::MOST {
            remembered.retain(|_, (_, until)| now < *until);
        }
        let is_full = remembered.len() >= Self::MOST;
        if is_full {
            Err(io::Error::new(io::ErrorKind::QuotaExceeded, "too many names at a time"))
        } else {
            Ok(None)
        }
    }
}

impl fmt::Debug for CachedResolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedResolver").field("lasts", &self.lasts).finish_non_exhaustive()
    }
}

impl Resolve for CachedResolver {
    fn resolve(&self, host: &str) -> Resolving {
        let (resolver, host) = (self.clone(), host.to_owned());
        Box::pin(async move {
            if let Some(addresses) = resolver.remembered(&host)? {
                return Ok(addresses);
            }
            let addresses = resolver.inner.resolve(&host).await?;
            let mut remembered = resolver.remembered.lock().unwrap_or_else(PoisonError::into_inner);
            let until = Instant::now() + resolver.lasts;
            // The first of two answers that arrive together counts for both.
            let (addresses, _) = remembered
                .entry(host)
                .and_modify(|held| {
                    if held.1 <= Instant::now() {
                        *held = (addresses.clone(), until);
                    }
                })
                .or_insert_with(|| (addresses.clone(), until));
            Ok(addresses.clone())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

    use super::*;

    /// Gives another address each time.
    #[derive(Default)]
    struct Rebinding(AtomicU8);

    impl Resolve for Rebinding {
        fn resolve(&self, _: &str) -> Resolving {
            let last = self.0.fetch_add(1, Relaxed);
            Box::pin(async move { Ok(vec![IpAddr::from([192, 31, 7, last])]) })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn c16_a_name_keeps_its_address_while_it_is_remembered() {
        let resolver = CachedResolver::new(Rebinding::default(), Duration::from_secs(30));
        let first = resolver.resolve("a").await.unwrap();
        assert_eq!(resolver.resolve("a").await.unwrap(), first);
        assert_ne!(resolver.resolve("b").await.unwrap(), first);
        tokio::time::advance(Duration::from_secs(31)).await;
        assert_ne!(resolver.resolve("a").await.unwrap(), first);
    }
}
