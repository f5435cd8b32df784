ALTER TABLE processes ADD COLUMN executor_places INTEGER NOT NULL DEFAULT 0; -- how many of its executor may run; 0: no limit
