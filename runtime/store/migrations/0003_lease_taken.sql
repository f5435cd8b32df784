-- When a lease was taken, by the clock of who took it: one that lies ahead by more
-- than its own length was taken by a clock that is wrong, or was.
ALTER TABLE leases ADD COLUMN taken BIGINT NOT NULL DEFAULT 0; -- Unix milliseconds; 0: not known
