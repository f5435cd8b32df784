-- What was landed, brought up to date, or taken back. A row is there before the
-- first branch moves, so that what a killed program began can be finished.
CREATE TABLE landings (
	id         TEXT PRIMARY KEY,
	attempt_id TEXT NOT NULL,
	kind       TEXT NOT NULL,   -- land or update
	host       TEXT NOT NULL,   -- that has the repositories
	state      TEXT NOT NULL,   -- begun, done, undoing, undone or void
	data       TEXT NOT NULL,   -- JSON: the moves, and what was landed
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE INDEX landings_of_attempt ON landings (attempt_id, created_at DESC, id);
CREATE INDEX landings_by_state ON landings (state, created_at);
