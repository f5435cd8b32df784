ALTER TABLE processes ADD COLUMN person TEXT NOT NULL DEFAULT ''; -- who prompted it, as in attempts
ALTER TABLE queued ADD COLUMN person TEXT NOT NULL DEFAULT '';
UPDATE processes SET person = (SELECT a.person FROM attempts a WHERE a.id = attempt_id) WHERE EXISTS (SELECT 1 FROM attempts a WHERE a.id = attempt_id);
UPDATE queued SET person = (SELECT a.person FROM attempts a WHERE a.id = attempt_id) WHERE EXISTS (SELECT 1 FROM attempts a WHERE a.id = attempt_id);
