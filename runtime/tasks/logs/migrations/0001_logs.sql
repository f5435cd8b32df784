-- A log is one channel of one execution process.
CREATE TABLE logs (
	id          BIGINT PRIMARY KEY,
	process_id  TEXT NOT NULL,
	channel     TEXT NOT NULL,
	next_index  BIGINT NOT NULL,  -- of the entry to come
	revision    BIGINT NOT NULL,  -- of the newest change
	first_index BIGINT NOT NULL,  -- of the oldest entry that is kept
	bytes       BIGINT NOT NULL,  -- of the entries that are kept
	spooled     BIGINT NOT NULL,  -- bytes of the spool file that are in the log
	ended       INTEGER NOT NULL, -- 1: nothing will be added
	UNIQUE (process_id, channel)
);

CREATE TABLE log_entries (
	log_id      BIGINT NOT NULL,
	entry_index BIGINT NOT NULL, -- from 0
	revision    BIGINT NOT NULL,
	size        BIGINT NOT NULL, -- bytes of entry
	entry       TEXT NOT NULL,   -- JSON
	PRIMARY KEY (log_id, entry_index)
);
CREATE INDEX log_entries_by_revision ON log_entries (log_id, revision);
