-- A list of tasks is of the newest, of whatever context.
CREATE INDEX a2a_tasks_by_time ON a2a_tasks (created, id);
