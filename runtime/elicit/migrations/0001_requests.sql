CREATE TABLE requests (
	id           TEXT PRIMARY KEY,
	status       TEXT NOT NULL,
	rank         INTEGER NOT NULL, -- of the priority: 0 low to 3 urgent
	asker        TEXT NOT NULL,
	asker_gone   INTEGER NOT NULL,
	asked        BIGINT NOT NULL,  -- the event that opened it: the order of asking, whatever clocks say
	deadline     BIGINT,           -- times are Unix milliseconds
	ended_at     BIGINT,           -- completed, or the deadline passed
	source       TEXT NOT NULL,    -- its name
	session      TEXT NOT NULL,
	conversation TEXT NOT NULL,
	attempt      TEXT NOT NULL,
	turn         TEXT NOT NULL,
	once         TEXT UNIQUE,      -- the key that was asked with
	digest       TEXT NOT NULL,    -- of who asks and what
	uncollected  INTEGER NOT NULL, -- 1: a late answer that nobody has fetched
	data         TEXT NOT NULL     -- the request as JSON
);
CREATE INDEX requests_by_status ON requests (status, deadline);
CREATE INDEX requests_by_time ON requests (asked);
CREATE INDEX requests_by_digest ON requests (digest, uncollected);
CREATE INDEX requests_by_turn ON requests (turn, status);
