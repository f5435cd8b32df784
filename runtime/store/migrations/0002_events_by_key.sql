-- The key comes first: a reader of a whole topic then goes on from its place in
-- the feed, and does not sort all that the topic ever had.
DROP INDEX events_of_key;
CREATE INDEX events_of_key ON events (key, topic, seq);
