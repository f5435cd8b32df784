-- Texts that new tasks of a project begin with.
CREATE TABLE templates (
	project_id  TEXT NOT NULL,
	title       TEXT NOT NULL,
	description TEXT NOT NULL,
	PRIMARY KEY (project_id, title)
);
