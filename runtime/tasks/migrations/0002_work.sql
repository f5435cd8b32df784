ALTER TABLE attempts ADD COLUMN work TEXT NOT NULL DEFAULT ''; -- JSON: where the work is since the last run; empty: nobody has looked
ALTER TABLE repos ADD COLUMN root TEXT NOT NULL DEFAULT '';    -- the first commit, to know a repository by that was moved
ALTER TABLE repos ADD COLUMN removed INTEGER NOT NULL DEFAULT 0; -- 1: new attempts cannot have it; old ones do
