ALTER TABLE people ADD COLUMN quiet TEXT NOT NULL DEFAULT '';        -- hours of the week, as in 22:00-07:00; empty: none
ALTER TABLE people ADD COLUMN zone TEXT NOT NULL DEFAULT '';         -- time zone of the quiet hours
ALTER TABLE people ADD COLUMN quiet_except TEXT NOT NULL DEFAULT ''; -- urgency that disturbs all the same
ALTER TABLE people ADD COLUMN signed BIGINT NOT NULL DEFAULT 0;      -- the turn in which a browser signed in last; 0: none has
UPDATE people SET signed = turn;                                     -- of earlier versions, that is not known
CREATE TABLE people_rotas (
	name    TEXT PRIMARY KEY,
	text    TEXT NOT NULL,              -- a weekly table or a calendar
	url     TEXT NOT NULL DEFAULT '',   -- where the calendar comes from; empty: it was given as a file
	fetched BIGINT NOT NULL DEFAULT 0,  -- Unix milliseconds
	due     BIGINT NOT NULL DEFAULT 0,  -- when to fetch it again
	problem TEXT NOT NULL DEFAULT ''    -- why the last fetch failed; the text is the one before
);
