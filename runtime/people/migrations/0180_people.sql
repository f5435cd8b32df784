CREATE TABLE people (
	name    TEXT PRIMARY KEY,
	folded  TEXT NOT NULL UNIQUE,      -- the name in lower case
	scopes  TEXT NOT NULL,             -- of the person's browsers, separated by spaces
	added   BIGINT NOT NULL,           -- Unix milliseconds, as all times here
	removed BIGINT NOT NULL DEFAULT 0, -- 0: not removed. The row stays, so that the history's names keep their meaning
	turn    BIGINT NOT NULL            -- grows when all sessions end; a session is valid in the turn it began in. No clock is compared
);
CREATE TABLE people_tokens (
	id      TEXT PRIMARY KEY,
	person  TEXT NOT NULL,
	hash    TEXT NOT NULL UNIQUE,      -- SHA-256 of the token, which is stored nowhere
	scopes  TEXT NOT NULL,
	created BIGINT NOT NULL,
	expires BIGINT NOT NULL DEFAULT 0, -- 0: never
	used    BIGINT NOT NULL DEFAULT 0, -- 0: not used yet; to the minute
	revoked BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX people_tokens_person ON people_tokens (person);
CREATE TABLE people_invites (
	hash    TEXT PRIMARY KEY,
	person  TEXT NOT NULL,
	created BIGINT NOT NULL,
	expires BIGINT NOT NULL,
	used    BIGINT NOT NULL DEFAULT 0  -- 0: not used yet
);
