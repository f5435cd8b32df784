ALTER TABLE people ADD COLUMN roles TEXT NOT NULL DEFAULT ''; -- separated by spaces; who is asked with --to role:NAME
