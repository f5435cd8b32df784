-- When an answer that its person can still take back takes effect.
ALTER TABLE requests ADD COLUMN held BIGINT; -- Unix milliseconds; NULL: none is held
CREATE INDEX requests_held ON requests (held) WHERE held IS NOT NULL;
