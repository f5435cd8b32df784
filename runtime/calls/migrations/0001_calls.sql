CREATE TABLE calls (
	id         TEXT PRIMARY KEY,
	tool       TEXT NOT NULL,
	state      TEXT NOT NULL,   -- running, ended, cancelled, lost
	owner      TEXT NOT NULL,   -- the keeper that runs it
	lease      BIGINT NOT NULL, -- until when the owner is known to be alive; times are Unix milliseconds
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	message    TEXT NOT NULL,   -- what it does or waits for, or why it was lost
	asks       TEXT NOT NULL,   -- a JSON list: ids of requests it waits for
	outcome    TEXT NOT NULL    -- JSON; empty until it has ended
);
CREATE INDEX calls_by_time ON calls (state, updated_at);
CREATE INDEX calls_by_owner ON calls (owner, state);
