CREATE TABLE credentials (
	upstream   TEXT NOT NULL,
	principal  TEXT NOT NULL,   -- whose; empty: the project's
	rev        BIGINT NOT NULL, -- one more for each change
	changed_at BIGINT NOT NULL, -- times are Unix milliseconds
	sealed     TEXT NOT NULL,   -- the credential as JSON, encrypted, in base64
	PRIMARY KEY (upstream, principal)
);
CREATE TABLE sign_ins (
	state  TEXT PRIMARY KEY, -- a digest of it
	until  BIGINT NOT NULL,
	sealed TEXT NOT NULL     -- what the way back needs, encrypted, in base64
);
CREATE TABLE upstream_tools (
	upstream   TEXT NOT NULL,
	principal  TEXT NOT NULL,
	changed_at BIGINT NOT NULL,
	data       TEXT NOT NULL, -- the tools as JSON, in order
	PRIMARY KEY (upstream, principal)
);
CREATE TABLE oauth_clients (
	issuer   TEXT NOT NULL,
	redirect TEXT NOT NULL,
	sealed   TEXT NOT NULL, -- what the issuer registered, encrypted, in base64
	PRIMARY KEY (issuer, redirect)
);
