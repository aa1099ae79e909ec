//! The budgets of the disk: what the next look may add, and why none may begin.

use super::FleetState;

/// The least that a look may transfer when the disk is nearly full.
const LEAST_GRANT: u64 = 1 << 20;

impl FleetState {
    /// Returns the bytes that the next look may transfer, and the reason if none may begin.
    pub(super) fn grant(&self) -> (Option<u64>, Option<String>) {
        if self.options.min_free > 0 {
            let free = rustix::fs::statvfs(&self.options.dir)
                .map(|disk| disk.f_bavail.saturating_mul(disk.f_frsize));
            if free.is_ok_and(|free| free < self.options.min_free) {
                return (None, Some("the disk has less free space than is to be kept".to_owned()));
            }
        }
        let Some(disk) = self.options.disk else { return (None, None) };
        let granted: u64 = self.looks.values().map(|look| look.grant).sum();
        let left = disk.saturating_sub(self.figures.bytes).saturating_sub(granted);
        match left {
            left if left < LEAST_GRANT && self.looks.is_empty() => {
                (None, Some("the copies have as many bytes as they may have".to_owned()))
            }
            left if left < LEAST_GRANT => {
                (None, Some("looks under way may need the rest of the disk".to_owned()))
            }
            left => (Some((left / 2).max(LEAST_GRANT)), None),
        }
    }

    /// Returns the reason why no look begins, `Some(None)` if looks begin again, and `None` if that has not changed since
    /// the last call. While looks are under way no reason is returned, because their end may free the space.
    pub(in crate::fleet) fn held_back_news(&mut self) -> Option<Option<String>> {
        let held_back = &self.figures.held_back;
        if *held_back == self.reported || held_back.is_some() && !self.looks.is_empty() {
            return None;
        }
        self.reported.clone_from(held_back);
        Some(self.reported.clone())
    }
}
