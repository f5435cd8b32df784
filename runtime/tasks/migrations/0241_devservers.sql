ALTER TABLE repos ADD COLUMN dev_server TEXT NOT NULL DEFAULT ''; -- command that serves an attempt's work; empty: none
-- Dev servers of attempts. A row stays when its server has ended, and tells why.
CREATE TABLE dev_servers (
	attempt_id TEXT PRIMARY KEY,
	host       TEXT NOT NULL,    -- on which it runs
	pid        BIGINT NOT NULL,
	born       TEXT NOT NULL,    -- start time of the process with that ID
	port       BIGINT NOT NULL,
	started_at BIGINT NOT NULL,
	ended      TEXT NOT NULL     -- why it ended; empty while it runs
);
