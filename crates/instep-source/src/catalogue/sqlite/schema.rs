//! The tables of the catalogue, through all versions.

use instep_store::database::Schema;

/// The file. With `FULL`, each commit waits for the disk: a recorded change may be published at once, so a power
/// failure must not lose it. A checkpoint of the write-ahead log is made every 2,000 pages of 8 KiB, and the log
/// keeps at most 64 MiB.
pub(super) const SCHEMA: Schema = Schema {
    // "inst", by which a catalogue is recognised.
    application_id: 0x696e_7374,
    steps: &STEPS,
    settings: "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
               PRAGMA cache_size = -8192; PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = 2000;
               PRAGMA journal_size_limit = 67108864;",
    has_unnumbered_files: false,
};

const STEPS: [&str; 5] = [
    "
CREATE TABLE resource (
    key BLOB NOT NULL PRIMARY KEY,
    file_length INTEGER, mtime_ns INTEGER, ctime_ns INTEGER, inode INTEGER, rehash INTEGER NOT NULL,
    sets INTEGER NOT NULL, uri TEXT NOT NULL,
    lastmod, length INTEGER, digests BLOB, media_type TEXT, encoding TEXT, changefreq TEXT, links TEXT,
    file BLOB, since INTEGER NOT NULL, changes INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE change (
    sequence INTEGER PRIMARY KEY,
    datetime INTEGER NOT NULL, kind INTEGER NOT NULL, sets INTEGER NOT NULL, uri TEXT NOT NULL,
    lastmod, length INTEGER, digests BLOB, media_type TEXT, encoding TEXT, changefreq TEXT, links TEXT
);
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    sequence INTEGER NOT NULL, datetime INTEGER, forgotten INTEGER NOT NULL, revision INTEGER NOT NULL,
    baselined INTEGER NOT NULL, clock INTEGER NOT NULL
);
INSERT INTO head VALUES (1, 0, NULL, 0, 0, 0, 0);
CREATE TABLE tally (number INTEGER PRIMARY KEY, resources INTEGER NOT NULL, bytes INTEGER NOT NULL);
CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
",
    "
ALTER TABLE change ADD COLUMN before BLOB;
ALTER TABLE change ADD COLUMN patch TEXT;
",
    "
CREATE TABLE version (
    uri TEXT NOT NULL, datetime INTEGER NOT NULL, gone INTEGER NOT NULL,
    lastmod, length INTEGER, digests BLOB, media_type TEXT, encoding TEXT, changefreq TEXT, links TEXT,
    PRIMARY KEY (uri, datetime)
) WITHOUT ROWID;
CREATE INDEX version_digests ON version (digests);
",
    // From here on each record has its own version; see `records`.
    r#"
UPDATE meta SET value = '["' || replace(CAST(value AS TEXT), ' ', '","') || '"]' WHERE name = 'algorithms';
UPDATE meta SET value = CAST('{"version":1,"record":' || CAST(value AS TEXT) || '}' AS BLOB);
"#,
    // Counts of changes by kind and hour are kept longer than the changes. The migration counts those that the log
    // still has.
    "
CREATE TABLE activity (
    hour INTEGER NOT NULL, kind INTEGER NOT NULL, changes INTEGER NOT NULL, PRIMARY KEY (hour, kind)
) WITHOUT ROWID;
INSERT INTO activity SELECT datetime / 3600000000, kind, count(*) FROM change GROUP BY 1, 2;
",
];
