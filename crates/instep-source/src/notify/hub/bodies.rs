//! The bodies of deliveries: messages, and runs of messages that go together.

use std::collections::BTreeMap;

use bytes::Bytes;

use super::{super::joining, store::KeepBook};
use crate::Error;

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
    ///
    /// # Errors
    /// If they cannot be read now.
    pub(super) fn of(&mut self, run: &[u64], store: &dyn KeepBook) -> Result<Option<(Bytes, usize)>, Error> {
        let (Some(first), Some(last)) = (run.first().copied(), run.last().copied()) else { return Ok(None) };
        if first == last {
            return Ok(self.message(first, store)?.map(|body| (body, 1)));
        }
        if let Some(joined) = self.runs.get(&(first, last)) {
            return Ok(Some(joined.clone()));
        }
        let mut bodies = Vec::new();
        for sequence in run {
            let Some(body) = self.message(*sequence, store)? else { break };
            bodies.push(body);
        }
        let Some(alone) = bodies.first() else { return Ok(None) };
        let joined = joining::join(&bodies).unwrap_or_else(|| (alone.clone(), 1));
        keep(&mut self.runs, (first, last), joined.clone());
        Ok(Some(joined))
    }

    fn message(&self, sequence: u64, store: &dyn KeepBook) -> Result<Option<Bytes>, Error> {
        match self.messages.get(&sequence) {
            Some(body) => Ok(Some(body.clone())),
            None => store.body(sequence),
        }
    }
}

/// Keeps a value, and drops the oldest one if there are too many.
fn keep<K: Ord, V>(values: &mut BTreeMap<K, V>, key: K, value: V) {
    values.insert(key, value);
    if values.len() > KEPT {
        values.pop_first();
    }
}
