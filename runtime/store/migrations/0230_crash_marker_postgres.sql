-- The row is lost whenever changes may be lost that did not wait for the disk: when the
-- server crashes, and on a replica that takes over.
CREATE UNLOGGED TABLE crash_marker (
	id INTEGER PRIMARY KEY
);
INSERT INTO crash_marker (id) VALUES (1);
