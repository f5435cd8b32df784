ALTER TABLE people ADD COLUMN mail TEXT NOT NULL DEFAULT ''; -- e-mail address for questions; empty: none
