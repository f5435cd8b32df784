ALTER TABLE attempts ADD COLUMN person TEXT NOT NULL DEFAULT ''; -- with a name, who started it; empty: the owner of the installation
