package store_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

func audited(t *testing.T, db *store.DB, f store.AuditFilter) []store.Record {
	t.Helper()
	all, err := db.AuditLog(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTheAuditLogCannotBeChanged(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db := open(t, place, notes)
		for _, object := range []string{"a", "b"} {
			if err := db.Audit(t.Context(), store.Record{Action: "x", Object: object}); err != nil {
				t.Fatal(err)
			}
		}
		statements := []string{"UPDATE audit SET who = 'eve'", "DELETE FROM audit WHERE seq = 1", "DELETE FROM audit"}
		if store.IsPostgres(place) {
			statements = append(statements, "TRUNCATE audit")
		}
		for _, s := range statements {
			err := db.Update(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Exec(t.Context(), s)
				return err
			})
			if err == nil || !strings.Contains(err.Error(), "append-only") {
				t.Errorf("%s: %v", s, err)
			}
		}
		if all := audited(t, db, store.AuditFilter{}); len(all) != 2 || all[0].Object != "a" || all[1].Seq != 2 {
			t.Errorf("the log is %+v", all)
		}
	})
}

func TestPruningTheAuditLogIsInIt(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db := open(t, place)
		for range 3 {
			if err := db.Audit(t.Context(), store.Record{Action: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		before := time.Now().Add(time.Hour)
		if n, err := db.PruneAudit(t.Context(), before); n != 3 || err != nil {
			t.Fatalf("PruneAudit = %d, %v", n, err)
		}
		all := audited(t, db, store.AuditFilter{})
		if len(all) != 1 || all[0].Action != "audit.pruned" || all[0].Seq != 4 || !strings.HasPrefix(all[0].Detail, "3 records before ") {
			t.Errorf("the log is %+v", all)
		}
		err := db.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(t.Context(), "DELETE FROM audit")
			return err
		})
		if err == nil {
			t.Error("after a pruning, rows can be deleted")
		}
	})
}

func TestARecordSaysWhoFromTheRequestOrTheProcess(t *testing.T) {
	db := open(t, t.TempDir())
	db.SetActor("local", "deskhand people add")
	ada := access.Caller{Level: access.Agents, How: access.ByNamed, Name: "ada", Token: "tok_1", Address: "10.0.0.7:99"}
	for _, one := range []struct {
		ctx  context.Context
		r    store.Record
		want store.Record
	}{
		{t.Context(), store.Record{}, store.Record{Who: "local", Way: "deskhand people add"}},
		{access.With(t.Context(), ada), store.Record{}, store.Record{Who: "ada", Token: "tok_1", Way: "named-token", Address: "10.0.0.7:99"}},
		{access.With(t.Context(), access.Caller{Level: access.People, How: access.ByKey}), store.Record{}, store.Record{Who: "local", Way: "key"}},
		{access.With(t.Context(), access.Caller{Level: access.Agents}), store.Record{}, store.Record{Who: "agents", Way: "http"}},
		{access.With(t.Context(), access.Caller{Address: "1.2.3.4:5"}), store.Record{Outcome: store.Refused}, store.Record{Who: "stranger", Way: "http", Address: "1.2.3.4:5", Outcome: store.Refused}},
		{t.Context(), store.Record{Who: "bob", Way: "slack", Object: "a\nb\x00" + strings.Repeat("ß", 900)}, store.Record{Who: "bob", Way: "slack", Object: "a b " + strings.Repeat("ß", 248)}},
	} {
		if err := db.Audit(one.ctx, one.r); err != nil {
			t.Fatal(err)
		}
		all := audited(t, db, store.AuditFilter{})
		got := all[len(all)-1]
		if one.want.Outcome == "" {
			one.want.Outcome = store.Done
		}
		one.want.Seq, one.want.At, one.want.Host = got.Seq, got.At, got.Host
		if got != one.want {
			t.Errorf("the record is %+v, want %+v", got, one.want)
		}
	}
	if all := audited(t, db, store.AuditFilter{Who: "Ada", Since: time.Now().Add(-time.Minute)}); len(all) != 1 {
		t.Errorf("of ada there is %+v", all)
	}
	if all := audited(t, db, store.AuditFilter{Since: time.Now().Add(time.Minute)}); len(all) != 0 {
		t.Errorf("of later there is %+v", all)
	}
}

func TestConcurrentRecordsAreNumbered(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		a, b := open(t, place, notes), open(t, place, notes)
		var all sync.WaitGroup
		for _, db := range []*store.DB{a, b} {
			all.Go(func() {
				for range 20 {
					if err := db.Audit(context.Background(), store.Record{Action: "x"}); err != nil {
						t.Error(err)
					}
					at, ok := db.Estimate()
					if !ok {
						t.Error("the store's clock is unknown")
					}
					if _, err := db.Apply(context.Background(), true, store.Plan{At: at, Changes: []store.Statement{db.Audited(context.Background(), store.Record{Action: "y"}, at)},
						Events: []store.Event{{Topic: "notes", Key: "k", Data: []byte("{}")}}}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		for i, r := range audited(t, a, store.AuditFilter{}) {
			if r.Seq != int64(i+1) {
				t.Fatalf("record %d has number %d", i+1, r.Seq)
			}
		}
	})
}
