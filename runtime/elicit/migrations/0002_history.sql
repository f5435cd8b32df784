-- What an attempt ever asked, and what ended before or after a time, without
-- reading all of the history.
CREATE INDEX requests_by_attempt ON requests (attempt, asked);
CREATE INDEX requests_by_end ON requests (ended_at);
