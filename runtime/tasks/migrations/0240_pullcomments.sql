-- Review comments of a forge that were sent to an attempt's agent.
CREATE TABLE pull_comments (
	attempt_id TEXT NOT NULL,
	repo       TEXT NOT NULL,
	comment_id TEXT NOT NULL,   -- of the forge
	sent_at    BIGINT NOT NULL,
	PRIMARY KEY (attempt_id, repo, comment_id)
);
