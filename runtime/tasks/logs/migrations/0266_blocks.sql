-- Many entries that were written together, compressed. If log_entries has an entry with the
-- same index, it has replaced the one in the block.
CREATE TABLE log_blocks (
	log_id         BIGINT NOT NULL,
	first_index    BIGINT NOT NULL,
	last_index     BIGINT NOT NULL,
	first_revision BIGINT NOT NULL, -- the revisions of the entries follow one another
	last_revision  BIGINT NOT NULL,
	size           BIGINT NOT NULL, -- bytes of the entries
	data           BYTEA NOT NULL,  -- see block.go
	PRIMARY KEY (log_id, first_index)
);
CREATE INDEX log_blocks_by_revision ON log_blocks (log_id, first_revision);
