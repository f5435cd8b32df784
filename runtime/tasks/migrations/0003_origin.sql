ALTER TABLE processes ADD COLUMN origin TEXT NOT NULL DEFAULT '';        -- keyed digest of the environment and the settings that it was started with
ALTER TABLE processes ADD COLUMN made_with TEXT NOT NULL DEFAULT '';     -- JSON: the same by name, without values
ALTER TABLE processes ADD COLUMN places INTEGER NOT NULL DEFAULT 0;      -- it starts when fewer processes run on its host
ALTER TABLE processes ADD COLUMN asking_since BIGINT NOT NULL DEFAULT 0; -- it waits for a person, and so takes no place
