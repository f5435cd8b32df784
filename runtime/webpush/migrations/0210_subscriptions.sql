-- Browsers that a person wants to be notified in.
CREATE TABLE push_subscriptions (
	endpoint   TEXT PRIMARY KEY,
	data       TEXT NOT NULL,  -- a subscription as JSON
	session    TEXT NOT NULL,  -- the session that subscribed; the subscription ends with it
	created_at BIGINT NOT NULL -- Unix milliseconds
);
