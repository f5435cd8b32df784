-- How the machines of a store get the commits of a project's attempts: store, remote or off. Empty: store.
ALTER TABLE projects ADD COLUMN share TEXT NOT NULL DEFAULT '';
-- The newest commit that a machine has shared, for each repository of an attempt.
CREATE TABLE shared (
	attempt_id TEXT NOT NULL,
	repo_id    TEXT NOT NULL,
	way        TEXT NOT NULL,   -- store or remote
	tip        TEXT NOT NULL,   -- empty: nothing was shared yet
	failure    TEXT NOT NULL,   -- why newer commits were not shared; empty: there are none
	host       TEXT NOT NULL,
	shared_at  BIGINT NOT NULL,
	PRIMARY KEY (attempt_id, repo_id)
);
-- The git bundles of the way store. Each builds on the one before it.
CREATE TABLE shared_bundles (
	id         TEXT PRIMARY KEY,
	attempt_id TEXT NOT NULL,
	repo_id    TEXT NOT NULL,
	ordinal    BIGINT NOT NULL,
	tip        TEXT NOT NULL,
	size       BIGINT NOT NULL, -- bytes
	digest     TEXT NOT NULL,   -- SHA-256, in hexadecimal
	created_at BIGINT NOT NULL,
	UNIQUE (attempt_id, repo_id, ordinal)
);
-- The bytes of a bundle. Rows without a bundle are what a machine has left that died while it wrote them.
CREATE TABLE shared_chunks (
	bundle_id  TEXT NOT NULL,
	part       BIGINT NOT NULL,
	data       TEXT NOT NULL,   -- base64
	created_at BIGINT NOT NULL,
	PRIMARY KEY (bundle_id, part)
);
