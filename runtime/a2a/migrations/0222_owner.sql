ALTER TABLE a2a_tasks ADD COLUMN owner TEXT NOT NULL DEFAULT ''; -- name of the person whose token created it; empty: the installation's
