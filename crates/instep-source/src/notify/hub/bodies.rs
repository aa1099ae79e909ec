//! The bodies of deliveries: messages, and runs of messages that go together.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{super::joining, store::KeepBook};

/// Bodies that are kept in memory: a subscriber that is further behind waits for the disk.
const KEPT: usize = 64;

/// Bodies that subscribers wait for.
#[derive(Debug, Default)]
pub(super) struct DeliveryBodies {
    messages: BTreeMap<u64, Bytes>,
    /// Runs by their first and last message, each with the number of its messages: subscribers that miss the same
    /// messages get the same bytes.
    runs: BTreeMap<(u64, u64), (Bytes, usize)>,
}

impl DeliveryBodies {
    /// Keeps a message that was just published.
    pub(super) fn publish(&mut self, sequence: u64, body: Bytes) {
        keep(&mut self.messages, sequence, body);
    }

    /// Returns the body that carries a run of messages, or as many of the first of them as can go together, and their
    /// number; `None` if they are no longer there.
    pub(super) fn of(&mut self, run: &[u64], store: &dyn KeepBook) -> Option<(Bytes, usize)> {
        let (first, last) = (*run.first()?, *run.last()?);
        if first == last {
            return Some((self.message(first, store)?, 1));
        }
        if let Some(joined) = self.runs.get(&(first, last)) {
            return Some(joined.clone());
        }
        let bodies: Vec<Bytes> = run.iter().map_while(|sequence| self.message(*sequence, store)).collect();
        let joined = joining::join(&bodies).or_else(|| Some((bodies.first()?.clone(), 1)))?;
        keep(&mut self.runs, (first, last), joined.clone());
        Some(joined)
    }

    fn message(&mut self, sequence: u64, store: &dyn KeepBook) -> Option<Bytes> {
        if let Some(body) = self.messages.get(&sequence) {
            return Some(body.clone());
        }
        store
            .body(sequence)
            .inspect_err(|error| tracing::warn!(%error, "a message cannot be read"))
            .ok()
            .flatten()
    }
}

/// Keeps a value, and drops the oldest one if there are too many.
fn keep<K: Ord, V>(values: &mut BTreeMap<K, V>, key: K, value: V) {
    values.insert(key, value);
    if values.len() > KEPT {
        values.pop_first();
    }
}
