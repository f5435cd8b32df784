CREATE TABLE feed (
	id     INTEGER PRIMARY KEY,
	seq    BIGINT NOT NULL, -- of the newest event
	pruned BIGINT NOT NULL  -- of the newest event that was taken out; 0: none
);
INSERT INTO feed (id, seq, pruned) VALUES (1, 0, 0);

CREATE TABLE events (
	seq   BIGINT PRIMARY KEY,
	at    BIGINT NOT NULL, -- Unix milliseconds
	topic TEXT NOT NULL,
	key   TEXT NOT NULL,
	data  TEXT NOT NULL
);
CREATE INDEX events_of_key ON events (topic, key, seq);

CREATE TABLE leases (
	name   TEXT PRIMARY KEY,
	holder TEXT NOT NULL,
	data   TEXT NOT NULL,
	until  BIGINT NOT NULL -- Unix milliseconds
);
