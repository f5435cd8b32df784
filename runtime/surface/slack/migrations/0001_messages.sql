CREATE TABLE slack_messages (
	request TEXT PRIMARY KEY,
	channel TEXT NOT NULL,   -- Slack's id of the channel or direct message
	ts      TEXT NOT NULL,   -- Slack's id of the message in it; empty: whether it was posted is not known yet
	begun   BIGINT NOT NULL, -- when posting began, in Unix milliseconds
	says    TEXT NOT NULL,   -- digest of what the message says
	final   INTEGER NOT NULL -- 1: it will not change any more
);
CREATE INDEX slack_messages_open ON slack_messages (final);
