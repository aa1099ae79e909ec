-- A record as version 1 of its tables has it, with a worker. Never edited.
CREATE SCHEMA instep_fleet;
SET search_path TO instep_fleet;
CREATE TABLE version (version bigint NOT NULL);
INSERT INTO version VALUES (1);
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
INSERT INTO worker (id, name, began, beat, running) VALUES (1, 'process 1 on one', 5, 7, 1);
INSERT INTO source (name, definition, folder, from_file, added, due, "interval", failures, quarantined, began, worker, epoch)
    VALUES ('letters', '{"name":"letters","url":"https://example.org/letters/","cadence":{"every":{"seconds":3600}},"follow":false,"delete":true,"max_delete":"5%","include":["*.pdf"],"priority":2,"approve":true}', 'letters', 0, 1, 1, 900, 0, 0, 5, 1, 3);
INSERT INTO look (source, at, exit_code, lag, held, bytes, pending, changed, transferred) VALUES ('letters', 4, 0, 60, 12, 3456, 0, 12, 3456);
