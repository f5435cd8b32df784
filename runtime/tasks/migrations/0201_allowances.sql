-- What a person has allowed in addition to a budget.
CREATE TABLE allowances (
	id         TEXT PRIMARY KEY,
	scope      TEXT NOT NULL,   -- attempt, project or day
	scope_key  TEXT NOT NULL,   -- the ID of the attempt or the project, or the day
	process_id TEXT NOT NULL,   -- that asked
	cost       BIGINT NOT NULL, -- millionths of a US dollar
	tokens     BIGINT NOT NULL,
	created_at BIGINT NOT NULL
);
CREATE INDEX allowances_of_scope ON allowances (scope, scope_key);
