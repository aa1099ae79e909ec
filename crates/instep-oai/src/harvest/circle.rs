//! Lists that come back to a part that was there before. PURE.

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash as _, Hasher as _},
};

use crate::response::OaiResponse;

/// Times that the records of one part come again with other tokens, until the list is taken for a circle: a repository
/// may repeat a part once or twice without harm.
const MOST_REPEATS: u32 = 3;

/// The parts of a list that were seen, in constant memory: one part is remembered, twice as long each time (Brent's way to
/// find a cycle).
#[derive(Debug)]
pub(crate) struct Circle {
    remembered: Option<PartKey>,
    /// Times that the remembered records came again.
    repeats: u32,
    since: u64,
    limit: u64,
}

/// The hashes by which a part is recognized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PartKey {
    /// That of the records; `None` if they have no identifiers.
    records: Option<u64>,
    with_token: u64,
}

impl Default for Circle {
    fn default() -> Self {
        Self { remembered: None, repeats: 0, since: 0, limit: 1 }
    }
}

impl Circle {
    /// Takes the next part; returns `true` if the same token was sent with the same records before, or the same records
    /// come again and again: some repositories make a new token for each answer.
    pub(crate) fn is_closed_by(&mut self, part: &OaiResponse) -> bool {
        let key = PartKey::of(part);
        if self.remembered.is_some_and(|seen| seen.with_token == key.with_token) {
            return true;
        }
        if key.records.is_some() && self.remembered.is_some_and(|seen| seen.records == key.records) {
            self.repeats += 1;
            if self.repeats == MOST_REPEATS {
                return true;
            }
        }
        if self.since == 0 {
            self.remembered = Some(key);
            self.repeats = 0;
            self.limit *= 2;
        }
        self.since = (self.since + 1) % self.limit;
        false
    }
}

impl PartKey {
    fn of(part: &OaiResponse) -> Self {
        let mut hasher = DefaultHasher::new();
        for record in &part.records {
            (&record.identifier, &record.datestamp).hash(&mut hasher);
        }
        let is_named = part.records.iter().any(|record| !record.identifier.is_empty());
        let records = is_named.then(|| hasher.finish());
        part.token.hash(&mut hasher);
        Self { records, with_token: hasher.finish() }
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

    #[test]
    fn o84_records_that_come_again_with_a_new_token_each_time_are_a_circle_too() {
        for length in [1, 2, 7, 40] {
            let mut circle = Circle::default();
            let found =
                (0..5_000).position(|step| circle.is_closed_by(&part(step % length, &step.to_string())));
            assert!(found.is_some_and(|at| at < 12 * length + 12), "{length} {found:?}");
        }
        // A part that is sent once more, and parts without records, are none.
        let mut circle = Circle::default();
        assert!((0..5_000).all(|step| !circle.is_closed_by(&part(step / 2, &step.to_string()))));
        let mut circle = Circle::default();
        let empty = |step: usize| OaiResponse { records: Vec::new(), ..part(0, &step.to_string()) };
        assert!((0..500).all(|step| !circle.is_closed_by(&empty(step))));
    }
}
