//! Further habits of a Source, of its server and of the operator of the copy. They are drawn separately from the
//! others, so that a seed that is known to be difficult keeps its documents and its runs when one is added.

use crate::{
    draw::Draw,
    feature::Feature,
    habits::Habits,
    style::{Dialect, Keeps, Precision, Style, Written},
};

/// The oddities of one Source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Oddities {
    /// Times are written in any zone, and with as few digits as they need.
    pub(crate) zones: bool,
    /// Entries of inventories are in any order.
    pub(crate) reorders: bool,
    /// A Resource List of one part is behind an index.
    pub(crate) lone_index: bool,
    /// Some answers have weak tags, and some no validators.
    pub(crate) few_validators: bool,
    /// Bodies are sent in chunks, without a length.
    pub(crate) chunked: bool,
    /// Everything is sent in gzip to every client.
    pub(crate) gzip_unasked: bool,
    /// The number of resources that the second set shares with the first one, beyond the one that habits know of.
    pub(crate) shares: usize,
    /// Resources move to another host, and perhaps back.
    pub(crate) moves: bool,
    /// A run before the judged one is a process that is killed.
    pub(crate) kills: bool,
    /// Some phases have a limit of resources.
    pub(crate) limits: bool,
    /// Some phases select only some of the resources.
    pub(crate) selects: bool,
    /// Files of the copy are removed or overwritten, and repaired.
    pub(crate) damages: bool,
    /// Each phase has deletions or not.
    pub(crate) toggles_delete: bool,
    /// Some phases allow no deletion.
    pub(crate) guards: bool,
    /// The Source's clock jumps, with that of its server.
    pub(crate) clock_steps: bool,
    /// Each version states the `lastmod` of the one before.
    pub(crate) restores_times: bool,
}

impl Oddities {
    pub(crate) fn draw(
        draw: &mut Draw,
        tastes: &mut Draw,
        style: &Style,
        habits: &Habits,
        allows: &dyn Fn(Feature) -> bool,
    ) -> Self {
        use Feature as F;
        let more = usize::try_from(draw.within(1, 3)).unwrap();
        let mut has = |feature, percent| {
            let drawn = draw.chance(percent);
            drawn && allows(feature)
        };
        let shares = if has(F::SharedResources, 50) && style.sets > 1 { more } else { 0 };
        let is_plain = matches!(style.dialect, Dialect::V0_5 | Dialect::DLib | Dialect::Sitemap);
        let mut oddities = Self {
            zones: has(F::Zones, 20),
            reorders: has(F::ReorderedInventory, 20),
            lone_index: has(F::IndexOfOne, 15) && !is_plain,
            few_validators: has(F::FewValidators, 20),
            chunked: has(F::Chunked, 15),
            gzip_unasked: has(F::GzipUnasked, 10),
            shares,
            moves: has(F::MovingHost, 10) && shares == 0 && !habits.shares,
            kills: has(F::KilledRun, 8),
            limits: has(F::Limit, 10) && style.sets == 1,
            selects: tastes.chance(15) && allows(F::Selection),
            damages: false,
            toggles_delete: has(F::DeleteToggled, 15),
            guards: has(F::GuardedDeletion, 10),
            // Without the time of an answer it is unknown that a clock went back, and if some times are left out, the
            // order of events is unknown.
            clock_steps: has(F::ClockStep, 10) && habits.dates && style.datetime != Written::Sometimes,
            restores_times: false,
        };
        oddities.damages = tastes.chance(12) && allows(F::DamagedCopy) && !oddities.clock_steps;
        // Only the time of a change shows that it is one, so no inventory may have to.
        let tells_times = (style.dialect, style.datetime) == (Dialect::V1_1, Written::Always);
        oddities.restores_times = tastes.chance(80)
            && allows(F::RestoredTimes)
            && tells_times
            && style.precision == Precision::Micros
            && (style.renews, style.loses, style.keeps) == (0, false, Keeps::All);
        oddities
    }
}
