ALTER TABLE repos ADD COLUMN hooks TEXT NOT NULL DEFAULT ''; -- digest of the hooks that a person trusts; empty: none were there
