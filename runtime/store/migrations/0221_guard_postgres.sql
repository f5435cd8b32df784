CREATE FUNCTION deskhand_audit_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'DELETE' THEN
		IF EXISTS (SELECT 1 FROM audit_pruning WHERE OLD.at < before) THEN
			RETURN OLD;
		END IF;
	END IF;
	RAISE EXCEPTION 'the audit log is append-only';
END $$;
CREATE TRIGGER audit_rows BEFORE UPDATE OR DELETE ON audit FOR EACH ROW EXECUTE FUNCTION deskhand_audit_guard();
CREATE TRIGGER audit_all BEFORE TRUNCATE ON audit FOR EACH STATEMENT EXECUTE FUNCTION deskhand_audit_guard();
