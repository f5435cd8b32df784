CREATE TABLE rules (
	id       TEXT PRIMARY KEY,
	kind     TEXT NOT NULL,              -- allow or ask
	person   TEXT NOT NULL,              -- who made it
	owner    INTEGER NOT NULL,           -- 1: made as the owner of the installation, who needs no row in people
	project  TEXT NOT NULL,              -- its ID; empty: each project that the person knows of
	tool     TEXT NOT NULL,
	pattern  TEXT NOT NULL,
	made     BIGINT NOT NULL,            -- Unix milliseconds, as all times here
	expires  BIGINT NOT NULL DEFAULT 0,  -- 0: never
	uses     BIGINT NOT NULL DEFAULT 0,
	used     BIGINT NOT NULL DEFAULT 0,  -- 0: not used yet
	ended    BIGINT NOT NULL DEFAULT 0,  -- 0: it applies. The row stays, so that the history's rules keep their meaning
	ended_by TEXT NOT NULL DEFAULT ''    -- who revoked it; empty: its time was over
);
CREATE INDEX rules_ended ON rules (ended, tool);
