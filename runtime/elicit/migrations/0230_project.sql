-- The project that a request belongs to, and the person with a name that its asker works for; empty if there is none.
-- '-' is a request of an earlier version: until a sweep has read the project from its data, only those see it who see everything.
ALTER TABLE requests ADD COLUMN project TEXT NOT NULL DEFAULT '-';
ALTER TABLE requests ADD COLUMN person TEXT NOT NULL DEFAULT '';
CREATE INDEX requests_unplaced ON requests (id) WHERE project = '-';
