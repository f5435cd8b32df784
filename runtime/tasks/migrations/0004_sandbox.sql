ALTER TABLE projects ADD COLUMN sandbox TEXT NOT NULL DEFAULT '';         -- a mode; empty: what the settings say
ALTER TABLE projects ADD COLUMN sandbox_network TEXT NOT NULL DEFAULT ''; -- on, off or hosts with commas; empty: what the settings say
ALTER TABLE attempts ADD COLUMN sandbox TEXT NOT NULL DEFAULT '';         -- JSON: what its last run was in; empty: no agent ran
