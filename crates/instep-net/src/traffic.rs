use std::{collections::BTreeMap, time::Duration};

/// What one host was asked for since it was told last, and what came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Requests by the status of their answer; 0 where none came.
    pub answers: BTreeMap<u16, u64>,
    /// Bytes of bodies that arrived.
    pub bytes: u64,
    /// Requests that were made because one before them failed.
    pub retries: u64,
    /// Answers by the time until their headers, one count for each of [`Traffic::BOUNDS`] and one for what took longer.
    pub latencies: [u64; Self::BOUNDS.len() + 1],
    /// The sum of these times.
    pub waited: Duration,
    /// Transfers under way now.
    pub transfers: usize,
    /// How many may be now.
    pub most_transfers: usize,
}

impl Traffic {
    /// Times until headers, in seconds: each bucket reaches to one of them.
    pub const BOUNDS: [f64; 8] = [0.005, 0.02, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

    pub(super) fn answered(&mut self, status: u16, after: Duration) {
        *self.answers.entry(status).or_default() += 1;
        let bucket = Self::BOUNDS.iter().position(|bound| after.as_secs_f64() <= *bound);
        self.latencies[bucket.unwrap_or(Self::BOUNDS.len())] += 1;
        self.waited += after;
    }

    pub(super) fn unanswered(&mut self) {
        *self.answers.entry(0).or_default() += 1;
    }

    /// Whether there is something to tell.
    pub(super) fn is_nothing(&self) -> bool {
        self.answers.is_empty() && self.bytes == 0 && self.retries == 0
    }

    /// Adds what was told later; of what is under way the later word counts.
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
