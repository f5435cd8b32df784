-- What a person has allowed to commit although it looks like a secret: a
-- landing does not ask about the same line of the same file again.
CREATE TABLE allowed_secrets (
	attempt_id TEXT NOT NULL,
	print      TEXT NOT NULL,   -- stands for the line and its file
	created_at BIGINT NOT NULL,
	PRIMARY KEY (attempt_id, print)
);
