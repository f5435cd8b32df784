-- What people do while they review an attempt: which files they have seen, by
-- what was in them, and their comments.
CREATE TABLE viewed (
	attempt_id TEXT NOT NULL,
	path       TEXT NOT NULL,
	mark       TEXT NOT NULL,   -- of the content: another one has not been seen
	viewed_at  BIGINT NOT NULL,
	PRIMARY KEY (attempt_id, path)
);
CREATE TABLE comments (
	id         TEXT PRIMARY KEY,
	attempt_id TEXT NOT NULL,
	path       TEXT NOT NULL,
	old_side   INTEGER NOT NULL, -- 1: the lines are those of the file as it was
	first_line INTEGER NOT NULL,
	last_line  INTEGER NOT NULL,
	quote      TEXT NOT NULL,    -- the lines as they were when somebody wrote
	body       TEXT NOT NULL,
	rev        BIGINT NOT NULL,  -- one more for each change
	sent_at    BIGINT NOT NULL,  -- 0: a draft
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE INDEX comments_of_attempt ON comments (attempt_id, created_at, id);
