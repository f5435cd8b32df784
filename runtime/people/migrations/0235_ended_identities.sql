-- When the identity's person was removed, in Unix milliseconds; 0: not. The row stays, so that the identity does not come back as a new person.
ALTER TABLE people_identities ADD COLUMN ended BIGINT NOT NULL DEFAULT 0;
UPDATE people_identities SET ended = 1 WHERE person IN (SELECT name FROM people WHERE removed <> 0);
