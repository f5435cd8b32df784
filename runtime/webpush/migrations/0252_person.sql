ALTER TABLE push_subscriptions ADD COLUMN person TEXT NOT NULL DEFAULT ''; -- who was signed in; empty: the owner, or not known
