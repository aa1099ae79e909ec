//! The publications of a Source: each decides which changes its lists and segments have afterwards.

use super::{BEGINNING, SECOND, Segment, Set, Source};
use crate::{
    draw::Draw,
    style::{Changes, Keeps, Precision, Style},
};

impl Source {
    /// Makes the first publication.
    pub(super) fn begin(&mut self, draw: &mut Draw) {
        self.pass_time(draw);
        let (now, beginning) = (self.now, self.style.keeps == Keeps::All && draw.chance(50));
        for set in &mut self.sets {
            (set.inventory, set.dump, set.published, set.before) = (now, now, now, now);
            // Without an inventory, a copy can only be made from all changes since the beginning.
            let everything = beginning || !(self.style.list || self.style.dump);
            set.next_segment(if everything { BEGINNING } else { now });
        }
    }

    /// Publishes the changes, and a new inventory if it is to be `anew` or at random. `is_index` is `true` if the
    /// Resource List is behind an index.
    pub(crate) fn publish(&mut self, draw: &mut Draw, anew: bool, is_index: bool) {
        self.pass_time(draw);
        if is_index && self.style.precision == Precision::Seconds {
            self.leave_second();
        }
        let now = self.now;
        let Self { style, sets, .. } = self;
        for set in sets {
            if anew || draw.chance(style.renews) {
                set.inventory = now;
                // The dump may stay older than the list: it is read with the changes since then.
                if draw.chance(70) || anew || style.keeps == Keeps::SinceInventory || style.is_still {
                    set.dump = now;
                }
            }
            (set.before, set.published) = (set.published, now);
            match style.changes {
                Changes::None | Changes::List => renew_list(style, set, now, draw),
                Changes::Index => renew_index(style, set, draw),
            }
        }
        self.pass_time(draw);
    }

    /// Lets time pass until the second of the published inventory is over. An index of another inventory in that second
    /// would be the same document, although its parts are others (O12).
    fn leave_second(&mut self) {
        let published = self.sets.iter().map(|set| set.inventory).max().unwrap_or(BEGINNING);
        self.now = self.now.max((published.div_euclid(SECOND) + 1) * SECOND);
    }
}

fn renew_list(style: &Style, set: &mut Set, now: i64, draw: &mut Draw) {
    let from = match style.keeps {
        Keeps::All => set.segments[0].from,
        Keeps::SinceInventory => set.inventory,
        Keeps::SinceLast if style.loses && draw.chance(30) => now,
        Keeps::SinceLast => set.before,
        Keeps::Last(count) => {
            let events = set.changes(BEGINNING, now);
            let dropped = events.len().checked_sub(count + 1).map(|at| events[at].time);
            dropped.unwrap_or(set.segments[0].from).max(set.segments[0].from)
        }
    };
    if style.archive && from > set.segments[0].from {
        let number = set.archived.len();
        let start = set.archived.last().and_then(|last| last.until).unwrap_or(set.segments[0].from);
        if start < from {
            let name = format!("archived-{number}.xml");
            set.archived.push(Segment { name, from: start, until: Some(from) });
        }
    }
    set.segments[0].from = from;
}

fn renew_index(style: &Style, set: &mut Set, draw: &mut Draw) {
    if draw.chance(60) {
        // The open segment is closed at the last publication. Later changes are in the next one.
        let end = set.before;
        if let Some(open) = set.segments.last_mut().filter(|open| open.from < end) {
            open.until = Some(end);
            set.next_segment(end);
        }
    }
    let kept = match style.keeps {
        Keeps::All => return,
        Keeps::SinceInventory => {
            let inventory = set.inventory;
            set.segments.iter().filter(|one| one.until.is_none_or(|until| until > inventory)).count()
        }
        Keeps::SinceLast => 1,
        Keeps::Last(count) => count,
    };
    let dropped: Vec<_> = set.segments.drain(..set.segments.len().saturating_sub(kept)).collect();
    if style.archive {
        set.archived.extend(dropped);
    }
}
