CREATE TRIGGER audit_update BEFORE UPDATE ON audit
BEGIN
	SELECT RAISE(ABORT, 'the audit log is append-only');
END;
CREATE TRIGGER audit_delete BEFORE DELETE ON audit WHEN NOT EXISTS (SELECT 1 FROM audit_pruning WHERE OLD.at < before)
BEGIN
	SELECT RAISE(ABORT, 'the audit log is append-only');
END;
