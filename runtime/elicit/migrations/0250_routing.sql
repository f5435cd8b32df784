-- When a step of the request's routing is due, or someone else is on call.
ALTER TABLE requests ADD COLUMN route BIGINT; -- Unix milliseconds; NULL: never
CREATE INDEX requests_route ON requests (route) WHERE route IS NOT NULL;
-- Notifications to send. A row is written with the step that wants it, and deleted when it was sent.
CREATE TABLE request_notices (
	request TEXT NOT NULL,
	rev     BIGINT NOT NULL,            -- the request's revision that wants it
	person  TEXT NOT NULL,              -- empty: the ways that all share
	due     BIGINT NOT NULL,            -- Unix milliseconds
	holder  TEXT NOT NULL DEFAULT '',   -- the process that sends it
	claimed BIGINT NOT NULL DEFAULT 0,  -- until when; another process sends it after that
	tries   INTEGER NOT NULL DEFAULT 0,
	PRIMARY KEY (request, rev, person)
);
CREATE INDEX request_notices_due ON request_notices (due);
