package people

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// each runs a test with the people of an empty store, with both databases.
func each(t *testing.T, test func(t *testing.T, r *Register, db *store.DB)) {
	storetest.Each(t, func(t *testing.T, place string) {
		db, err := store.Open(t.Context(), place, Schema())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		test(t, In(db), db)
	})
}

func code(err error) string {
	if f := fault.Of(err); f != nil {
		return f.Code
	}
	return ""
}

func added(t *testing.T, r *Register, name string) {
	t.Helper()
	if err := r.Add(t.Context(), name, nil); err != nil {
		t.Fatalf("Add(%s): %v", name, err)
	}
}

// Who gets the name of a removed person is another person. What others keep of the former one
// goes to a name that nobody can have, in the same transaction.
func TestANameIsRetiredWhenItIsUsedAgain(t *testing.T) {
	each(t, func(t *testing.T, r *Register, _ *store.DB) {
		added(t, r, "ada")
		if _, _, err := r.CreateToken(t.Context(), "ada", []access.Scope{access.Ask}, time.Time{}); err != nil {
			t.Fatal(err)
		}
		if err := r.Remove(t.Context(), "ada"); err != nil {
			t.Fatal(err)
		}
		refuse := errors.New("an agent still runs")
		var retired [][2]string
		again := func(fail error) error {
			return r.Admit(t.Context(), Newcomer{Name: "Ada"}, func(_ context.Context, _ *store.Tx, name, former string) error {
				retired = append(retired, [2]string{name, former})
				return fail
			})
		}
		if err := again(refuse); !errors.Is(err, refuse) {
			t.Errorf("Admit = %v, want %v", err, refuse)
		}
		if _, err := r.Person(t.Context(), "ada"); code(err) != NoPerson {
			t.Errorf("after a refusal, the person exists: %v", err)
		}
		if err := again(nil); err != nil {
			t.Fatal(err)
		}
		former := "ada (removed " + time.Now().UTC().Format(time.DateOnly) + ")"
		if want := [2]string{"ada", former}; len(retired) != 2 || retired[1] != want || CheckName(former) == nil {
			t.Errorf("retired %q, want %q twice", retired, want)
		}
		if all, err := r.Tokens(t.Context()); err != nil || len(all) != 1 || all[0].For != former {
			t.Errorf("the tokens are %+v, %v, want one of %s", all, err, former)
		}
		if err := r.Admit(t.Context(), Newcomer{Name: "eve"}, func(context.Context, *store.Tx, string, string) error { return refuse }); err != nil {
			t.Errorf("a new name is retired: %v", err)
		}
	})
}

func TestNamesOfPeople(t *testing.T) {
	for name, want := range map[string]string{
		"ada": "", "Ada.Lovelace": "", "ada@example.com": "", "a_b-c": "", "7": "",
		"": BadName, "local": BadName, "LOCAL": BadName, "link": BadName, "role:ops": BadName, "-x": BadName, "a b": BadName, "a/b": BadName,
		"ädä": BadName, "a\n": BadName, strings.Repeat("a", 65): BadName, "a,b": BadName,
	} {
		if err := CheckName(name); code(err) != want {
			t.Errorf("CheckName(%q) = %v, want %q", name, err, want)
		}
	}
}

func TestScopesAreRead(t *testing.T) {
	got, err := ParseScopes("docs, ask,docs")
	if want := []access.Scope{access.Ask, access.Docs}; err != nil || !slices.Equal(got, want) {
		t.Errorf("ParseScopes = %v, %v; want %v", got, err, want)
	}
	for _, bad := range []string{"", "all", "ask,", "ASK", "ask docs", "work", "work:*"} {
		if got, err := ParseScopes(bad); code(err) != BadScope {
			t.Errorf("ParseScopes(%q) = %v, %v; want %s", bad, got, err, BadScope)
		}
	}
}

func TestExpiriesAreRead(t *testing.T) {
	now := time.Date(2026, 11, 23, 6, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"": {}, "12h": now.Add(12 * time.Hour), "90d": now.AddDate(0, 0, 90), "90m": now.Add(90 * time.Minute),
		"2026-11-23": time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC), "2027-01-31T18:00:00Z": time.Date(2027, 1, 31, 18, 0, 0, 0, time.UTC),
	} {
		if got, err := ParseExpiry(text, now); err != nil || !got.Equal(want) {
			t.Errorf("ParseExpiry(%q) = %v, %v; want %v", text, got, err, want)
		}
	}
	for _, bad := range []string{"never", "-1h", "0s", "0d", "-3d", "2026-11-22", "2020-01-01T00:00:00Z", "2999-01-01", "3dd", "1000000h", "99999999999d"} {
		if got, err := ParseExpiry(bad, now); code(err) != BadTime {
			t.Errorf("ParseExpiry(%q) = %v, %v; want %s", bad, got, err, BadTime)
		}
	}
}

func TestATokenOpensItsScopesUntilItEnds(t *testing.T) {
	each(t, func(t *testing.T, r *Register, db *store.DB) {
		added(t, r, "ada")
		secret, made, err := r.CreateToken(t.Context(), "ADA", []access.Scope{access.Docs, access.Ask}, time.Time{})
		if err != nil || made.For != "ada" || !IsToken(secret) {
			t.Fatalf("CreateToken = %q, %+v, %v", secret, made, err)
		}
		c, until, err := r.Bearer(t.Context(), secret)
		if err != nil || c.Name != "ada" || c.Token != made.ID || !until.IsZero() || !slices.Equal(c.Scopes, []access.Scope{access.Ask, access.Docs}) {
			t.Errorf("Bearer = %+v, %v, %v", c, until, err)
		}
		all, err := r.Tokens(t.Context())
		if err != nil || len(all) != 1 || all[0].Used.IsZero() {
			t.Errorf("Tokens = %+v, %v; want one that was used", all, err)
		}
		if stored := everything(t, db); strings.Contains(stored, secret) || strings.Contains(stored, strings.TrimPrefix(secret, tokenPrefix)) {
			t.Error("the store has the token itself")
		}
		for _, wrong := range []string{"", "dht_", secret + "x", secret[:len(secret)-1], strings.ToLower(secret), hashOf(secret), made.ID} {
			if _, _, err := r.Bearer(t.Context(), wrong); code(err) != Unknown {
				t.Errorf("Bearer(%q): %v, want %s", wrong, err, Unknown)
			}
		}
		if _, err := r.Revoke(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Bearer(t.Context(), secret); code(err) != Revoked {
			t.Errorf("Bearer of a revoked token: %v", err)
		}
		if valid, _, err := r.Valid(t.Context(), made.ID); valid || err != nil {
			t.Errorf("Valid = %v, %v", valid, err)
		}
		if _, err := r.Revoke(t.Context(), "tok_x"); code(err) != NoToken {
			t.Errorf("Revoke(tok_x): %v", err)
		}
	})
}

// everything returns all texts in the tables of people.
func everything(t *testing.T, db *store.DB) string {
	t.Helper()
	var all strings.Builder
	err := db.View(t.Context(), func(tx *store.Tx) error {
		for _, query := range []string{"SELECT id || person || hash || scopes FROM people_tokens", "SELECT hash || person FROM people_invites", "SELECT key || data FROM events"} {
			rows, err := tx.Query(t.Context(), query)
			if err != nil {
				return err
			}
			for rows.Next() {
				var text string
				if err := rows.Scan(&text); err != nil {
					return err
				}
				all.WriteString(text + "\n")
			}
			rows.Close()
		}
		return nil
	})
	if err != nil || all.Len() == 0 {
		t.Fatal(err)
	}
	return all.String()
}

func TestATokenExpires(t *testing.T) {
	each(t, func(t *testing.T, r *Register, _ *store.DB) {
		added(t, r, "ada")
		secret, made, err := r.CreateToken(t.Context(), "ada", []access.Scope{access.Ask}, time.Now().Add(-time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Bearer(t.Context(), secret); code(err) != Expired || !strings.Contains(err.Error(), made.ID) {
			t.Errorf("Bearer: %v, want %s", err, Expired)
		}
		if valid, _, err := r.Valid(t.Context(), made.ID); valid || err != nil {
			t.Errorf("Valid = %v, %v", valid, err)
		}
	})
}

func TestARemovedPersonHasNothingLeft(t *testing.T) {
	each(t, func(t *testing.T, r *Register, _ *store.DB) {
		added(t, r, "ada")
		added(t, r, "bob")
		secret, _, err := r.CreateToken(t.Context(), "ada", []access.Scope{access.Ask}, time.Time{})
		link, _, err2 := r.Invite(t.Context(), "ada")
		later, _, err3 := r.Invite(t.Context(), "ada")
		name, turn, err4 := r.Accept(t.Context(), link)
		if err := errors.Join(err, err2, err3, err4); err != nil || name != "ada" {
			t.Fatal(name, err)
		}
		if _, ok, err := r.Session(t.Context(), "ada", turn); !ok || err != nil {
			t.Fatal("the session did not begin", err)
		}
		var also string
		forget := func(_ context.Context, _ *store.Tx, name string) error { also = name; return nil }
		failed := errors.New("cannot forget")
		if err := r.Remove(t.Context(), "ada", func(context.Context, *store.Tx, string) error { return failed }); !errors.Is(err, failed) {
			t.Fatalf("Remove = %v, want %v", err, failed)
		}
		if _, _, err := r.Bearer(t.Context(), secret); err != nil {
			t.Errorf("a removal that failed ended the token: %v", err)
		}
		if err := r.Remove(t.Context(), "ADA", forget); err != nil || also != "ada" {
			t.Fatalf("Remove = %v, and forgets what belongs to %q, want ada", err, also)
		}
		gone := func(when string) {
			t.Helper()
			if _, _, err := r.Bearer(t.Context(), secret); code(err) != Revoked {
				t.Errorf("%s, the token: %v", when, err)
			}
			if _, ok, err := r.Session(t.Context(), "ada", turn); ok || err != nil {
				t.Errorf("%s, the session is %v, %v", when, ok, err)
			}
			if _, _, err := r.Accept(t.Context(), later); code(err) != InviteUsed {
				t.Errorf("%s, the invitation: %v", when, err)
			}
		}
		gone("after the removal")
		all, err := r.List(t.Context())
		if err != nil || len(all) != 1 || all[0].Name != "bob" {
			t.Errorf("List = %+v, %v; want bob", all, err)
		}
		for _, err := range []error{r.Remove(t.Context(), "ada"), r.SignOut(t.Context(), "ada"), second(r.Invite(t.Context(), "ada")), second(r.CreateToken(t.Context(), "ada", Standard, time.Time{}))} {
			if code(err) != NoPerson || !strings.Contains(fault.Of(err).Hint, "bob") {
				t.Errorf("%v, want %s with the names that exist", err, NoPerson)
			}
		}
		added(t, r, "Ada") // another Ada
		gone("after another was added")
	})
}

func second[A, B any](_ A, _ B, err error) error { return err }

func TestNamesAreOneInAnyCase(t *testing.T) {
	each(t, func(t *testing.T, r *Register, _ *store.DB) {
		added(t, r, "Ada")
		if err := r.Add(t.Context(), "aDA", nil); code(err) != Exists {
			t.Errorf("Add(aDA): %v", err)
		}
	})
}

func TestAnInvitationWorksOnce(t *testing.T) {
	each(t, func(t *testing.T, r *Register, db *store.DB) {
		added(t, r, "ada")
		link, until, err := r.Invite(t.Context(), "ada")
		if err != nil || time.Until(until) > InviteTime {
			t.Fatal(until, err)
		}
		if strings.Contains(everything(t, db), link) {
			t.Error("the store has the invitation itself")
		}
		var won atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if _, _, err := r.Accept(context.WithoutCancel(t.Context()), link); err == nil {
					won.Add(1)
				} else if code(err) != InviteUsed {
					t.Errorf("Accept: %v", err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Errorf("%d of 8 used the same invitation", won.Load())
		}
		for _, wrong := range []string{"", "dhi_", link + "x", hashOf(link)} {
			if _, _, err := r.Accept(t.Context(), wrong); code(err) != InviteUsed {
				t.Errorf("Accept(%q): %v", wrong, err)
			}
		}
	})
}

func TestAnInvitationEnds(t *testing.T) {
	each(t, func(t *testing.T, r *Register, db *store.DB) {
		added(t, r, "ada")
		link, _, err := r.Invite(t.Context(), "ada")
		if err == nil {
			err = db.Update(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Exec(t.Context(), "UPDATE people_invites SET expires = ?", tx.Now.UnixMilli())
				return err
			})
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.Accept(t.Context(), link); code(err) != InviteUsed {
			t.Errorf("Accept: %v", err)
		}
	})
}

func TestSigningOutEndsSessionsAndKeepsTokens(t *testing.T) {
	each(t, func(t *testing.T, r *Register, _ *store.DB) {
		added(t, r, "ada")
		added(t, r, "bob")
		secret, _, err := r.CreateToken(t.Context(), "ada", []access.Scope{access.Ask}, time.Time{})
		first, _, err2 := r.Invite(t.Context(), "ada")
		unused, _, err4 := r.Invite(t.Context(), "ada")
		other, _, err5 := r.Invite(t.Context(), "bob")
		_, turn, err3 := r.Accept(t.Context(), first)
		if err := errors.Join(err, err2, err3, err4, err5, r.SignOut(t.Context(), "ada")); err != nil {
			t.Fatal(err)
		}
		if _, ok, err := r.Session(t.Context(), "ada", turn); ok || err != nil {
			t.Errorf("the session is %v, %v", ok, err)
		}
		if _, _, err := r.Accept(t.Context(), unused); code(err) != InviteUsed {
			t.Errorf("the invitation that was not used yet: %v", err)
		}
		if _, _, err := r.Accept(t.Context(), other); err != nil {
			t.Errorf("another person's invitation: %v", err)
		}
		if all, err := r.List(t.Context()); err != nil || all[0].Lacking == "" {
			t.Errorf("List = %+v, %v; want that no question reaches ada", all, err)
		}
		if _, _, err := r.Bearer(t.Context(), secret); err != nil {
			t.Errorf("the token: %v", err)
		}
		again, _, err := r.Invite(t.Context(), "ada")
		_, turn, err2 = r.Accept(t.Context(), again)
		if _, ok, err3 := r.Session(t.Context(), "ada", turn); !ok || errors.Join(err, err2, err3) != nil {
			t.Errorf("a new session is %v, %v", ok, errors.Join(err, err2, err3))
		}
	})
}

func TestWhoCanBeReached(t *testing.T) {
	each(t, func(t *testing.T, r *Register, _ *store.DB) {
		if all, err := r.List(t.Context()); err != nil || all == nil || len(all) != 0 {
			t.Errorf("List of nobody = %#v, %v", all, err)
		}
		added(t, r, "ada")
		if err := r.Add(t.Context(), "bot", []access.Scope{access.Docs}); err != nil {
			t.Fatal(err)
		}
		reach := func() (who string) {
			all, err := r.List(t.Context())
			for _, p := range all {
				if p.Reachable {
					who += p.Name + " "
				}
			}
			if err != nil || len(all) != 2 {
				t.Fatal(all, err)
			}
			return who
		}
		if who := reach(); who != "ada " {
			t.Errorf("reachable: %s", who)
		}
		_, made, err := r.CreateToken(t.Context(), "bot", []access.Scope{access.Answer}, time.Time{})
		if who := reach(); err != nil || who != "ada bot " {
			t.Errorf("with a token, reachable: %s, %v", who, err)
		}
		if _, err := r.Revoke(t.Context(), made.ID); err != nil {
			t.Fatal(err)
		}
		if who := reach(); who != "ada " {
			t.Errorf("after it was revoked, reachable: %s", who)
		}
	})
}

func TestChangingAPerson(t *testing.T) {
	each(t, func(t *testing.T, r *Register, db *store.DB) {
		added(t, r, "ada")
		roles, guest := []string{"ops"}, true
		if p, err := r.Change(t.Context(), "ADA", Change{Roles: &roles}); err != nil || !slices.Equal(p.Roles, roles) || !slices.Equal(p.Scopes, Standard) {
			t.Errorf("Change = %+v, %v; want the role, and the scopes of before", p, err)
		}
		if _, err := r.Change(t.Context(), "ada", Change{Guest: &guest, Scopes: []access.Scope{access.Docs}}); err != nil {
			t.Error(err)
		}
		if p, err := r.Person(t.Context(), "ada"); err != nil || !p.Guest || !slices.Equal(p.Roles, roles) || !slices.Equal(p.Scopes, []access.Scope{access.Docs}) {
			t.Errorf("the person is %+v, %v", p, err)
		}
		all, err := db.AuditLog(t.Context(), store.AuditFilter{})
		if err != nil || len(all) != 3 || all[2].Action != "person.changed" || all[2].Detail != "scopes docs, roles ops, guest" {
			t.Errorf("the audit log has %+v, %v", all, err)
		}
		bad := []string{"a b"}
		if _, err := r.Change(t.Context(), "ada", Change{Roles: &bad}); fault.Of(err) == nil || fault.Of(err).Code != BadName {
			t.Errorf("a bad role = %v", err)
		}
		if _, err := r.Change(t.Context(), "bob", Change{Guest: &guest}); fault.Of(err) == nil || fault.Of(err).Code != NoPerson {
			t.Errorf("nobody = %v", err)
		}
	})
}
