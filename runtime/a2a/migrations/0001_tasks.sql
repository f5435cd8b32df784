CREATE TABLE a2a_tasks (
	id      TEXT PRIMARY KEY,
	context TEXT NOT NULL,
	skill   TEXT NOT NULL,   -- ask-a-person or run-task
	subject TEXT NOT NULL,   -- the request of the one, the attempt of the other
	late    INTEGER NOT NULL, -- 1: an answer that came too late for another task is this one's
	history TEXT NOT NULL,   -- the client's messages as JSON
	created BIGINT NOT NULL  -- Unix milliseconds
);
CREATE UNIQUE INDEX a2a_tasks_by_subject ON a2a_tasks (skill, subject, late);
CREATE INDEX a2a_tasks_by_context ON a2a_tasks (context, created);

CREATE TABLE a2a_pushes (
	task    TEXT NOT NULL,
	id      TEXT NOT NULL,
	config  TEXT NOT NULL, -- as the client gave it, as JSON
	legacy  INTEGER NOT NULL, -- 1: of protocol 0.3
	sent    TEXT NOT NULL, -- the state that was sent last
	PRIMARY KEY (task, id)
);
