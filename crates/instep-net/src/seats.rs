//! The seats that the transfers of all hosts share. PURE.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use crate::origin::Origin;

/// Seats for transfers. All silent hosts together count for at most a quarter of them: others may use the seats that
/// silent hosts hold beyond that.
///
/// Times are milliseconds since any fixed moment.
#[derive(Debug)]
pub(crate) struct Seats {
    most: usize,
    taken: usize,
    hosts: BTreeMap<Origin, SeatedHost>,
}

/// A host that holds seats.
#[derive(Debug)]
struct SeatedHost {
    held: usize,
    /// The time at which it last sent an answer, or a piece of one.
    last_active: Arc<AtomicU64>,
}

impl Seats {
    /// The time without data after which a host counts as silent.
    const SILENCE: u64 = 5_000;

    pub(crate) fn new(most: usize) -> Self {
        Self { most, taken: 0, hosts: BTreeMap::new() }
    }

    /// Takes a seat.
    ///
    /// # Errors
    /// If there is none: the time at which there will be one if no host sends anything until then; `None` if only a
    /// returned seat can help.
    pub(crate) fn take(
        &mut self,
        host: &Origin,
        last_active: &Arc<AtomicU64>,
        now: u64,
    ) -> Result<(), Option<u64>> {
        if self.taken >= self.most && self.counted(now) >= self.most {
            return Err(self.next_free(now));
        }
        self.taken += 1;
        if let Some(seated) = self.hosts.get_mut(host) {
            seated.held += 1;
        } else {
            // A host that held no seat was not asked for anything, so its silence begins now.
            last_active.store(now, Relaxed);
            self.hosts.insert(host.clone(), SeatedHost { held: 1, last_active: Arc::clone(last_active) });
        }
        Ok(())
    }

    /// Gives a seat back.
    pub(crate) fn give_back(&mut self, host: &Origin) {
        let Some(seated) = self.hosts.get_mut(host) else { return };
        self.taken -= 1;
        seated.held -= 1;
        if seated.held == 0 {
            self.hosts.remove(host);
        }
    }

    /// Returns the seats that count as taken.
    fn counted(&self, now: u64) -> usize {
        let silent: usize =
            self.hosts.values().filter(|host| host.silent_at() <= now).map(|host| host.held).sum();
        self.taken - silent + silent.min(self.share())
    }

    /// Returns the next time at which fewer seats than all may count as taken.
    fn next_free(&self, now: u64) -> Option<u64> {
        self.hosts.values().map(SeatedHost::silent_at).filter(|time| *time > now).min()
    }

    /// Returns the seats that all silent hosts count for.
    fn share(&self) -> usize {
        (self.most / 4).max(1)
    }
}

impl SeatedHost {
    fn silent_at(&self) -> u64 {
        self.last_active.load(Relaxed) + Seats::SILENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(number: u8) -> (Origin, Arc<AtomicU64>) {
        (Origin::parse(&format!("http://host{number}/")).unwrap(), Arc::default())
    }

    fn take(
        seats: &mut Seats,
        (origin, last_active): &(Origin, Arc<AtomicU64>),
        count: usize,
        now: u64,
    ) -> usize {
        (0..count).filter(|_| seats.take(origin, last_active, now).is_ok()).count()
    }

    #[test]
    fn b17_several_hosts_that_say_nothing_leave_three_quarters_of_the_seats() {
        let mut seats = Seats::new(16);
        let (first, second, good) = (host(1), host(2), host(3));
        assert_eq!((take(&mut seats, &first, 8, 0), take(&mut seats, &second, 8, 100)), (8, 8));
        assert_eq!(seats.take(&good.0, &good.1, 200), Err(Some(5_000)));
        assert_eq!(take(&mut seats, &good, 20, 5_000), 4, "half of the seats count for 4");
        assert_eq!(take(&mut seats, &good, 20, 5_100), 8);
        assert_eq!(seats.take(&good.0, &good.1, 5_200), Err(Some(10_000)));
    }

    #[test]
    fn b17_an_active_host_keeps_its_seats() {
        let mut seats = Seats::new(2);
        let (slow, other) = (host(1), host(2));
        take(&mut seats, &slow, 2, 0);
        for now in [4_000, 8_000, 12_000] {
            slow.1.store(now, Relaxed);
            assert_eq!(seats.take(&other.0, &other.1, now + 4_999), Err(Some(now + 5_000)));
        }
        assert_eq!(take(&mut seats, &other, 2, 17_000), 1);
        slow.1.store(17_001, Relaxed);
        assert!(seats.take(&other.0, &other.1, 17_002).is_err(), "it is active again: no seats are left");
        seats.give_back(&slow.0);
        seats.give_back(&slow.0);
        assert_eq!(take(&mut seats, &other, 2, 17_003), 1);
    }

    #[test]
    fn a_host_that_was_idle_is_not_silent() {
        let mut seats = Seats::new(1);
        let (first, second) = (host(1), host(2));
        assert_eq!(take(&mut seats, &first, 1, 60_000), 1);
        assert!(seats.take(&second.0, &second.1, 60_001).is_err());
        seats.give_back(&first.0);
        assert!(seats.hosts.is_empty());
        assert_eq!(take(&mut seats, &second, 1, 60_002), 1);
    }

    #[test]
    fn one_seat_is_one_transfer() {
        let mut seats = Seats::new(1);
        let (silent, other) = (host(1), host(2));
        take(&mut seats, &silent, 1, 0);
        assert_eq!(seats.take(&other.0, &other.1, 50_000), Err(None));
    }
}
