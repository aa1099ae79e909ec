//! The waiting of transfers for a host.

use std::sync::{Arc, atomic::Ordering::Relaxed};

use super::{Host, Permit};
use crate::{adaptive::AdaptiveLimit, error::HttpError, seating::Seating};

impl Host {
    /// Waits until one more transfer may begin: for a permit of the host, then for a seat that several processes share,
    /// then for a seat of this process. The permit comes first, so that waiting for a slow host holds no seat.
    pub(crate) async fn admit(self: &Arc<Self>, seating: &Arc<Seating>) -> Result<Permit, HttpError> {
        let closed = |_| HttpError::Option { what: "The client is closed".to_owned() };
        self.pause.wait(&self.origin).await?;
        let share = Arc::clone(&self.share).acquire_owned().await.map_err(closed)?;
        self.pause.wait(&self.origin).await?;
        let shared_seat = match &self.seats {
            Some(seats) => Some(seats.take(&self.origin).await),
            None => None,
        };
        let seat = loop {
            if let Some(rate) = self.rate.get() {
                // The rate is divided among the processes in the same proportion as the seats.
                rate.set_part(self.seats.as_ref().map_or(1.0, |seats| seats.part(&self.origin)));
                rate.take(1).await;
            }
            self.narrow_as_others();
            let seat = seating.take(&self.origin, &self.last_active).await;
            if self.pause.current().is_none() {
                break seat;
            }
            // The host requested a pause while this transfer waited for its turn. Other hosts may have the seat.
            drop(seat);
            self.pause.wait(&self.origin).await?;
        };
        self.note(|traffic| traffic.transfers += 1);
        Ok(Permit { host: Arc::clone(self), _share: share, shared_seat, seat })
    }

    /// Sends fewer requests at a time after the host reported overload to another process.
    fn narrow_as_others(&self) {
        let Some(seats) = &self.seats else { return };
        let pauses = seats.pauses_of_others(&self.origin);
        if self.seen_pauses.swap(pauses, Relaxed) < pauses {
            self.change_limit(AdaptiveLimit::overloaded);
        }
    }
}
