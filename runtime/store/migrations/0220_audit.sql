CREATE TABLE audit (
	seq     BIGINT PRIMARY KEY, -- from 1, without gaps until the log is pruned
	at      BIGINT NOT NULL,    -- Unix milliseconds
	who     TEXT NOT NULL,      -- the person; local: the owner; agents: a program with the agents' token
	token   TEXT NOT NULL,      -- ID of the named token; empty: none
	host    TEXT NOT NULL,      -- name of the machine that made the change
	way     TEXT NOT NULL,      -- how the caller proved who it is, or the command
	address TEXT NOT NULL,      -- of the caller; empty: this machine
	action  TEXT NOT NULL,
	object  TEXT NOT NULL,      -- ID or name of what was changed
	outcome TEXT NOT NULL,
	detail  TEXT NOT NULL
);
CREATE INDEX audit_by_time ON audit (at);
-- While a row is here, rows of the log that are older may be deleted. It is here only within a transaction.
CREATE TABLE audit_pruning (
	before BIGINT NOT NULL
);
