-- Which items of other tools have become tasks.
CREATE TABLE imports (
	project_id  TEXT NOT NULL,
	source_key  TEXT NOT NULL,   -- the item
	task_id     TEXT NOT NULL,   -- may have been deleted
	title       TEXT NOT NULL,   -- as last imported
	description TEXT NOT NULL,   -- as last imported
	imported_at BIGINT NOT NULL,
	PRIMARY KEY (project_id, source_key)
);
CREATE INDEX imports_of_task ON imports (task_id);
