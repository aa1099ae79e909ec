//! The features of generated Sources.

/// A feature that a Source, its server or the runs may have. Each can be switched off to narrow down a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Feature {
    /// Members of a Change List Index carry no `from`, `until` or both.
    MemberTimesLeftOut,
    /// A Resource List carries no `at`.
    AtLeftOut,
    /// A Change List carries no `from`.
    FromLeftOut,
    /// A Change List is replaced by one that begins where it ended, under a Resource List that stays.
    ListReplaced,
    /// Changes are dropped before they could be read.
    Gap,
    /// Closed Change Lists go to an archive.
    Archive,
    /// No entry of a Change List carries a `datetime`.
    DatetimeLeftOut,
    /// Only some entries of a Change List carry a `datetime`.
    SomeDatetimes,
    /// Entries of a Change List are in any order; each has its time.
    OutOfOrder,
    /// Entries are listed twice.
    Duplicates,
    /// Times in whole seconds, so that several changes share one.
    Seconds,
    /// Times in whole days.
    Days,
    /// All states of a resource have the same length.
    SameLength,
    /// Resources without `ETag` and documents without either validator.
    NoValidators,
    /// No Resource List and no Resource Dump.
    NoInventory,
    /// A Resource Dump, alone or beside the Resource List.
    Dump,
    /// A Change Dump, alone or beside the Change List.
    ChangeDump,
    /// Resource List Indexes.
    ListIndex,
    /// Several sets of resources.
    Sets,
    /// Documents of the version 1.0.
    Dialect1_0,
    /// Documents of the draft 0.9.
    Dialect0_9,
    /// Documents of the draft 0.5.
    Dialect0_5,
    /// Documents as the D-Lib paper has them.
    DialectDLib,
    /// A plain Sitemap.
    PlainSitemap,
    /// A document answers 404 or 500, or is cut off.
    BrokenDocument,
    /// A resource answers 404 or 500.
    BrokenResource,
    /// The only inventory is older than the last changes, and nothing lists these.
    LateInventory,
    /// Nothing is deleted at the Destination.
    KeepDeleted,
    /// A run is stopped before its end, and the next one continues.
    StoppedRun,
    /// A run follows another one while nothing changes.
    RepeatedRun,
    /// URLs redirect to the documents and resources.
    Redirects,
    /// Documents are sent in gzip.
    Gzip,
    /// Answers state `Last-Modified`, and are conditional on it.
    LastModified,
    /// Answers do not state their time.
    NoDate,
    /// Times in days, or in seconds with equal lengths, and no digest.
    CoarseWithoutDigest,
    /// The server begins to refuse everything during a run, and the next run continues.
    RefusedRun,
    /// A run has nearly no time, and the next one continues.
    HurriedRun,
    /// A set is missing in the Source Description for a while.
    VanishingSet,
    /// Two sets name one resource.
    SharedResource,
    /// A broken document is half of one, another page, or empty.
    TruncatedDocument,
    /// Times are written in any zone, and with as few digits as they need.
    Zones,
    /// Entries of inventories are in any order.
    ReorderedInventory,
    /// An index has a single member.
    IndexOfOne,
    /// Some answers have weak tags, and some no validators.
    FewValidators,
    /// Bodies are sent in chunks, without a length.
    Chunked,
    /// Resources too are sent in gzip, even to clients that do not accept it.
    GzipUnasked,
    /// Two sets name several resources.
    SharedResources,
    /// All resources move to another host, and perhaps back.
    MovingHost,
    /// The process of a run is killed, and the next run continues.
    KilledRun,
    /// The operator limits the number of resources for a while.
    Limit,
    /// The operator selects other resources for a while.
    Selection,
    /// Somebody removes or overwrites files of the copy, and the next run repairs it.
    DamagedCopy,
    /// The operator switches deletions on and off.
    DeleteToggled,
    /// The operator allows no deletion for a while.
    GuardedDeletion,
    /// The clock of the Source jumps ahead or back.
    ClockStep,
    /// Each version states the `lastmod` of the one before.
    RestoredTimes,
}
