-- uncollected was 1 only for a late answer that nobody had fetched. It is 1 for
-- whatever a person said and no live call of the asker has got. Of the requests
-- that ended before, those whose asker was gone never reached it.
UPDATE requests SET uncollected = 1
	WHERE status = 'completed' AND asker_gone = 1 AND uncollected = 0
	AND (data LIKE '%"outcome":"accept"%' OR data LIKE '%"outcome":"decline"%' OR data LIKE '%"outcome":"cancel"%')
	AND data NOT LIKE '%"collectedAt"%';
CREATE INDEX requests_undelivered ON requests (source, asked) WHERE uncollected = 1;
