//! The columns that each engine reads. Their names are the same in all engines.

/// The columns of a [`Resource`](super::Resource), in the order in which each engine reads them.
macro_rules! resource_columns {
    () => {
        "key, file_length, mtime_ns, ctime_ns, inode, rehash, sets, uri,
         lastmod, length, digests, media_type, encoding, changefreq, links, file, since, changes"
    };
}
pub(super) use resource_columns;

/// The columns of a [`ChangeRecord`](super::ChangeRecord), in the order in which each engine reads them.
macro_rules! change_columns {
    () => {
        "sequence, datetime, kind, sets, uri,
         lastmod, length, digests, media_type, encoding, changefreq, links, before, patch"
    };
}
pub(super) use change_columns;
