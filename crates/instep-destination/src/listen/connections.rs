//! The connections to the callback server, limited per address and in all (B23, W7). PURE: a connection is ended by its
//! token, and sockets are elsewhere.

use std::{collections::VecDeque, fmt};

use tokio_util::sync::CancellationToken;

/// The most connections at a time.
pub(super) const CONNECTIONS: usize = 64;
/// The most connections at a time from one address. A hub needs one for each delivery in flight; behind a proxy, all
/// hubs have the same address.
pub(super) const PER_ADDRESS: usize = 16;

/// The open connections, the oldest first.
///
/// An outsider who sends a header slowly must not block a hub, even from the same address. A new connection is
/// therefore always accepted if an older one has not yet requested an existing callback: that one is closed.
#[derive(Debug)]
pub(super) struct CallbackConnections<A> {
    open: VecDeque<OpenConnection<A>>,
    next: u64,
}

struct OpenConnection<A> {
    number: u64,
    address: A,
    /// `true` if a request for an existing callback was received over it.
    is_known: bool,
    end: CancellationToken,
}

impl<A: fmt::Debug> fmt::Debug for OpenConnection<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenConnection")
            .field("address", &self.address)
            .field("is_known", &self.is_known)
            .finish()
    }
}

impl<A> Default for CallbackConnections<A> {
    fn default() -> Self {
        Self { open: VecDeque::new(), next: 0 }
    }
}

impl<A: PartialEq> CallbackConnections<A> {
    /// Accepts a connection, and returns its number and the token that ends it. `None` if there is no room, because
    /// every older connection belongs to a hub.
    pub(super) fn open(&mut self, address: A) -> Option<(u64, CancellationToken)> {
        if self.open.iter().filter(|open| open.address == address).count() >= PER_ADDRESS {
            self.close_stranger(|open| open.address == address)?;
        } else if self.open.len() >= CONNECTIONS {
            self.close_stranger(|_| true)?;
        }
        let (number, end) = (self.next, CancellationToken::new());
        self.next += 1;
        self.open.push_back(OpenConnection { number, address, is_known: false, end: end.clone() });
        Some((number, end))
    }

    /// Records that a request for an existing callback was received over a connection.
    pub(super) fn know(&mut self, number: u64) {
        if let Some(open) = self.open.iter_mut().find(|open| open.number == number) {
            open.is_known = true;
        }
    }

    /// Records that a connection has ended.
    pub(super) fn close(&mut self, number: u64) {
        self.open.retain(|open| open.number != number);
    }

    /// Ends the oldest connection without a request for an existing callback; `None` if there is none.
    fn close_stranger(&mut self, among: impl Fn(&OpenConnection<A>) -> bool) -> Option<()> {
        let position = self.open.iter().position(|open| !open.is_known && among(open))?;
        self.open.remove(position)?.end.cancel();
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b23_strangers_keep_nobody_out() {
        let mut connections = CallbackConnections::default();
        let strangers: Vec<_> = (0..150).filter_map(|_| connections.open("a stranger")).collect();
        assert_eq!(connections.open.len(), PER_ADDRESS);
        assert!(strangers[0].1.is_cancelled() && !strangers[149].1.is_cancelled());
        let (hub, end) = connections.open("a stranger").unwrap();
        connections.know(hub);
        (0..150).for_each(|_| drop(connections.open("a stranger")));
        assert!(!end.is_cancelled(), "a connection of a hub is not closed for a stranger's");
        connections.close(hub);
        assert_eq!(connections.open.len(), PER_ADDRESS - 1);
    }

    #[test]
    fn b23_many_addresses_share_the_places() {
        let mut connections = CallbackConnections::default();
        let first = connections.open(0).unwrap();
        (1..CONNECTIONS).for_each(|address| drop(connections.open(address)));
        assert!(!first.1.is_cancelled());
        let (hub, _) = connections.open(1_000).unwrap();
        assert!(first.1.is_cancelled() && connections.open.len() == CONNECTIONS);
        connections.know(hub);
        for open in &mut connections.open {
            open.is_known = true;
        }
        assert!(connections.open(1_001).is_none(), "hubs have all places");
    }
}
