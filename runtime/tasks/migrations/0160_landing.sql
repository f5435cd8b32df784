ALTER TABLE projects ADD COLUMN landing TEXT NOT NULL DEFAULT '';         -- whether agents may land: ask (also if empty), allow or never
ALTER TABLE projects ADD COLUMN commit_template TEXT NOT NULL DEFAULT ''; -- message of a landing; empty: the usual one
