-- Images that prompts refer to by ID.
CREATE TABLE images (
	id         TEXT PRIMARY KEY,  -- SHA-256 of the bytes, in hex
	kind       TEXT NOT NULL,     -- png, jpeg, gif or webp
	data       TEXT NOT NULL,     -- base64
	size       BIGINT NOT NULL,   -- bytes
	created_at BIGINT NOT NULL
);
CREATE INDEX images_by_time ON images (created_at);
