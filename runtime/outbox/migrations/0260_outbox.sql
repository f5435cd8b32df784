-- Messages to people outside the pages: to send, sent lately, and given up.
CREATE TABLE outbox (
	id      TEXT PRIMARY KEY,            -- digest of what makes the message unique: it is stored once
	way     TEXT NOT NULL,               -- for example mail
	target  TEXT NOT NULL,               -- which address of the way; never the address itself
	shown   TEXT NOT NULL,               -- to whom, for people
	request TEXT NOT NULL,               -- the question that it is about; empty if there is none
	reason  TEXT NOT NULL,
	body    TEXT NOT NULL,               -- what to send, if it does not follow from the question
	state   TEXT NOT NULL,               -- waiting, sent, dead or dropped
	tries   INTEGER NOT NULL DEFAULT 0,
	created BIGINT NOT NULL,             -- Unix milliseconds, as all times here
	since   BIGINT NOT NULL,             -- the first try may begin; from then on counts how long it may take
	due     BIGINT NOT NULL,             -- the next try
	holder  TEXT NOT NULL DEFAULT '',    -- the process that is sending it
	until   BIGINT NOT NULL DEFAULT 0,   -- when that process counts as dead
	error   TEXT NOT NULL DEFAULT '',    -- why the last try failed, without addresses
	remote  TEXT NOT NULL DEFAULT '',    -- the receiving service's ID of the message
	closed  INTEGER NOT NULL DEFAULT 0,  -- 1: the end of the question needs no more messages
	ended   BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX outbox_due ON outbox (state, due);
CREATE INDEX outbox_request ON outbox (request);
-- Links in mails. A link answers one question in one way as one person.
CREATE TABLE outbox_links (
	hash     TEXT PRIMARY KEY, -- SHA-256 of the link's secret, which is stored nowhere
	request  TEXT NOT NULL,
	question TEXT NOT NULL,
	value    TEXT NOT NULL,
	person   TEXT NOT NULL,
	address  TEXT NOT NULL,    -- SHA-256 of the address that it was sent to
	created  BIGINT NOT NULL,
	expires  BIGINT NOT NULL,
	used     BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX outbox_links_expires ON outbox_links (expires);
