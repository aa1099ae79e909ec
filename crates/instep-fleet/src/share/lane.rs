//! The rule by which workers share the seats at a host: never more than its limit, and no worker waits for ever.
//! PURE.
//!
//! A *lane* is the set of seats that workers have and want at one host. A worker that requests seats locks the lane
//! in the record, so that the decision is made on its present rows. Seats are dealt out one at a time and in turns:
//! first to workers that have none, the longest waiting first; then to those that have some, the most recent holders
//! first. If there are more workers than seats, the worker that has had a seat longest gives it to the one that has
//! waited longest.

use super::WorkerId;

/// The seats of a worker in a lane, as the record has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneSeat {
    pub(crate) worker: WorkerId,
    /// The seats that no other worker may use.
    pub(crate) held: u64,
    /// The seats that it has use for.
    pub(crate) wanted: u64,
    /// A number that grows: it is a new one whenever the worker gets its first seat, or begins to wait for it.
    pub(crate) turn: i64,
}

/// A worker's request for seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneRequest {
    /// The seats that are in use or may be by now: it cannot give these back yet.
    pub(crate) kept: u64,
    pub(crate) wanted: u64,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaneAnswer {
    /// The row of the worker from now on.
    pub(crate) seat: LaneSeat,
    /// The seats that it may use. Fewer than it holds if some of those in use belong to another worker once they are
    /// free.
    pub(crate) granted: u64,
    /// The seats that others have.
    pub(crate) others: u64,
}

/// Decides about a request of a worker for seats at a host with a limit of `limit` parallel transfers.
pub(crate) fn answer(me: WorkerId, limit: u64, request: LaneRequest, lane: &[LaneSeat]) -> LaneAnswer {
    let next = lane.iter().map(|seat| seat.turn).max().map_or(0, |last| last.saturating_add(1));
    let known = lane.iter().find(|seat| seat.worker == me).copied();
    let mine = known.unwrap_or(LaneSeat { worker: me, held: 0, wanted: 0, turn: next });
    let others = || lane.iter().filter(|seat| seat.worker != me).copied();
    let wanted = request.wanted.min(limit);
    let (share, promised) = share_of(me, limit, others().chain([LaneSeat { wanted, ..mine }]).collect());
    let taken: u64 = others().map(|seat| seat.held).sum();
    // An earlier answer may have been lost: the seats that the row shows as held are held.
    let most = limit.saturating_sub(taken + promised).max(mine.held);
    let held = share.min(most).max(request.kept);
    let turn = if (held == 0) == (mine.held == 0) { mine.turn } else { next };
    LaneAnswer { seat: LaneSeat { worker: me, held, wanted, turn }, granted: share.min(held), others: taken }
}

/// Returns the seats of a worker once all workers have returned the seats of others, and the seats that earlier
/// workers still have to get until then.
fn share_of(me: WorkerId, limit: u64, mut lane: Vec<LaneSeat>) -> (u64, u64) {
    lane.retain(|seat| seat.wanted > 0);
    lane.sort_by_key(|seat| {
        let is_served = seat.held > 0;
        (is_served, if is_served { -seat.turn } else { seat.turn }, seat.worker)
    });
    let (mut shares, mut left) = (vec![0; lane.len()], limit);
    loop {
        let before = left;
        for (share, seat) in shares.iter_mut().zip(&lane) {
            if left > 0 && *share < seat.wanted {
                (*share, left) = (*share + 1, left - 1);
            }
        }
        if left == 0 || left == before {
            break;
        }
    }
    let place = lane.iter().position(|seat| seat.worker == me).unwrap_or(lane.len());
    let before = shares.iter().zip(&lane).take(place);
    let promised = before.map(|(share, seat)| u64::saturating_sub(*share, seat.held)).sum();
    (shares.get(place).copied().unwrap_or_default(), promised)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seat(worker: WorkerId, held: u64, wanted: u64, turn: i64) -> LaneSeat {
        LaneSeat { worker, held, wanted, turn }
    }

    fn asked(me: WorkerId, (kept, wanted): (u64, u64), lane: &[LaneSeat]) -> (u64, u64, i64) {
        let LaneAnswer { seat, granted, .. } = answer(me, 8, LaneRequest { kept, wanted }, lane);
        assert_eq!((seat.worker, seat.wanted), (me, wanted.min(8)));
        (seat.held, granted, seat.turn)
    }

    #[test]
    fn who_is_alone_gets_what_it_wants_up_to_the_limit() {
        assert_eq!(asked(1, (0, 3), &[]), (3, 3, 0));
        assert_eq!(asked(1, (3, 64), &[seat(1, 3, 3, 0)]), (8, 8, 0));
        assert_eq!(asked(1, (2, 2), &[seat(1, 8, 8, 0)]), (2, 2, 0));
    }

    #[test]
    fn a_second_one_gets_half_once_the_first_has_given_it_back() {
        let first = seat(1, 8, 8, 0);
        assert_eq!(asked(2, (0, 8), &[first]), (0, 0, 1), "it waits");
        let waits = seat(2, 0, 8, 1);
        assert_eq!(asked(1, (8, 8), &[first, waits]), (8, 4, 0), "all are in use");
        assert_eq!(asked(1, (5, 8), &[first, waits]), (5, 4, 0));
        assert_eq!(asked(2, (0, 8), &[seat(1, 5, 8, 0), waits]), (3, 3, 2));
        assert_eq!(asked(2, (3, 8), &[seat(1, 4, 8, 0), seat(2, 3, 8, 2)]), (4, 4, 2));
    }

    #[test]
    fn what_others_have_no_use_for_is_free() {
        let lane = [seat(1, 2, 2, 0), seat(2, 0, 8, 1)];
        assert_eq!(asked(2, (0, 8), &lane), (6, 6, 2));
        assert_eq!(
            asked(1, (2, 8), &[seat(1, 2, 2, 0), seat(2, 6, 8, 2)]),
            (2, 2, 0),
            "it waits for two more"
        );
    }

    #[test]
    fn whoever_has_had_a_seat_longest_gives_it_to_whoever_has_waited_longest() {
        let held: Vec<_> = (1..=8).map(|worker| seat(worker, 1, 8, worker)).collect();
        let lane = [held.as_slice(), &[seat(9, 0, 8, 9), seat(10, 0, 8, 10)]].concat();
        for worker in 1..=8 {
            let (held, granted, _) = asked(worker, (1, 8), &lane);
            assert_eq!((held, granted), (1, u64::from(worker > 2)), "{worker}");
        }
        assert_eq!(asked(1, (0, 8), &lane), (0, 0, 11), "it waits behind the others from now on");
        let free = [&lane[1..], &[seat(1, 0, 8, 11)]].concat();
        assert_eq!(asked(1, (0, 8), &free), (0, 0, 11));
        assert_eq!(asked(9, (0, 8), &free), (1, 1, 12));
    }

    #[test]
    fn a_lower_limit_is_kept_as_soon_as_transfers_have_ended() {
        let lane = [seat(1, 8, 8, 0), seat(2, 8, 8, 1)];
        assert_eq!(asked(1, (8, 8), &lane), (8, 4, 0));
        assert_eq!(asked(2, (0, 8), &[seat(1, 8, 8, 0), seat(2, 0, 8, 1)]), (0, 0, 1));
    }
}
