-- A record as version 5 wrote it. Never edited.
PRAGMA application_id = 0x696e666c;
PRAGMA user_version = 5;
CREATE TABLE source (
    name TEXT PRIMARY KEY, definition TEXT NOT NULL, folder TEXT NOT NULL, from_file INTEGER NOT NULL, added INTEGER NOT NULL,
    paused INTEGER NOT NULL DEFAULT 0, approved INTEGER NOT NULL DEFAULT 0, wanted INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL, interval INTEGER NOT NULL, failures INTEGER NOT NULL, quarantined INTEGER NOT NULL,
    sized_resources INTEGER, sized_bytes INTEGER,
    began INTEGER, ended INTEGER, exit_code INTEGER, summary TEXT NOT NULL DEFAULT '', success INTEGER, checkpoint INTEGER,
    held INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0, pending INTEGER NOT NULL DEFAULT 0, alerted TEXT
) WITHOUT ROWID;
CREATE INDEX source_by_folder ON source (folder);
CREATE TABLE look (
    source TEXT NOT NULL, at INTEGER NOT NULL, exit_code INTEGER NOT NULL, lag INTEGER,
    held INTEGER NOT NULL, bytes INTEGER NOT NULL, pending INTEGER NOT NULL, changed INTEGER NOT NULL, transferred INTEGER NOT NULL,
    PRIMARY KEY (source, at)
) WITHOUT ROWID;
CREATE TABLE audit (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, who TEXT NOT NULL, what TEXT NOT NULL, source TEXT);
CREATE TABLE alert (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, source TEXT NOT NULL, url TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL);
INSERT INTO source VALUES ('letters', '{"name":"letters","url":"https://example.org/letters/","cadence":{"every":{"seconds":3600}},"follow":false,"delete":true,"max_delete":"5%","include":["*.pdf"],"priority":2,"approve":true}',
    'letters', 1, 1700000000, 0, 1, 0, 1700604800, 900, 8, 1, 12, 3456, 1700000000, 1700000001, 4, 'Cannot reach it', 1699990000, 1699980000, 12, 3456, 0, 'quarantined');
INSERT INTO look VALUES ('letters', 1700000001, 4, 60, 12, 3456, 0, 0, 0);
INSERT INTO audit VALUES (1, 1700000000, 'ada', 'approve', 'letters');
INSERT INTO alert VALUES (1, 1700000001, 'letters', 'https://example.org/letters/', 'quarantined', 'Cannot reach it');
CREATE TABLE survey (source TEXT PRIMARY KEY, json TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO survey VALUES ('letters', '{"url":"https://example.org/letters/","documents":{"https://example.org/capabilitylist.xml":{"read":1700000000,"capability":"capabilitylist","is_index":false,"entries":1,"leads_to":[{"uri":"https://example.org/resourcelist.xml","capability":"resourcelist"}],"links":1,"broken":[{"rule":"NAV-1","severity":"error","count":1,"line":3,"found":"no up link","expected":"an up link"}]}},"left_out":0}');
CREATE TABLE worker (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, url TEXT, began INTEGER NOT NULL, beat INTEGER NOT NULL DEFAULT 0,
    claims INTEGER NOT NULL DEFAULT 0, running INTEGER NOT NULL DEFAULT 0
);
ALTER TABLE source ADD COLUMN worker INTEGER;
ALTER TABLE source ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE source ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE alert ADD COLUMN worker INTEGER;
ALTER TABLE source ADD COLUMN in_step INTEGER NOT NULL DEFAULT 1;
CREATE TABLE forgotten (changed INTEGER NOT NULL);
INSERT INTO forgotten VALUES (0);
CREATE TRIGGER source_forgotten AFTER DELETE ON source
    BEGIN UPDATE forgotten SET changed = MAX(changed, OLD.changed); END;
CREATE TRIGGER source_added AFTER INSERT ON source
    BEGIN UPDATE source SET changed = (SELECT changed + 1 FROM forgotten) WHERE name = NEW.name; END;
UPDATE source SET exit_code = 4, summary = 'https://example.org/letters/: it answers 401 Unauthorized', failures = 2, quarantined = 0, in_step = 0, due = 4000000000 WHERE name = 'letters';
