ALTER TABLE projects ADD COLUMN forge TEXT NOT NULL DEFAULT '';     -- github, gitlab or gitea; empty: the remote's host says it
ALTER TABLE projects ADD COLUMN forge_url TEXT NOT NULL DEFAULT ''; -- address of its API; empty: that of the host
-- Pull requests of attempts, one for each repository.
CREATE TABLE pulls (
	attempt_id TEXT NOT NULL,
	repo       TEXT NOT NULL,   -- its name in the attempt
	host       TEXT NOT NULL,   -- that opened it, and looks at it
	state      TEXT NOT NULL,   -- open, merged or closed
	data       TEXT NOT NULL,   -- JSON: where it is, and what was seen there
	looked_at  BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (attempt_id, repo)
);
CREATE INDEX pulls_by_state ON pulls (state, looked_at);
