-- What a host must have to take a queued process: a [wants] as JSON. Empty: it is queued for the host of its attempt alone.
ALTER TABLE processes ADD COLUMN wants TEXT NOT NULL DEFAULT '';
-- The address that the repository was cloned from, without a password; empty: there is none, or it is not known.
ALTER TABLE repos ADD COLUMN remote TEXT NOT NULL DEFAULT '';
-- Where a host has a repository, if not at the path of repos.
CREATE TABLE repo_places (
	repo_id TEXT NOT NULL,
	host    TEXT NOT NULL,
	path    TEXT NOT NULL,
	PRIMARY KEY (repo_id, host)
);
