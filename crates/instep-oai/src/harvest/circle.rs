//! Lists that come back to a part that was there before. PURE.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash as _, Hasher as _},
};

use crate::response::OaiResponse;

/// The parts of a list that were seen, in constant memory: one part is remembered, twice as long each time (Brent's way to
/// find a cycle).
#[derive(Debug)]
pub(crate) struct Circle {
    remembered: Option<u64>,
    since: u64,
    limit: u64,
}

impl Default for Circle {
    fn default() -> Self {
        Self { remembered: None, since: 0, limit: 1 }
    }
}

impl Circle {
    /// Takes the next part; returns `true` if the same token was sent with the same records before.
    pub(crate) fn is_closed_by(&mut self, part: &OaiResponse) -> bool {
        let mut hasher = DefaultHasher::new();
        part.token.hash(&mut hasher);
        part.records.iter().for_each(|record| record.identifier.hash(&mut hasher));
        let part = hasher.finish();
        if self.remembered == Some(part) {
            return true;
        }
        if self.since == 0 {
            self.remembered = Some(part);
            self.limit *= 2;
        }
        self.since = (self.since + 1) % self.limit;
        false
    }
}

#[cfg(test)]
mod tests {
    use super::Circle;
    use crate::response::{OaiRecord, OaiResponse};

    fn part(number: usize, token: &str) -> OaiResponse {
        let record = OaiRecord { identifier: number.to_string(), ..OaiRecord::default() };
        OaiResponse { token: Some(token.to_owned()), records: vec![record], ..OaiResponse::default() }
    }

    #[test]
    fn a_circle_of_any_length_is_found_and_a_long_list_is_none() {
        for (tail, length) in [(0, 1), (3, 1), (0, 2), (7, 13), (100, 40)] {
            let mut circle = Circle::default();
            let found = (0..5_000).position(|step| {
                let at = if step < tail { step } else { tail + (step - tail) % length };
                circle.is_closed_by(&part(at, "t"))
            });
            assert!(
                found.is_some_and(|at| at >= tail + length && at < 4 * (tail + length) + 4),
                "{tail} {length} {found:?}"
            );
        }
        let mut circle = Circle::default();
        assert!((0..5_000).all(|step| !circle.is_closed_by(&part(step, "always the same token"))));
    }
}
