//! Work for many hosts, handed out so that no host waits for another. PURE.

use std::collections::{BTreeMap, VecDeque};

use crate::origin::Origin;

/// Items that wait for their host's turn. Hosts take turns, and each has a limit of items in hand: a host that stalls
/// keeps back its own items and nobody else's.
///
/// `None` as the host collects the items that belong to none.
///
/// ```
/// use instep_net::{HostQueue, Origin};
///
/// let host = |name: &str| Origin::parse(&format!("https://{name}")).ok();
/// let mut queue = HostQueue::new(1);
/// queue.push(host("slow.example"), 1);
/// queue.push(host("slow.example"), 2);
/// queue.push(host("quick.example"), 3);
/// assert_eq!(queue.pop(), Some((1, host("slow.example"))));
/// assert_eq!(queue.pop(), Some((3, host("quick.example"))));
/// assert_eq!(queue.pop(), None, "the slow host has its one item in hand");
/// queue.done(&host("slow.example"));
/// assert_eq!(queue.pop(), Some((2, host("slow.example"))));
/// ```
#[derive(Debug)]
pub struct HostQueue<T> {
    hosts: BTreeMap<Option<Origin>, Line<T>>,
    /// The hosts that have both an item and room, in the order of their turns.
    turns: VecDeque<Option<Origin>>,
    per_host: usize,
    len: usize,
}

#[derive(Debug)]
struct Line<T> {
    items: VecDeque<T>,
    in_hand: usize,
    /// The items that it may have in hand, if not as many as the others.
    most: Option<usize>,
    /// The host is in `turns`.
    has_turn: bool,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { items: VecDeque::new(), in_hand: 0, most: None, has_turn: false }
    }
}

impl<T> Line<T> {
    fn has_room(&self, per_host: usize) -> bool {
        self.in_hand < self.most.unwrap_or(per_host)
    }
}

impl<T> HostQueue<T> {
    /// Returns an empty queue with a limit of items in hand for each host; at least 1.
    pub fn new(per_host: usize) -> Self {
        Self { hosts: BTreeMap::new(), turns: VecDeque::new(), per_host: per_host.max(1), len: 0 }
    }

    /// Adds an item behind the others of its host.
    pub fn push(&mut self, host: Option<Origin>, item: T) {
        self.len += 1;
        let line = self.hosts.entry(host.clone()).or_default();
        line.items.push_back(item);
        if line.has_room(self.per_host) && !std::mem::replace(&mut line.has_turn, true) {
            self.turns.push_back(host);
        }
    }

    /// Takes the first item of the host whose turn it is; `None` if every host with items has its limit in hand.
    pub fn pop(&mut self) -> Option<(T, Option<Origin>)> {
        let host = self.turns.pop_front()?;
        let line = self.hosts.get_mut(&host)?;
        let item = line.items.pop_front()?;
        line.in_hand += 1;
        self.len -= 1;
        line.has_turn = !line.items.is_empty() && line.has_room(self.per_host);
        if line.has_turn {
            self.turns.push_back(host.clone());
        }
        Some((item, host))
    }

    /// Changes the limit of a host that has items, as long as it has some. If more are in hand, none follows until enough
    /// of them are done.
    pub fn allow(&mut self, host: &Option<Origin>, most: usize) {
        let Some(line) = self.hosts.get_mut(host) else { return };
        line.most = Some(most.max(1));
        if line.has_turn && !line.has_room(self.per_host) {
            line.has_turn = false;
            self.turns.retain(|turn| turn != host);
        }
    }

    /// Records that an item of a host is done.
    pub fn done(&mut self, host: &Option<Origin>) {
        let Some(line) = self.hosts.get_mut(host) else { return };
        line.in_hand = line.in_hand.saturating_sub(1);
        if line.items.is_empty() {
            if line.in_hand == 0 {
                self.hosts.remove(host);
            }
        } else if line.has_room(self.per_host) && !std::mem::replace(&mut line.has_turn, true) {
            self.turns.push_back(host.clone());
        }
    }

    /// Returns `true` if [`HostQueue::pop`] would return an item.
    pub fn has_turn(&self) -> bool {
        !self.turns.is_empty()
    }

    /// Returns the number of items that wait.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if no item waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(number: u8) -> Option<Origin> {
        Origin::parse(&format!("http://host{number}/")).ok()
    }

    #[test]
    fn b17_a_host_that_never_answers_keeps_back_only_its_own_items() {
        let mut queue = HostQueue::new(8);
        (0..1_000).for_each(|item| queue.push(host(0), item));
        (1_000..1_010).for_each(|item| queue.push(host(1), item));
        let mut good = Vec::new();
        while let Some((item, of)) = queue.pop() {
            if of == host(1) {
                good.push(item);
                queue.done(&of);
            }
        }
        assert_eq!(good, (1_000..1_010).collect::<Vec<_>>());
        assert_eq!(queue.len(), 992);
    }

    #[test]
    fn hosts_take_turns_and_items_of_a_host_keep_their_order() {
        let mut queue = HostQueue::new(100);
        for item in 0..6 {
            queue.push(host(item / 3), item);
        }
        let order: Vec<u8> = std::iter::from_fn(|| queue.pop()).map(|(item, _)| item).collect();
        assert_eq!(order, [0, 3, 1, 4, 2, 5]);
        assert!(queue.is_empty() && !queue.has_turn());
    }

    #[test]
    fn o492_a_host_whose_limit_was_lowered_gets_no_item_until_it_has_room() {
        let mut queue = HostQueue::new(4);
        (0..10).for_each(|item| queue.push(host(0), item));
        (0..3).for_each(|item| assert_eq!(queue.pop(), Some((item, host(0)))));
        queue.allow(&host(0), 2);
        assert_eq!((queue.has_turn(), queue.pop()), (false, None), "three are in hand");
        queue.done(&host(0));
        assert_eq!((queue.has_turn(), queue.pop()), (false, None), "two are in hand");
        queue.done(&host(0));
        assert_eq!((queue.pop(), queue.pop()), (Some((3, host(0))), None));
        queue.allow(&host(0), 3);
        queue.done(&host(0));
        assert_eq!(std::iter::from_fn(|| queue.pop()).count(), 2);
    }

    #[test]
    fn a_host_without_items_is_forgotten() {
        let mut queue = HostQueue::new(1);
        for round in 0..100 {
            queue.push(host(round), round);
            let (_, of) = queue.pop().unwrap();
            queue.done(&of);
        }
        assert!(queue.hosts.is_empty() && queue.turns.is_empty());
    }
}
