-- Times are Unix milliseconds; an empty text or a zero time is one that is not
-- there.
CREATE TABLE projects (
	id         TEXT PRIMARY KEY,
	name       TEXT NOT NULL UNIQUE,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);

CREATE TABLE repos (
	id            TEXT PRIMARY KEY,
	project_id    TEXT NOT NULL,
	name          TEXT NOT NULL,
	path          TEXT NOT NULL,
	target_branch TEXT NOT NULL,
	setup         TEXT NOT NULL,
	cleanup       TEXT NOT NULL,
	copy_files    TEXT NOT NULL, -- a JSON list
	created_at    BIGINT NOT NULL,
	updated_at    BIGINT NOT NULL,
	UNIQUE (project_id, name)
);

CREATE TABLE tasks (
	id          TEXT PRIMARY KEY,
	project_id  TEXT NOT NULL,
	title       TEXT NOT NULL,
	description TEXT NOT NULL,
	status      TEXT NOT NULL,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL
);
CREATE INDEX tasks_of_project ON tasks (project_id, created_at DESC, id);
CREATE INDEX tasks_by_status ON tasks (project_id, status, created_at DESC, id);

CREATE TABLE attempts (
	id         TEXT PRIMARY KEY,
	task_id    TEXT NOT NULL,
	branch     TEXT NOT NULL,
	dir        TEXT NOT NULL UNIQUE,
	host       TEXT NOT NULL,    -- that has the folder
	removed    INTEGER NOT NULL, -- 1: the folder was taken away, the branch is there
	repos      TEXT NOT NULL,    -- a JSON list
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE INDEX attempts_of_task ON attempts (task_id, created_at DESC, id);

CREATE TABLE sessions (
	id            TEXT PRIMARY KEY,
	attempt_id    TEXT NOT NULL,
	executor      TEXT NOT NULL,
	variant       TEXT NOT NULL,
	agent_session TEXT NOT NULL,
	created_at    BIGINT NOT NULL,
	updated_at    BIGINT NOT NULL
);
CREATE INDEX sessions_of_attempt ON sessions (attempt_id, created_at DESC, id);

CREATE TABLE processes (
	id           TEXT PRIMARY KEY,
	attempt_id   TEXT NOT NULL,
	task_id      TEXT NOT NULL,
	session_id   TEXT NOT NULL,
	ordinal      BIGINT NOT NULL,  -- the event that made it: the order, whatever clocks say
	reason       TEXT NOT NULL,
	state        TEXT NOT NULL,
	executor     TEXT NOT NULL,
	variant      TEXT NOT NULL,
	prompt       TEXT NOT NULL,
	exit_code    INTEGER,
	failure      TEXT NOT NULL,
	tokens_in    BIGINT NOT NULL,
	tokens_out   BIGINT NOT NULL,
	cost         BIGINT NOT NULL,
	created_at   BIGINT NOT NULL,
	started_at   BIGINT NOT NULL,
	completed_at BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	host         TEXT NOT NULL,
	launched_at  BIGINT NOT NULL,  -- a runner was started for it
	owner        TEXT NOT NULL,    -- the runner that has claimed it
	lease_until  BIGINT NOT NULL,
	runner_pid   INTEGER NOT NULL,
	runner_born  TEXT NOT NULL,    -- tells the process from a later one with its number
	agent_pid    INTEGER NOT NULL, -- leads a process group
	agent_born   TEXT NOT NULL,
	stop         TEXT NOT NULL,    -- what was asked for: stop or force
	token        TEXT NOT NULL     -- digest of what the agent calls deskhand with
);
CREATE INDEX processes_of_attempt ON processes (attempt_id, ordinal);
CREATE INDEX processes_of_task ON processes (task_id, ordinal, state);
CREATE INDEX processes_by_state ON processes (state, ordinal);

CREATE TABLE turns (
	session_id  TEXT NOT NULL,
	entry_index BIGINT NOT NULL, -- from 0
	id          TEXT NOT NULL,
	process_id  TEXT NOT NULL,
	prompt      TEXT NOT NULL,
	summary     TEXT NOT NULL,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	PRIMARY KEY (session_id, entry_index)
);

CREATE TABLE queued (
	session_id TEXT PRIMARY KEY,
	attempt_id TEXT NOT NULL,
	message    TEXT NOT NULL,
	variant    TEXT NOT NULL,
	queued_at  BIGINT NOT NULL,
	discarded  TEXT NOT NULL -- why it will not run
);

CREATE TABLE once (
	scope      TEXT NOT NULL,
	key        TEXT NOT NULL,
	digest     TEXT NOT NULL, -- of what was asked for
	result     TEXT NOT NULL, -- JSON
	created_at BIGINT NOT NULL,
	PRIMARY KEY (scope, key)
);
CREATE INDEX once_by_time ON once (created_at);

-- Folders of attempts that are no more, until they are taken away.
CREATE TABLE leftovers (
	attempt_id TEXT PRIMARY KEY,
	host       TEXT NOT NULL,
	data       TEXT NOT NULL -- JSON
);
