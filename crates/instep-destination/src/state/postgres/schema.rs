//! The tables of states in PostgreSQL, through all versions. All copies of a database share the tables, and each
//! statement names one copy.

use instep_postgres::{TableStep, Tables};

/// The steps by which the tables are created and brought up to date.
pub(super) const TABLES: Tables = Tables { steps: &[TableStep::Breaks(VERSION_1), TableStep::Adds(SLICES)] };

/// `COLLATE "C"` is the order of bytes, which the interface of states requires. Tables whose rows are updated often
/// leave room in their pages.
const VERSION_1: &str = r#"
CREATE TABLE copy (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL UNIQUE,
    next_id bigint NOT NULL DEFAULT 1, token text, holder text, folder text, grp bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE TABLE beat (
    copy bigint PRIMARY KEY, token text NOT NULL, beat bigint NOT NULL
) WITH (fillfactor = 50);
CREATE TABLE held (
    copy bigint NOT NULL, uri text COLLATE "C" NOT NULL, id bigint NOT NULL, sets bigint NOT NULL,
    length bigint NOT NULL, digests bytea NOT NULL, lastmod text, datetime text, etag text, media_type text, links text,
    path text COLLATE "C" NOT NULL, name text COLLATE "C", racy boolean NOT NULL DEFAULT false, pack bigint,
    "offset" bigint, packed bigint, PRIMARY KEY (copy, uri)
) WITH (fillfactor = 90);
CREATE INDEX held_by_name ON held (copy, left(COALESCE(name, path), 600));
CREATE TABLE owed (
    copy bigint NOT NULL, set_id bigint NOT NULL, uri text COLLATE "C" NOT NULL, change text NOT NULL,
    attempts bigint NOT NULL, why text NOT NULL, length bigint, digests bytea NOT NULL, lastmod text, datetime text,
    etag text, media_type text, links text, extra text, PRIMARY KEY (copy, set_id, uri)
);
CREATE TABLE gone (
    copy bigint NOT NULL, set_id bigint NOT NULL, uri text COLLATE "C" NOT NULL, micros bigint NOT NULL,
    PRIMARY KEY (copy, set_id, uri)
);
CREATE TABLE pack (
    id bigint GENERATED ALWAYS AS IDENTITY, copy bigint NOT NULL, key text COLLATE "C" NOT NULL, bytes bigint,
    dead bigint NOT NULL DEFAULT 0, PRIMARY KEY (copy, id), UNIQUE (copy, key)
);
CREATE TABLE source (
    id bigint GENERATED ALWAYS AS IDENTITY, copy bigint NOT NULL, url text COLLATE "C" NOT NULL,
    PRIMARY KEY (copy, id), UNIQUE (copy, url)
);
CREATE TABLE set_of_resources (
    copy bigint NOT NULL, id bigint NOT NULL, uri text COLLATE "C" NOT NULL, source bigint, datetime text, last_uri text,
    last_datetime text, last_change text, document text, position bigint NOT NULL DEFAULT 0, newest text, leading_digest bytea,
    PRIMARY KEY (copy, id), UNIQUE (copy, uri)
);
CREATE TABLE document (
    copy bigint NOT NULL, uri text COLLATE "C" NOT NULL, etag text, last_modified text, digest bytea, at text, extra text,
    PRIMARY KEY (copy, uri)
);
CREATE TABLE setting (
    copy bigint NOT NULL, name text COLLATE "C" NOT NULL, value text NOT NULL, PRIMARY KEY (copy, name)
);
CREATE TABLE intent (
    id bigint GENERATED ALWAYS AS IDENTITY, copy bigint NOT NULL, version bigint NOT NULL, operations bytea NOT NULL,
    PRIMARY KEY (copy, id)
);
CREATE TABLE change (
    sequence bigint GENERATED ALWAYS AS IDENTITY, copy bigint NOT NULL, change text NOT NULL, uri text NOT NULL,
    path text NOT NULL, length bigint, digests bytea NOT NULL, lastmod text, datetime text, PRIMARY KEY (copy, sequence)
);
CREATE TABLE run (
    id bigint GENERATED ALWAYS AS IDENTITY, copy bigint NOT NULL, started text NOT NULL, finished text, what text NOT NULL,
    exit_code bigint, summary text, source bigint, PRIMARY KEY (copy, id)
);
CREATE TABLE problem (
    copy bigint NOT NULL, run bigint NOT NULL, kind text COLLATE "C" NOT NULL, count bigint NOT NULL, uri text,
    message text NOT NULL, PRIMARY KEY (copy, run, kind)
);
CREATE TABLE reached (
    copy bigint NOT NULL, minute bigint NOT NULL, at bigint NOT NULL, datetime bigint NOT NULL, PRIMARY KEY (copy, minute)
);
"#;

/// Large plans in slices, at most one of a copy at a time. The actions of a slice are not compressed, because they are
/// read once and are short already.
const SLICES: &str = r#"
CREATE TABLE plan (
    copy bigint PRIMARY KEY, number bigint NOT NULL, set_id bigint NOT NULL, version bigint NOT NULL,
    token text NOT NULL, sealed boolean NOT NULL DEFAULT false
);
CREATE TABLE slice (
    copy bigint NOT NULL, id bigint NOT NULL, turn bigint NOT NULL, total bigint NOT NULL, sharer bigint, claim bigint,
    done bytea, actions bytea NOT NULL, PRIMARY KEY (copy, id)
);
ALTER TABLE slice ALTER COLUMN actions SET STORAGE EXTERNAL;
CREATE INDEX slice_by_turn ON slice (copy, turn, id) WHERE sharer IS NULL;
CREATE TABLE share (
    copy bigint NOT NULL, plan bigint NOT NULL, sharer bigint NOT NULL, name text NOT NULL, beat bigint NOT NULL DEFAULT 0,
    grp bigint NOT NULL DEFAULT 0, ended boolean NOT NULL DEFAULT false, done bigint NOT NULL DEFAULT 0,
    created bigint NOT NULL DEFAULT 0, updated bigint NOT NULL DEFAULT 0, unchanged bigint NOT NULL DEFAULT 0,
    unverified bigint NOT NULL DEFAULT 0, bytes bigint NOT NULL DEFAULT 0, PRIMARY KEY (copy, sharer)
) WITH (fillfactor = 50);
CREATE TABLE failure (
    copy bigint NOT NULL, uri text COLLATE "C" NOT NULL, kind text NOT NULL, what text NOT NULL, explicable boolean NOT NULL,
    PRIMARY KEY (copy, uri)
);
"#;
