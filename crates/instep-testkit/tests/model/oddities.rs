//! Further habits of a Source, of its server and of the operator of the copy. They are drawn separately from the other
//! habits, so that a seed keeps its documents and its runs when an oddity is added.

use crate::{
    draw::Draw,
    feature::Feature,
    habits::Habits,
    style::{Dialect, Keeps, Precision, Style, Written},
};

/// The oddities of one Source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Oddities {
    /// `true` if times are written in any zone, and with as few digits as they need.
    pub(crate) zones: bool,
    /// `true` if the entries of inventories are in any order.
    pub(crate) reorders: bool,
    /// `true` if a Resource List of one part is behind an index.
    pub(crate) lone_index: bool,
    /// `true` if some answers have weak tags, and some no validators.
    pub(crate) few_validators: bool,
    /// `true` if bodies are sent in chunks, without a length.
    pub(crate) chunked: bool,
    /// `true` if everything except packages is sent in gzip, even to clients that do not accept it.
    pub(crate) gzip_unasked: bool,
    /// The number of resources that the second set shares with the first one, or 0. If it is larger than 0, it replaces
    /// the one resource that the habits may have.
    pub(crate) shares: usize,
    /// `true` if resources move to another host, and perhaps back.
    pub(crate) moves: bool,
    /// `true` if a run before the judged one may be a process that is killed.
    pub(crate) kills: bool,
    /// `true` if some phases have a limit of resources.
    pub(crate) limits: bool,
    /// `true` if some phases select only some of the resources.
    pub(crate) selects: bool,
    /// `true` if files of the copy are removed or overwritten between runs, and repaired.
    pub(crate) damages: bool,
    /// `true` if the operator switches deletions on or off for each phase.
    pub(crate) toggles_delete: bool,
    /// `true` if the guard allows no deletion in some phases.
    pub(crate) guards: bool,
    /// `true` if the Source's clock jumps, together with that of its server.
    pub(crate) clock_steps: bool,
    /// `true` if each version states the `lastmod` of the version before.
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
            // The clock may jump only if answers state their time, by which a step back is noticed, and if all changes
            // have times or none has, because otherwise the order of events would be unknown.
            clock_steps: has(F::ClockStep, 10) && habits.dates && style.datetime != Written::Sometimes,
            restores_times: false,
        };
        oddities.damages = tastes.chance(12) && allows(F::DamagedCopy) && !oddities.clock_steps;
        // Restored times hide a change from inventories, so every change must be in a Change List with its time.
        let tells_times = (style.dialect, style.datetime) == (Dialect::V1_1, Written::Always);
        oddities.restores_times = tastes.chance(80)
            && allows(F::RestoredTimes)
            && tells_times
            && style.precision == Precision::Micros
            && (style.renews, style.loses, style.keeps) == (0, false, Keeps::All);
        oddities
    }
}
