ALTER TABLE people ADD COLUMN guest INTEGER NOT NULL DEFAULT 0;    -- 1: knows only of projects that it is a member of
ALTER TABLE people_tokens ADD COLUMN projects TEXT NOT NULL DEFAULT ''; -- IDs, separated by spaces; empty: all that the person knows of
-- A project without members is open to everyone. The table of projects is another package's.
CREATE TABLE people_projects (
	project TEXT NOT NULL, -- its ID
	person  TEXT NOT NULL,
	PRIMARY KEY (project, person)
);
-- Who signs in with an identity provider. A subject is unique within its issuer, and never given to anyone else.
CREATE TABLE people_identities (
	issuer  TEXT NOT NULL,
	subject TEXT NOT NULL,
	person  TEXT NOT NULL,
	PRIMARY KEY (issuer, subject)
);
CREATE INDEX people_identities_person ON people_identities (person);
