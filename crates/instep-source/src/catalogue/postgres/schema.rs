//! The tables of catalogues in PostgreSQL, through all versions. All Sources of a schema share them; each statement names
//! one Source.

use instep_postgres::{TableStep, Tables};

/// The suffix of the schema name, because the same database may have tables of copies.
pub(super) const SCHEMA: &str = "_source";

/// The tables.
pub(super) const TABLES: Tables = Tables {
    steps: &[TableStep::Breaks(VERSION_1), TableStep::Adds(SHARED_ROWS), TableStep::Adds(HUB_ROWS)],
};

/// Keys are compared as bytes. URIs are found by their hash and then compared in full, because an entry of an index
/// may have only a third of a page. A version of a resource is called `memento`, because `version` has the version of
/// the tables. Tables with frequent updates leave free space in their pages.
const VERSION_1: &str = r#"
CREATE TABLE source (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE,
    token text, holder text, folder text, grp bigint NOT NULL DEFAULT 0,
    sequence bigint NOT NULL DEFAULT 0, datetime bigint, forgotten bigint NOT NULL DEFAULT 0,
    revision bigint NOT NULL DEFAULT 0, baselined bigint NOT NULL DEFAULT 0, clock bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE TABLE beat (
    source bigint PRIMARY KEY, token text NOT NULL, beat bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE resource (
    source bigint NOT NULL, key bytea NOT NULL,
    file_length bigint, mtime_ns bigint, ctime_ns bigint, inode bigint, rehash boolean NOT NULL,
    sets bigint NOT NULL, uri text COLLATE "C" NOT NULL,
    lastmod text, length bigint, digests bytea, media_type text, encoding text, changefreq text, links text,
    file bytea, since bigint NOT NULL, changes bigint NOT NULL, PRIMARY KEY (source, key)
) WITH (fillfactor = 90);
CREATE TABLE change (
    source bigint NOT NULL, sequence bigint NOT NULL, datetime bigint NOT NULL, kind bigint NOT NULL, sets bigint NOT NULL,
    uri text COLLATE "C" NOT NULL,
    lastmod text, length bigint, digests bytea, media_type text, encoding text, changefreq text, links text,
    before bytea, patch text, PRIMARY KEY (source, sequence)
);
CREATE TABLE memento (
    source bigint NOT NULL, uri text COLLATE "C" NOT NULL, datetime bigint NOT NULL, gone boolean NOT NULL,
    lastmod text, length bigint, digests bytea, media_type text, encoding text, changefreq text, links text
);
CREATE UNIQUE INDEX memento_of ON memento (source, md5(uri), datetime);
CREATE INDEX memento_digests ON memento (source, md5(digests));
CREATE TABLE tally (
    source bigint NOT NULL, number bigint NOT NULL, resources bigint NOT NULL, bytes bigint NOT NULL,
    PRIMARY KEY (source, number)
) WITH (fillfactor = 50);
CREATE TABLE activity (
    source bigint NOT NULL, hour bigint NOT NULL, kind bigint NOT NULL, changes bigint NOT NULL,
    PRIMARY KEY (source, hour, kind)
);
CREATE TABLE meta (
    source bigint NOT NULL, name text COLLATE "C" NOT NULL, value bytea NOT NULL, PRIMARY KEY (source, name)
);
"#;

/// Documents and messages for the servers that do not publish. A document has the number of its last write; no length
/// means that it was removed. Parts are found by the number of their document, so a reader never mixes two states.
const SHARED_ROWS: &str = r#"
ALTER TABLE source ADD COLUMN documents bigint NOT NULL DEFAULT 0,
    ADD COLUMN forgotten_documents bigint NOT NULL DEFAULT 0, ADD COLUMN messages bigint NOT NULL DEFAULT 0;
CREATE TABLE document (
    source bigint NOT NULL, name text COLLATE "C" NOT NULL, number bigint NOT NULL,
    length bigint, modified bigint NOT NULL, digest bytea NOT NULL, PRIMARY KEY (source, name)
);
CREATE UNIQUE INDEX document_number ON document (source, number);
CREATE INDEX document_removed ON document (source, number) WHERE length IS NULL;
CREATE TABLE document_part (
    source bigint NOT NULL, document bigint NOT NULL, part bigint NOT NULL, bytes bytea NOT NULL,
    PRIMARY KEY (source, document, part)
);
CREATE TABLE message (
    source bigint NOT NULL, number bigint NOT NULL, topic text COLLATE "C" NOT NULL, body bytea NOT NULL,
    PRIMARY KEY (source, number)
);
"#;

/// The rows of the hub. Subscriptions are found by hashes, because a callback may be too long for an index.
const HUB_ROWS: &str = r#"
CREATE TABLE subscription (
    source bigint NOT NULL, topic text COLLATE "C" NOT NULL, callback text COLLATE "C" NOT NULL, secret text,
    expires bigint NOT NULL, delivered bigint NOT NULL, failures bigint NOT NULL, failing_since bigint,
    next_attempt bigint NOT NULL
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX subscription_of ON subscription (source, md5(topic), md5(callback));
CREATE TABLE delivery (
    source bigint NOT NULL, sequence bigint NOT NULL, topic text COLLATE "C" NOT NULL, at bigint NOT NULL,
    body bytea NOT NULL, PRIMARY KEY (source, sequence)
);
CREATE TABLE hub_request (
    source bigint NOT NULL, number bigint GENERATED ALWAYS AS IDENTITY, form bytea NOT NULL,
    PRIMARY KEY (source, number)
);
"#;
