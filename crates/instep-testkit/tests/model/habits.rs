//! The habits of a Source's server and of the operator of the copy. They are drawn separately from those of the
//! documents, so that a seed with documents that are known to be difficult keeps them when a habit is added.

use crate::{
    draw::Draw,
    feature::Feature,
    style::{Precision, Style, Written},
};

/// The habits of one server, and of the runs against it.
#[derive(Clone, Debug)]
pub(crate) struct Habits {
    /// Some documents and resources are at other URLs, to which theirs redirect.
    pub(crate) redirects: bool,
    /// Documents are sent in gzip to clients that accept it.
    pub(crate) gzip: bool,
    /// Answers state `Last-Modified`, and are conditional on it.
    pub(crate) last_modified: bool,
    /// Answers state their time.
    pub(crate) dates: bool,
    /// A run before the judged one meets a server that refuses everything after some requests.
    pub(crate) refuses: bool,
    /// A run before the judged one has nearly no time.
    pub(crate) hurries: bool,
    /// Now and then the Source Description leaves out one of several sets.
    pub(crate) vanishes: bool,
    /// Two sets name one resource.
    pub(crate) shares: bool,
    /// Documents that are broken may be halves, pages or nothing at all.
    pub(crate) truncates: bool,
}

impl Habits {
    /// Draws the habits of a seed's server. Removes from a style what could not be distinguished without them.
    pub(crate) fn draw(draw: &mut Draw, style: &mut Style, allows: &dyn Fn(Feature) -> bool) -> Self {
        use Feature as F;
        let mut has = |feature, percent| {
            let drawn = draw.chance(percent);
            drawn && allows(feature)
        };
        let habits = Self {
            redirects: has(F::Redirects, 15),
            gzip: has(F::Gzip, 25),
            last_modified: has(F::LastModified, 30),
            dates: !has(F::NoDate, 15),
            refuses: has(F::RefusedRun, 20),
            hurries: has(F::HurriedRun, 10),
            vanishes: has(F::VanishingSet, 30) && style.sets > 1,
            shares: has(F::SharedResource, 30) && style.sets > 1,
            truncates: has(F::TruncatedDocument, 50),
        };
        let is_coarse =
            style.precision == Precision::Days || style.precision == Precision::Seconds && style.same_length;
        if is_coarse && !(habits.dates && has(F::CoarseWithoutDigest, 50)) {
            // Two states of a day, or of a second with equal length, differ in nothing else.
            style.hash = Written::Always;
        }
        habits
    }
}
