-- The state of one copy as the first version wrote it: tables and rows, as pg_dump --inserts shows them.
CREATE SCHEMA instep;
CREATE TABLE instep.beat (
    copy bigint NOT NULL,
    token text NOT NULL,
    beat bigint NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE instep.change (
    sequence bigint NOT NULL,
    copy bigint NOT NULL,
    change text NOT NULL,
    uri text NOT NULL,
    path text NOT NULL,
    length bigint,
    digests bytea NOT NULL,
    lastmod text,
    datetime text
);
ALTER TABLE instep.change ALTER COLUMN sequence ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME instep.change_sequence_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE instep.copy (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    next_id bigint DEFAULT 1 NOT NULL,
    token text,
    holder text,
    folder text,
    grp bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
ALTER TABLE instep.copy ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME instep.copy_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE instep.document (
    copy bigint NOT NULL,
    uri text NOT NULL COLLATE pg_catalog."C",
    etag text,
    last_modified text,
    digest bytea,
    at text,
    extra text
);
CREATE TABLE instep.gone (
    copy bigint NOT NULL,
    set_id bigint NOT NULL,
    uri text NOT NULL COLLATE pg_catalog."C",
    micros bigint NOT NULL
);
CREATE TABLE instep.held (
    copy bigint NOT NULL,
    uri text NOT NULL COLLATE pg_catalog."C",
    id bigint NOT NULL,
    sets bigint NOT NULL,
    length bigint NOT NULL,
    digests bytea NOT NULL,
    lastmod text,
    datetime text,
    etag text,
    media_type text,
    links text,
    path text NOT NULL COLLATE pg_catalog."C",
    name text COLLATE pg_catalog."C",
    racy boolean DEFAULT false NOT NULL,
    pack bigint,
    "offset" bigint,
    packed bigint
)
WITH (fillfactor='90');
CREATE TABLE instep.intent (
    id bigint NOT NULL,
    copy bigint NOT NULL,
    version bigint NOT NULL,
    operations bytea NOT NULL
);
ALTER TABLE instep.intent ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME instep.intent_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE instep.owed (
    copy bigint NOT NULL,
    set_id bigint NOT NULL,
    uri text NOT NULL COLLATE pg_catalog."C",
    change text NOT NULL,
    attempts bigint NOT NULL,
    why text NOT NULL,
    length bigint,
    digests bytea NOT NULL,
    lastmod text,
    datetime text,
    etag text,
    media_type text,
    links text,
    extra text
);
CREATE TABLE instep.pack (
    id bigint NOT NULL,
    copy bigint NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    bytes bigint,
    dead bigint DEFAULT 0 NOT NULL
);
ALTER TABLE instep.pack ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME instep.pack_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE instep.problem (
    copy bigint NOT NULL,
    run bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    count bigint NOT NULL,
    uri text,
    message text NOT NULL
);
CREATE TABLE instep.reached (
    copy bigint NOT NULL,
    minute bigint NOT NULL,
    at bigint NOT NULL,
    datetime bigint NOT NULL
);
CREATE TABLE instep.run (
    id bigint NOT NULL,
    copy bigint NOT NULL,
    started text NOT NULL,
    finished text,
    what text NOT NULL,
    exit_code bigint,
    summary text,
    source bigint
);
ALTER TABLE instep.run ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME instep.run_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE instep.set_of_resources (
    copy bigint NOT NULL,
    id bigint NOT NULL,
    uri text NOT NULL COLLATE pg_catalog."C",
    source bigint,
    datetime text,
    last_uri text,
    last_datetime text,
    last_change text,
    document text,
    "position" bigint DEFAULT 0 NOT NULL,
    newest text,
    leading_digest bytea
);
CREATE TABLE instep.setting (
    copy bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    value text NOT NULL
);
CREATE TABLE instep.source (
    id bigint NOT NULL,
    copy bigint NOT NULL,
    url text NOT NULL COLLATE pg_catalog."C"
);
ALTER TABLE instep.source ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME instep.source_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE instep.version (
    version bigint NOT NULL
);
INSERT INTO instep.beat VALUES (1, '4f1a43f90af026f96dd8c78cd01a8efc', 0);
INSERT INTO instep.copy OVERRIDING SYSTEM VALUE VALUES (1, '2eb9b906249c5d53dcd805afe56fdeaf', 3, NULL, 'process 7452 on host', 'ec31264d4cbe7fd78ca03611d15a2fef', 16);
INSERT INTO instep.document VALUES (1, 'http://127.0.0.1:5597/resourcesync/resourcelist.xml', NULL, 'Tue, 24 Nov 2026 02:27:05 GMT', '\x26118905d5e1bc0a1958e1cc0ceef1414b49741b74972c17eaec4f78c9be6e33', '2026-11-24T02:27:05.475381Z', NULL);
INSERT INTO instep.document VALUES (1, 'http://127.0.0.1:5597/resourcesync/changelist-000001.xml', NULL, 'Tue, 24 Nov 2026 02:27:05 GMT', NULL, '2026-11-24T02:27:05.475381Z', NULL);
INSERT INTO instep.document VALUES (1, 'http://127.0.0.1:5597/resourcesync/changelist.xml', NULL, 'Tue, 24 Nov 2026 02:27:05 GMT', NULL, '2026-11-24T02:27:05.475381Z', NULL);
INSERT INTO instep.held VALUES (1, 'http://127.0.0.1:5597/a.txt', 1, 1, 4, '\x02202c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806', '2026-11-24T02:27:04.401164Z', NULL, 'Tue, 24 Nov 2026 02:27:04 GMT', 'text/plain', NULL, 'a.txt', NULL, false, NULL, NULL, NULL);
INSERT INTO instep.held VALUES (1, 'http://127.0.0.1:5597/d/b%20c.txt', 2, 1, 4, '\x022027dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a', '2026-11-24T02:27:04.401164Z', NULL, 'Tue, 24 Nov 2026 02:27:04 GMT', 'text/plain', NULL, 'd/b c.txt', NULL, false, NULL, NULL, NULL);
INSERT INTO instep.owed VALUES (1, 0, 'http://127.0.0.1:5597/gone.txt', 'updated', 1, 'missing: the Source lists it and answers 404', 5, '\x02204b9f2c32577beb1ebc8ab2a1e226faaa9176a81cd4eedbaa22f8a0db919972b5', '2026-11-24T02:27:04.401164Z', NULL, NULL, 'text/plain', NULL, NULL);
INSERT INTO instep.problem VALUES (1, 1, 'missing', 1, 'http://127.0.0.1:5597/gone.txt', 'the Source lists it and answers 404');
INSERT INTO instep.reached VALUES (1, 29924787, 1795487226283353, 1795487225475381);
INSERT INTO instep.run OVERRIDING SYSTEM VALUE VALUES (1, 1, '2026-11-24T02:27:05.958431Z', '2026-11-24T02:27:06.280874Z', 'list', 3, 'nothing is held', 1);
INSERT INTO instep.set_of_resources VALUES (1, 0, 'http://127.0.0.1:5597/resourcesync/capabilitylist.xml', 1, '2026-11-24T02:27:05.475381Z', NULL, NULL, NULL, 'http://127.0.0.1:5597/resourcesync/changelist-000001.xml', 0, '2026-11-24T02:27:05.475381Z', '\xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855');
INSERT INTO instep.setting VALUES (1, 'url', 'http://127.0.0.1:5597/');
INSERT INTO instep.setting VALUES (1, 'way 1', '{"version":1,"way":"well-known"}');
INSERT INTO instep.setting VALUES (1, 'base', 'http://127.0.0.1:5597/');
INSERT INTO instep.setting VALUES (1, 'policy 0', '{"version":1,"deletes":false,"selection":"{\"sets\":[],\"include\":[],\"exclude\":[],\"types\":[],\"max_size\":null,\"since\":null,\"limit\":null,\"with_links\":[],\"only_links\":[],\"collections\":[],\"profiles\":[],\"prefer_types\":[],\"where_metadata\":null}"}');
INSERT INTO instep.setting VALUES (1, 'coverage 0', '{"version":1,"coverage":"complete","at":"2026-11-24T02:27:05.475381Z"}');
INSERT INTO instep.source OVERRIDING SYSTEM VALUE VALUES (1, 1, 'http://127.0.0.1:5597/');
INSERT INTO instep.version VALUES (1);
SELECT pg_catalog.setval('instep.change_sequence_seq', 1, false);
SELECT pg_catalog.setval('instep.copy_id_seq', 1, true);
SELECT pg_catalog.setval('instep.intent_id_seq', 1, true);
SELECT pg_catalog.setval('instep.pack_id_seq', 1, false);
SELECT pg_catalog.setval('instep.run_id_seq', 1, true);
SELECT pg_catalog.setval('instep.source_id_seq', 1, true);
ALTER TABLE ONLY instep.beat
    ADD CONSTRAINT beat_pkey PRIMARY KEY (copy);
ALTER TABLE ONLY instep.change
    ADD CONSTRAINT change_pkey PRIMARY KEY (copy, sequence);
ALTER TABLE ONLY instep.copy
    ADD CONSTRAINT copy_name_key UNIQUE (name);
ALTER TABLE ONLY instep.copy
    ADD CONSTRAINT copy_pkey PRIMARY KEY (id);
ALTER TABLE ONLY instep.document
    ADD CONSTRAINT document_pkey PRIMARY KEY (copy, uri);
ALTER TABLE ONLY instep.gone
    ADD CONSTRAINT gone_pkey PRIMARY KEY (copy, set_id, uri);
ALTER TABLE ONLY instep.held
    ADD CONSTRAINT held_pkey PRIMARY KEY (copy, uri);
ALTER TABLE ONLY instep.intent
    ADD CONSTRAINT intent_pkey PRIMARY KEY (copy, id);
ALTER TABLE ONLY instep.owed
    ADD CONSTRAINT owed_pkey PRIMARY KEY (copy, set_id, uri);
ALTER TABLE ONLY instep.pack
    ADD CONSTRAINT pack_copy_key_key UNIQUE (copy, key);
ALTER TABLE ONLY instep.pack
    ADD CONSTRAINT pack_pkey PRIMARY KEY (copy, id);
ALTER TABLE ONLY instep.problem
    ADD CONSTRAINT problem_pkey PRIMARY KEY (copy, run, kind);
ALTER TABLE ONLY instep.reached
    ADD CONSTRAINT reached_pkey PRIMARY KEY (copy, minute);
ALTER TABLE ONLY instep.run
    ADD CONSTRAINT run_pkey PRIMARY KEY (copy, id);
ALTER TABLE ONLY instep.set_of_resources
    ADD CONSTRAINT set_of_resources_copy_uri_key UNIQUE (copy, uri);
ALTER TABLE ONLY instep.set_of_resources
    ADD CONSTRAINT set_of_resources_pkey PRIMARY KEY (copy, id);
ALTER TABLE ONLY instep.setting
    ADD CONSTRAINT setting_pkey PRIMARY KEY (copy, name);
ALTER TABLE ONLY instep.source
    ADD CONSTRAINT source_copy_url_key UNIQUE (copy, url);
ALTER TABLE ONLY instep.source
    ADD CONSTRAINT source_pkey PRIMARY KEY (copy, id);
CREATE INDEX held_by_name ON instep.held USING btree (copy, "left"(COALESCE(name, path), 600));
