-- What agents have consumed, one row for each turn of a process. Rows outlive their
-- task, so they name what they belong to.
CREATE TABLE run_usage (
	process_id    TEXT NOT NULL,
	turn          INTEGER NOT NULL,  -- from 1
	attempt_id    TEXT NOT NULL,
	task_id       TEXT NOT NULL,
	project_id    TEXT NOT NULL,
	task          TEXT NOT NULL,     -- its title
	project       TEXT NOT NULL,     -- its name
	executor      TEXT NOT NULL,
	agent_session TEXT NOT NULL,     -- the agent's own session; empty: unknown
	model         TEXT NOT NULL,     -- the one that consumed most; empty: unknown
	tokens_in     BIGINT NOT NULL,   -- with the cache
	tokens_out    BIGINT NOT NULL,
	cache_read    BIGINT NOT NULL,
	cache_write   BIGINT NOT NULL,
	cost          BIGINT NOT NULL,   -- millionths of a US dollar
	cost_from     TEXT NOT NULL,     -- agent, prices, or empty: unknown
	coverage      TEXT NOT NULL,     -- full, part, or empty: the agent reported nothing
	started_at    BIGINT NOT NULL,
	PRIMARY KEY (process_id, turn)
);
CREATE INDEX usage_of_attempt ON run_usage (attempt_id);
CREATE INDEX usage_of_project ON run_usage (project_id, started_at);
CREATE INDEX usage_by_time ON run_usage (started_at);
CREATE INDEX usage_of_session ON run_usage (agent_session);
INSERT INTO run_usage (process_id, turn, attempt_id, task_id, project_id, task, project, executor, agent_session, model,
	tokens_in, tokens_out, cache_read, cache_write, cost, cost_from, coverage, started_at)
SELECT p.id, 1, p.attempt_id, p.task_id, t.project_id, t.title, r.name, p.executor, '', '',
	p.tokens_in, p.tokens_out, 0, 0, p.cost, CASE WHEN p.cost > 0 THEN 'agent' ELSE '' END,
	CASE WHEN p.tokens_in + p.tokens_out > 0 THEN 'full' ELSE '' END, p.started_at
FROM processes p JOIN tasks t ON t.id = p.task_id JOIN projects r ON r.id = t.project_id
WHERE p.reason = 'agent' AND p.started_at > 0;
