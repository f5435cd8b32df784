package store

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// Table is a table of the store. Its columns are in alphabetical order.
type Table struct {
	Name    string
	Columns []string
}

// Tables lists the tables of the schemas that the store was opened with, by name. It leaves
// out the tables of the schemas' versions and those of other programs in the database. After
// [Peek], it lists all tables.
func (tx *Tx) Tables(ctx context.Context) (all []Table, err error) {
	query := `SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY 1, 2`
	if _, ok := tx.db.dialect.(*postgresStore); ok {
		query = `SELECT c.table_name, c.column_name FROM information_schema.columns c
			JOIN information_schema.tables t USING (table_schema, table_name)
			WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE'
			ORDER BY c.table_name COLLATE "C", c.column_name COLLATE "C"`
	}
	own, err := tables(tx.db.schemas)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			return nil, fmt.Errorf("list tables: %w", err)
		}
		if strings.HasPrefix(table, versionsPrefix) || own != nil && !own[table] {
			continue
		}
		if n := len(all); n == 0 || all[n-1].Name != table {
			all = append(all, Table{Name: table})
		}
		last := &all[len(all)-1]
		last.Columns = append(last.Columns, column)
	}
	return all, rows.Err()
}

// Versions returns the version of each schema that the store has tables of.
func (tx *Tx) Versions(ctx context.Context) (map[string]int64, error) {
	query := "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'schema!_%' ESCAPE '!'"
	if _, ok := tx.db.dialect.(*postgresStore); ok {
		query = "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema() AND table_name LIKE 'schema!_%' ESCAPE '!'"
	}
	rows, err := tx.Query(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("list schemas: %w", err)
	}
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			rows.Close()
			return nil, fmt.Errorf("list schemas: %w", err)
		}
		room := strings.TrimPrefix(name, versionsPrefix)
		ours := tx.db.schemas == nil || slices.ContainsFunc(tx.db.schemas, func(s Schema) bool { return s.Name == room })
		if ours && roomName.MatchString(room) {
			names = append(names, name)
		}
	}
	if err := rows.Close(); err != nil {
		return nil, err
	}
	versions := map[string]int64{}
	for _, name := range names {
		var v int64
		if err := tx.QueryRow(ctx, "SELECT COALESCE(MAX(version_id), 0) FROM "+name).Scan(&v); err != nil {
			return nil, fmt.Errorf("read version of %s: %w", name, err)
		}
		versions[strings.TrimPrefix(name, versionsPrefix)] = v
	}
	return versions, nil
}

var createTable = regexp.MustCompile(`(?m)^CREATE TABLE (\w+)`)

// tables returns the names of the tables that the migrations create, or nil if there are no
// schemas.
func tables(schemas []Schema) (names map[string]bool, err error) {
	for _, r := range schemas {
		files, err := fs.Glob(r.Migrations, "*.sql")
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := fs.ReadFile(r.Migrations, file)
			if err != nil {
				return nil, fmt.Errorf("read migration %s: %w", file, err)
			}
			for _, match := range createTable.FindAllStringSubmatch(string(text), -1) {
				if names == nil {
					names = map[string]bool{}
				}
				names[match[1]] = true
			}
		}
	}
	return names, nil
}
