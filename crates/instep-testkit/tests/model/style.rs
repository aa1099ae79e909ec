//! The style of a generated Source: the documents that it publishes, and the attributes that it leaves out.

use crate::{draw::Draw, feature::Feature};

/// The version of the standard that a Source follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    V1_1,
    V1_0,
    V0_9,
    V0_5,
    DLib,
    Sitemap,
}

/// The frequency with which an attribute is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Written {
    Always,
    Sometimes,
    Never,
}

/// The form of a list of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Changes {
    None,
    /// One list that grows, is replaced, or keeps a number of changes.
    List,
    /// An index over lists.
    Index,
}

/// The fate of a list of changes when the next is published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keeps {
    /// Everything since the first publication.
    All,
    /// The changes since the Resource List.
    SinceInventory,
    /// The changes since the last publication.
    SinceLast,
    /// The last so many changes, or members of an index.
    Last(usize),
}

/// The smallest unit in which times are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Precision {
    Micros,
    Seconds,
    Days,
}

/// The style of one Source.
#[derive(Clone, Debug)]
pub(crate) struct Style {
    pub(crate) dialect: Dialect,
    pub(crate) precision: Precision,
    pub(crate) list: bool,
    /// The number of parts of the Resource List and the Resource Dump. With more than one there is an index.
    pub(crate) parts: usize,
    pub(crate) dump: bool,
    /// `true` if the Resource Dump offers the manifests beside its packages.
    pub(crate) contents: bool,
    pub(crate) changes: Changes,
    pub(crate) change_dump: bool,
    pub(crate) keeps: Keeps,
    pub(crate) archive: bool,
    pub(crate) at: Written,
    pub(crate) completed: Written,
    pub(crate) member_at: Written,
    pub(crate) from: Written,
    pub(crate) until: Written,
    pub(crate) member_from: Written,
    pub(crate) member_until: Written,
    pub(crate) datetime: Written,
    pub(crate) lastmod: Written,
    pub(crate) hash: Written,
    pub(crate) length: Written,
    pub(crate) up: Written,
    pub(crate) index: Written,
    pub(crate) shuffled: bool,
    pub(crate) duplicates: bool,
    pub(crate) same_length: bool,
    pub(crate) etag: bool,
    pub(crate) sets: usize,
    /// The prefix of the namespace.
    pub(crate) prefix: &'static str,
    /// The percentage of publications that renew the inventory.
    pub(crate) renews: u64,
    pub(crate) delete: bool,
    pub(crate) start: Start,
    pub(crate) breaks_documents: bool,
    pub(crate) breaks_resources: bool,
    pub(crate) loses: bool,
    /// `true` if only the inventory shows changes, and each change renews it.
    pub(crate) is_still: bool,
}

/// The URL that the Destination is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    Root,
    Description,
    CapabilityList,
    ResourceList,
}

impl Style {
    /// Draws the style of a Source, with the features that `allows` accepts.
    pub(crate) fn draw(draw: &mut Draw, allows: &dyn Fn(Feature) -> bool) -> Self {
        use Feature as F;
        // Each feature is drawn before it is looked up, so that a feature that is switched off does not change other
        // draws.
        let mut has = |feature, percent| {
            let drawn = draw.chance(percent);
            drawn && allows(feature)
        };
        let precision = match (has(F::Seconds, 30), has(F::Days, 10)) {
            (_, true) => Precision::Days,
            (true, _) => Precision::Seconds,
            _ => Precision::Micros,
        };
        let dialect = [
            (F::Dialect1_0, Dialect::V1_0, 10),
            (F::Dialect0_9, Dialect::V0_9, 5),
            (F::Dialect0_5, Dialect::V0_5, 5),
            (F::DialectDLib, Dialect::DLib, 5),
            (F::PlainSitemap, Dialect::Sitemap, 5),
        ];
        let drawn: Vec<_> =
            dialect.into_iter().filter(|(feature, _, percent)| has(*feature, *percent)).collect();
        let dialect = drawn.first().map_or(Dialect::V1_1, |(_, dialect, _)| *dialect);
        let no_inventory = has(F::NoInventory, 8);
        let dump = has(F::Dump, 30);
        let change_dump = has(F::ChangeDump, 30);
        let (replaced, gap, archive) = (has(F::ListReplaced, 35), has(F::Gap, 35), has(F::Archive, 35));
        let at_left_out = has(F::AtLeftOut, 25);
        let from_left_out = has(F::FromLeftOut, 25);
        let member_times_left_out = has(F::MemberTimesLeftOut, 35);
        let datetime_left_out = has(F::DatetimeLeftOut, 30);
        let parts_allowed = has(F::ListIndex, 40);
        let sets = has(F::Sets, 20);
        let (shuffled, duplicates) = (has(F::OutOfOrder, 15), has(F::Duplicates, 20));
        let (same_length, no_validators) = (has(F::SameLength, 20), has(F::NoValidators, 25));
        let (breaks_documents, breaks_resources) = (has(F::BrokenDocument, 40), has(F::BrokenResource, 30));
        let keep_deleted = has(F::KeepDeleted, 15);
        let late_inventory = has(F::LateInventory, 50);
        let some_datetimes = has(F::SomeDatetimes, 25);

        let may = |draw: &mut Draw| {
            draw.pick(&[Written::Always, Written::Always, Written::Sometimes, Written::Never])
        };
        let must = |left_out: bool, draw: &mut Draw| {
            let drawn = draw.pick(&[Written::Never, Written::Never, Written::Sometimes]);
            if left_out { drawn } else { Written::Always }
        };
        let mut style = Self {
            dialect,
            precision,
            list: !(no_inventory || dump && draw.chance(40)),
            parts: if parts_allowed { 2 + usize::try_from(draw.below(3)).unwrap() } else { 1 },
            dump: dump && !no_inventory,
            contents: draw.chance(50),
            changes: draw.pick(&[
                Changes::None,
                Changes::List,
                Changes::List,
                Changes::Index,
                Changes::Index,
            ]),
            change_dump,
            keeps: match (replaced, gap, draw.below(4)) {
                (_, true, 0 | 1) => Keeps::Last(1 + usize::try_from(draw.below(6)).unwrap()),
                (true, ..) => Keeps::SinceLast,
                (_, _, 2) => Keeps::SinceInventory,
                _ => Keeps::All,
            },
            archive,
            at: must(at_left_out, draw),
            completed: may(draw),
            member_at: may(draw),
            from: must(from_left_out, draw),
            until: may(draw),
            member_from: must(member_times_left_out, draw),
            member_until: must(member_times_left_out, draw),
            datetime: match (datetime_left_out, some_datetimes) {
                (true, _) => Written::Never,
                (_, true) => Written::Sometimes,
                _ => Written::Always,
            },
            lastmod: may(draw),
            hash: may(draw),
            length: may(draw),
            up: may(draw),
            index: may(draw),
            shuffled,
            duplicates,
            same_length,
            etag: !no_validators,
            sets: if sets { 2 + usize::try_from(draw.below(2)).unwrap() } else { 1 },
            prefix: draw.pick(&["rs", "rs", "r"]),
            renews: draw.pick(&[0, 20, 50, 100]),
            delete: !keep_deleted,
            start: draw.pick(&[
                Start::Root,
                Start::Root,
                Start::Description,
                Start::CapabilityList,
                Start::ResourceList,
            ]),
            breaks_documents,
            breaks_resources,
            loses: gap,
            is_still: false,
        };
        style.settle();
        style.is_still = style.changes == Changes::None && !style.change_dump && !late_inventory;
        if style.is_still {
            style.renews = 100;
        }
        style
    }

    /// Removes combinations that nobody publishes and no reader could understand.
    fn settle(&mut self) {
        if self.changes == Changes::None {
            self.change_dump &= self.list || self.dump;
        }
        if !self.list && !self.dump && self.changes == Changes::None && !self.change_dump {
            self.changes = Changes::List;
        }
        match self.dialect {
            Dialect::V1_1 => {}
            Dialect::V1_0 | Dialect::V0_9 => self.all_times_in_lastmod(),
            Dialect::V0_5 | Dialect::DLib => {
                self.all_times_in_lastmod();
                self.plain_lists();
            }
            Dialect::Sitemap => {
                self.plain_lists();
                (self.changes, self.list, self.sets) = (Changes::None, true, 1);
            }
        }
        if !self.list && !self.dump {
            // Without an inventory, changes that were dropped before the first run could never be known.
            self.keeps = Keeps::All;
        }
        if self.dialect == Dialect::Sitemap {
            self.start = Start::ResourceList;
        }
        // The Change List is found from the Resource List by its links upwards; from a member they lead over the index.
        if self.start == Start::ResourceList && (!self.list || self.sets > 1) {
            self.start = Start::Root;
        }
        if self.start == Start::ResourceList {
            (self.up, self.index) = (Written::Always, Written::Always);
        }
        if self.start == Start::CapabilityList && self.sets > 1 {
            self.start = Start::Description;
        }
        if self.shuffled {
            self.datetime = Written::Always;
            self.shuffled = self.dialect == Dialect::V1_1;
        }
        if self.lastmod == Written::Sometimes && self.datetime != Written::Always {
            // Without `datetime`, each `lastmod` would be taken for the time of a change, so there must be none.
            self.lastmod = Written::Never;
        }
    }

    fn all_times_in_lastmod(&mut self) {
        self.lastmod = Written::Always;
        self.datetime = Written::Never;
        (self.dump, self.change_dump, self.archive, self.shuffled) = (false, false, false, false);
        self.list |= self.changes == Changes::None;
    }

    fn plain_lists(&mut self) {
        (self.dump, self.change_dump, self.archive, self.shuffled) = (false, false, false, false);
        self.parts = 1;
        self.list |= self.changes == Changes::None;
        if self.changes == Changes::Index {
            self.changes = Changes::List;
        }
    }
}
