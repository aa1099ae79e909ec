//! The tables of the record, through all their versions.

use instep_postgres::{TableStep, Tables};

/// The tables of the present version.
pub(in crate::record) const TABLES: Tables = Tables {
    steps: &[
        TableStep::Breaks(VERSION_1),
        TableStep::Adds(SEATS),
        TableStep::Adds(IN_STEP),
        TableStep::Adds(CAUSE),
    ],
};

/// `COLLATE "C"` is the order of bytes, as everywhere. Rows that are updated often leave room in their pages.
const VERSION_1: &str = r#"
CREATE SEQUENCE news;
CREATE TABLE worker (
    id bigint PRIMARY KEY, name text NOT NULL, url text, began bigint NOT NULL, beat bigint NOT NULL DEFAULT 0,
    claims bigint NOT NULL DEFAULT 0, running bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE TABLE source (
    name text COLLATE "C" PRIMARY KEY, definition text NOT NULL, folder text COLLATE "C" NOT NULL, from_file bigint NOT NULL,
    added bigint NOT NULL, paused bigint NOT NULL DEFAULT 0, approved bigint NOT NULL DEFAULT 0,
    wanted bigint NOT NULL DEFAULT 0, due bigint NOT NULL, "interval" bigint NOT NULL, failures bigint NOT NULL,
    quarantined bigint NOT NULL, sized_resources bigint, sized_bytes bigint, began bigint, ended bigint, exit_code bigint,
    summary text NOT NULL DEFAULT '', success bigint, checkpoint bigint, held bigint NOT NULL DEFAULT 0,
    bytes bigint NOT NULL DEFAULT 0, pending bigint NOT NULL DEFAULT 0, alerted text, worker bigint,
    epoch bigint NOT NULL DEFAULT 0, changed bigint NOT NULL DEFAULT nextval('news')
) WITH (fillfactor = 50);
CREATE INDEX source_by_folder ON source (folder);
CREATE INDEX source_by_change ON source (changed);
CREATE INDEX source_by_worker ON source (worker) WHERE worker IS NOT NULL;
CREATE TABLE look (
    source text COLLATE "C" NOT NULL, at bigint NOT NULL, exit_code bigint NOT NULL, lag bigint, held bigint NOT NULL,
    bytes bigint NOT NULL, pending bigint NOT NULL, changed bigint NOT NULL, transferred bigint NOT NULL,
    PRIMARY KEY (source, at)
);
CREATE TABLE survey (source text COLLATE "C" PRIMARY KEY, json text NOT NULL);
CREATE TABLE audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at bigint NOT NULL, who text NOT NULL, what text NOT NULL, source text
);
CREATE TABLE alert (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, at bigint NOT NULL, source text NOT NULL, url text NOT NULL,
    kind text NOT NULL, text text NOT NULL, worker bigint
);
"#;

/// Seats of workers at hosts, and lanes, which serialize the claims at a host and have its pause. An earlier version
/// of the program does not use them: its transfers are not counted, its looks have no host, and the seats of a worker
/// that it removes are removed with the worker.
const SEATS: &str = r#"
CREATE TABLE lane (
    origin text COLLATE "C" PRIMARY KEY, claims bigint NOT NULL DEFAULT 0, rest bigint NOT NULL DEFAULT 0,
    rest_number bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE TABLE seat (
    origin text COLLATE "C" NOT NULL, worker bigint NOT NULL REFERENCES worker ON DELETE CASCADE, held bigint NOT NULL,
    wanted bigint NOT NULL, turn bigint NOT NULL, PRIMARY KEY (origin, worker)
) WITH (fillfactor = 50);
CREATE INDEX seat_by_worker ON seat (worker);
ALTER TABLE source ADD COLUMN host text COLLATE "C";
CREATE INDEX source_by_host ON source (host) WHERE worker IS NOT NULL;
"#;

/// Earlier versions counted each look with exit code 0 as one that found the copy in step.
const IN_STEP: &str = "ALTER TABLE source ADD COLUMN in_step bigint NOT NULL DEFAULT 1;";

/// A worker of an earlier version leaves the cause of the look before its own, so readers use it with the exit code only.
const CAUSE: &str = "ALTER TABLE source ADD COLUMN cause text;";
