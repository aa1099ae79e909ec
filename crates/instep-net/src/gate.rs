//! A gate before the requests of a client, for a process that may lose the right to send any.

use std::{fmt, sync::Arc};

use tokio::{sync::watch, time::Instant};

/// Lets requests begin until a time, which its owner postpones again and again. Clones share the time.
///
/// The clock is read when a request begins. A process that was stopped for a while therefore begins no request unless
/// the time was postponed in the meantime.
#[derive(Clone)]
pub struct RequestGate(Arc<watch::Sender<Instant>>);

impl RequestGate {
    /// Returns a gate that is open until a time.
    pub fn open_until(until: Instant) -> Self {
        Self(Arc::new(watch::Sender::new(until)))
    }

    /// Opens the gate until another time.
    pub fn put_off(&self, until: Instant) {
        self.0.send_replace(until);
    }

    /// Waits until the gate is open.
    pub(crate) async fn pass(&self) {
        let mut changed = self.0.subscribe();
        loop {
            if Instant::now() < *changed.borrow_and_update() {
                return;
            }
            // This cannot fail: the sender lives as long as this value.
            let _ = changed.changed().await;
        }
    }
}

impl fmt::Debug for RequestGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RequestGate").field(&*self.0.borrow()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_gate_is_passed_before_its_time_and_waited_at_after_it() {
        let second = Duration::from_secs(1);
        let gate = RequestGate::open_until(Instant::now() + second);
        timeout(second, gate.pass()).await.unwrap();
        tokio::time::advance(2 * second).await;
        assert!(timeout(second, gate.pass()).await.is_err());
        let waiting = tokio::spawn({
            let gate = gate.clone();
            async move { gate.pass().await }
        });
        gate.put_off(Instant::now() + second);
        timeout(second, waiting).await.unwrap().unwrap();
    }
}
