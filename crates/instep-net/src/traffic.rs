//! Figures of the requests to one host.

use std::{collections::BTreeMap, time::Duration};

/// The requests to one host since the last read of the figures, and their results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// The number of requests for each status of an answer; 0 stands for no answer.
    pub answers: BTreeMap<u16, u64>,
    /// The bytes of bodies that arrived.
    pub bytes: u64,
    /// The requests that were made because an earlier one failed.
    pub retries: u64,
    /// The number of answers for each time until their headers: one count for each of [`Traffic::BOUNDS`], and one for
    /// longer times.
    pub latencies: [u64; Self::BOUNDS.len() + 1],
    /// The sum of these times.
    pub waited: Duration,
    /// The transfers that are under way now.
    pub transfers: usize,
    /// The transfers that may be under way now.
    pub most_transfers: usize,
}

impl Traffic {
    /// The upper bounds of [`Self::latencies`], in seconds.
    pub const BOUNDS: [f64; 8] = [0.005, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

    pub(crate) fn answered(&mut self, status: u16, after: Duration) {
        *self.answers.entry(status).or_default() += 1;
        let bucket = Self::BOUNDS.iter().position(|bound| after.as_secs_f64() <= *bound);
        self.latencies[bucket.unwrap_or(Self::BOUNDS.len())] += 1;
        self.waited += after;
    }

    pub(crate) fn unanswered(&mut self) {
        *self.answers.entry(0).or_default() += 1;
    }

    /// Returns `true` if nothing was requested and nothing arrived.
    pub(crate) fn is_empty(&self) -> bool {
        self.answers.is_empty() && self.bytes == 0 && self.retries == 0
    }

    /// Adds later figures. Transfers under way are not a sum: the later ones count.
    pub fn add(&mut self, later: &Self) {
        for (status, number) in &later.answers {
            *self.answers.entry(*status).or_default() += number;
        }
        self.bytes += later.bytes;
        self.retries += later.retries;
        self.latencies.iter_mut().zip(later.latencies).for_each(|(sum, more)| *sum += more);
        self.waited += later.waited;
        (self.transfers, self.most_transfers) = (later.transfers, later.most_transfers);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_by_status_and_time() {
        let mut traffic = Traffic::default();
        traffic.answered(200, Duration::from_millis(5));
        traffic.answered(200, Duration::from_millis(6));
        traffic.answered(503, Duration::from_secs(31));
        traffic.unanswered();
        assert_eq!(traffic.answers, BTreeMap::from([(0, 1), (200, 2), (503, 1)]));
        assert_eq!(traffic.latencies, [1, 1, 0, 0, 0, 0, 0, 0, 1]);
        let mut sum = traffic.clone();
        sum.add(&Traffic { transfers: 3, ..traffic });
        assert_eq!((sum.answers[&200], sum.latencies[0], sum.transfers), (4, 2, 3));
        assert_eq!(sum.waited, Duration::from_millis(62_022));
    }
}
