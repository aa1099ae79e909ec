//! The habits of a Source's server and of the operator of the copy. They are drawn separately from the style of the
//! documents, so that a seed keeps its documents when a habit is added.

use crate::{
    draw::Draw,
    feature::Feature,
    style::{Precision, Style, Written},
};

/// The habits of one server, and of the runs against it.
#[derive(Clone, Debug)]
pub(crate) struct Habits {
    /// `true` if some documents and resources are at other URLs, to which their own URLs redirect.
    pub(crate) redirects: bool,
    /// `true` if documents are sent in gzip to clients that accept it.
    pub(crate) gzip: bool,
    /// `true` if answers state `Last-Modified`, and are conditional on it.
    pub(crate) last_modified: bool,
    /// `true` if answers state their time (`Date`).
    pub(crate) dates: bool,
    /// `true` if a run before the judged one meets a server that refuses everything after some requests.
    pub(crate) refuses: bool,
    /// `true` if a run before the judged one has nearly no time.
    pub(crate) hurries: bool,
    /// `true` if the Source Description sometimes leaves out one of several sets.
    pub(crate) vanishes: bool,
    /// `true` if two sets name one resource.
    pub(crate) shares: bool,
    /// `true` if a broken document may be half of one, another page, or empty.
    pub(crate) truncates: bool,
}

impl Habits {
    /// Draws the habits of a server. Changes a style in which two states could not be distinguished.
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
            // Without a digest, two states within one day, or with one length within one second, would look the same.
            style.hash = Written::Always;
        }
        habits
    }
}
