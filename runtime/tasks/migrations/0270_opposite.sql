-- What replaced the lines of a comment on the old file when it was written: a
-- digest of the new lines, or '' if it is unknown.
ALTER TABLE comments ADD COLUMN opposite TEXT NOT NULL DEFAULT '';
