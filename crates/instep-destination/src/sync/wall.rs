use std::collections::BTreeMap;

use crate::fetch::Mismatch;

/// A page that stands in front of everything: a login, a captive portal (D31). It is known by one wrong body for most of what is
/// asked for.
#[derive(Debug, Default)]
pub(crate) struct Wall {
    answers: u64,
    wrong: BTreeMap<String, u64>,
}

impl Wall {
    /// Fewer answers tell nothing.
    const ENOUGH: u64 = 20;
    /// Different wrong bodies that are counted.
    const BODIES: usize = 64;

    /// Something came as it should.
    pub(crate) fn right(&mut self) {
        self.answers += 1;
    }

    /// Something else came.
    pub(crate) fn wrong(&mut self, mismatch: &Mismatch) {
        self.wrong_body(match mismatch {
            Mismatch::Length { found, .. } => format!("{found} bytes"),
            Mismatch::Digest { found, .. } => found.to_string(),
        });
    }

    /// This came where something else should.
    pub(crate) fn wrong_body(&mut self, body: String) {
        self.answers += 1;
        if self.wrong.len() < Self::BODIES || self.wrong.contains_key(&body) {
            *self.wrong.entry(body).or_default() += 1;
        }
    }

    /// What most answers are, where that is one wrong body.
    pub(crate) fn stands(&self) -> Option<&str> {
        let most = |count: u64| self.answers >= Self::ENOUGH && count * 2 > self.answers;
        self.wrong.iter().find(|(_, count)| most(**count)).map(|(body, _)| body.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_wrong_body_for_most_answers_is_a_wall_and_many_different_ones_are_not() {
        let (mut one, mut many) = (Wall::default(), Wall::default());
        for number in 0..Wall::ENOUGH {
            assert_eq!(one.stands(), None);
            one.wrong(&Mismatch::Length { found: 120, expected: number });
            many.wrong(&Mismatch::Length { found: number, expected: 120 });
        }
        assert_eq!((one.stands(), many.stands()), (Some("120 bytes"), None));
        (0..Wall::ENOUGH).for_each(|_| one.right());
        assert_eq!(one.stands(), None);
    }
}
