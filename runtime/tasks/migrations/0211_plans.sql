-- How a task is planned. A task without a row has normal priority, no labels, and
-- waits for no other.
CREATE TABLE plans (
	task_id    TEXT PRIMARY KEY,
	priority   TEXT NOT NULL,
	labels     TEXT NOT NULL, -- a JSON list, sorted
	blocked_by TEXT NOT NULL  -- a JSON list of tasks of the same project
);
