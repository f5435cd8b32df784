package outbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// host is a process with its own connection to the store.
type host struct {
	*Box
	ahead atomic.Int64 // nanoseconds by which its clock is
}

func at(t *testing.T, place string) *host {
	t.Helper()
	db, err := store.Open(t.Context(), place, Schema())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	h := &host{Box: In(db)}
	db.SetClock(func() time.Time { return time.Now().Add(time.Duration(h.ahead.Load())) })
	return h
}

func (h *host) put(t *testing.T, all ...New) {
	t.Helper()
	if _, err := h.Put(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
}

// run sends with the given way until the test ends or stop is called.
func (h *host) run(t *testing.T, send func(ctx context.Context, m Message) (string, error)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); h.Run(ctx, Options{Ways: []Way{{Name: "mail", Send: send}}}) }()
	stop = sync.OnceFunc(func() { cancel(); <-done })
	t.Cleanup(stop)
	return stop
}

func (h *host) one(t *testing.T, id string) Message {
	t.Helper()
	all, err := h.List(t.Context(), Waiting, Sent, Dead, Dropped)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if m.ID == id {
			return m
		}
	}
	t.Fatalf("no message %s in %+v", id, all)
	return Message{}
}

func (h *host) becomes(t *testing.T, id string, state State) (m Message) {
	t.Helper()
	waittest.Until(t, id+" becomes "+string(state), func() (bool, any) { m = h.one(t, id); return m.State == state, m })
	return m
}

func mail(once string) New {
	return New{Once: once, Way: "mail", To: "ada", Request: "elc_1", Reason: "asked"}
}

// Two hosts store each message twice and send with two senders. Each message is sent once.
func TestEachMessageIsSentOnceByOneHost(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		hosts := []*host{at(t, place), at(t, place)}
		var mu sync.Mutex
		sent := map[string]int{}
		for _, h := range hosts {
			h.run(t, func(_ context.Context, m Message) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				sent[m.ID]++
				return "", nil
			})
		}
		const messages = 40
		var putting sync.WaitGroup
		for _, h := range hosts {
			putting.Go(func() {
				for i := range messages {
					if _, err := h.Put(t.Context(), mail(fmt.Sprint(i))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		putting.Wait()
		waittest.Until(t, "all are sent", func() (bool, any) {
			counts, err := hosts[0].Counts(t.Context())
			return err == nil && counts["mail"][Sent] == messages, counts
		})
		mu.Lock()
		defer mu.Unlock()
		for id, n := range sent {
			if n != 1 {
				t.Errorf("%s was sent %d times", id, n)
			}
		}
		if len(sent) != messages {
			t.Errorf("%d messages were sent, want %d", len(sent), messages)
		}
	})
}

// A process that dies between sending and recording leaves a claim. Another host sends the
// message again when the claim has ended, with the same ID.
func TestAMessageOfADeadProcessIsSentAgainWithTheSameID(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		dead, living := at(t, place), at(t, place)
		dead.put(t, mail("q"))
		m, _, err := dead.next(t.Context(), "mail", "", "dead")
		if err != nil || m == nil || m.ID != ID("q") {
			t.Fatalf("next = %+v, %v", m, err)
		}
		if again, due, err := living.next(t.Context(), "mail", "", "living"); err != nil || again != nil || due.IsZero() {
			t.Fatalf("while it is claimed: %+v, %v, %v; want none and a time", again, due, err)
		}
		err = dead.db.Update(t.Context(), func(tx *store.Tx) error { // as if the time were over
			_, err := tx.Exec(t.Context(), "UPDATE outbox SET until = ?", tx.Now.Add(-time.Second).UnixMilli())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := living.next(t.Context(), "mail", "", "living")
		if err != nil || again == nil || again.ID != m.ID || again.Tries != 2 {
			t.Fatalf("afterwards: %+v, %v; want it for the second time", again, err)
		}
		if state, err := dead.finish(t.Context(), m, "", nil); err != nil || state != "" {
			t.Errorf("the process that lost its claim recorded %q, %v", state, err)
		}
		if _, err := living.finish(t.Context(), again, "", nil); err != nil || living.one(t, m.ID).State != Sent {
			t.Errorf("afterwards it is %+v, %v", living.one(t, m.ID), err)
		}
	})
}

// A claim by a clock that was set back since does not last for ever.
func TestAClaimFromTheFutureIsNotInForce(t *testing.T) {
	h := at(t, t.TempDir())
	h.put(t, mail("q"))
	h.ahead.Store(int64(10 * time.Hour))
	if m, _, err := h.next(t.Context(), "mail", "", "dead"); err != nil || m == nil {
		t.Fatalf("next = %+v, %v", m, err)
	}
	h.ahead.Store(0)
	if m, _, err := h.next(t.Context(), "mail", "", "living"); err != nil || m == nil {
		t.Errorf("next = %+v, %v; want the message", m, err)
	}
}

func TestFailuresAreRepeatedOrFinal(t *testing.T) {
	h := at(t, t.TempDir())
	answers := map[string]error{
		ID("final"): Final(errors.New("550 no such user\x1b[31m")), ID("over"): ErrOver, ID("away"): errors.New("connection refused"),
		ID("busy"): &Failure{Err: errors.New("429"), After: time.Hour}, ID("fine"): nil, ID("panics"): errors.New("panic"),
	}
	h.run(t, func(_ context.Context, m Message) (string, error) {
		if m.ID == ID("panics") {
			panic("ouch")
		}
		return "remote-1", answers[m.ID]
	})
	for once := range map[string]bool{"final": true, "over": true, "away": true, "busy": true, "fine": true, "panics": true} {
		h.put(t, mail(once))
	}
	if m := h.becomes(t, ID("final"), Dead); m.Tries != 1 || strings.Contains(m.Error, "\x1b") || !strings.Contains(m.Error, "550") {
		t.Errorf("refused for good: %+v", m)
	}
	h.becomes(t, ID("over"), Dropped)
	h.becomes(t, ID("panics"), Dead)
	if m := h.becomes(t, ID("fine"), Sent); m.Remote != "remote-1" || m.Error != "" {
		t.Errorf("sent: %+v", m)
	}
	for once, least := range map[string]time.Duration{"away": time.Second, "busy": 59 * time.Minute} {
		var m Message
		waittest.Until(t, once+" was tried", func() (bool, any) { m = h.one(t, ID(once)); return m.Error != "", m })
		if wait := time.Until(m.Due); m.State != Waiting || wait < least || wait > 2*time.Hour {
			t.Errorf("%s: %+v, due in %v; want it to wait for at least %v", once, m, wait, least)
		}
	}
}

func TestPausesGrowAndHaveALimit(t *testing.T) {
	for tries, most := range map[int]time.Duration{1: 7 * time.Second, 2: 25 * time.Second, 3: 100 * time.Second, 15: 38 * time.Minute, 1000: 38 * time.Minute} {
		for range 100 {
			if d := pause(tries, 0); d < most/3 || d > most {
				t.Fatalf("after %d tries: %v, want %v to %v", tries, d, most/3, most)
			}
		}
	}
	if d := pause(1, 1000*time.Hour); d != maxAfter {
		t.Errorf("a receiver that asks for 1000 hours gets %v, want %v", d, maxAfter)
	}
}

// A message that cannot be sent dies: after many tries, after a day, or if no process sends
// to its address.
func TestMessagesDie(t *testing.T) {
	h := at(t, t.TempDir())
	away := func(context.Context, Message) (string, error) { return "", errors.New("connection refused") }
	h.put(t, mail("tries"), New{Once: "nobody", Way: "pigeon", To: "roof"})
	stop := h.run(t, away)
	for tries := 1; tries < maxTries; tries++ {
		waittest.Until(t, "a try", func() (bool, any) { m := h.one(t, ID("tries")); return m.Tries == tries && m.holder == "", m })
		err := h.db.Update(t.Context(), func(tx *store.Tx) error {
			if _, err := tx.Exec(t.Context(), "UPDATE outbox SET due = ?", tx.Now.UnixMilli()); err != nil {
				return err
			}
			return wake(t.Context(), tx)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if m := h.becomes(t, ID("tries"), Dead); m.Tries != maxTries || m.Error != "connection refused" {
		t.Errorf("%+v", m)
	}
	stop()
	h.put(t, mail("old"))
	h.ahead.Store(int64(maxAge + time.Minute))
	h.run(t, away)
	h.becomes(t, ID("old"), Dead)
	h.ahead.Store(int64(maxAge + 2*time.Hour))
	if err := h.Box.prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if m := h.one(t, ID("nobody")); m.State != Dead || !strings.Contains(m.Error, "no running server") {
		t.Errorf("%+v", m)
	}
}

func TestAPersonRetriesAndDrops(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h := at(t, place)
		refuse := atomic.Bool{}
		refuse.Store(true)
		h.run(t, func(context.Context, Message) (string, error) {
			if refuse.Load() {
				return "", Final(errors.New("550 no"))
			}
			return "", nil
		})
		h.put(t, mail("a"), mail("b"))
		h.becomes(t, ID("a"), Dead)
		h.becomes(t, ID("b"), Dead)
		refuse.Store(false)
		if _, err := h.Retry(t.Context(), ID("a")); err != nil {
			t.Fatal(err)
		}
		h.becomes(t, ID("a"), Sent)
		if _, err := h.Drop(t.Context(), ID("b")); err != nil {
			t.Fatal(err)
		}
		h.becomes(t, ID("b"), Dropped)
		for id, want := range map[string]string{ID("a"): NotDead, ID("b"): NotDead, "msg_x": NoMessage} {
			_, err := h.Retry(t.Context(), id)
			if f := fault.Of(err); f == nil || f.Code != want {
				t.Errorf("Retry(%s) = %v, want %s", id, err, want)
			}
		}
		records, err := h.db.AuditLog(t.Context(), store.AuditFilter{})
		if err != nil || len(records) != 2 {
			t.Errorf("the audit log has %+v, %v; want two records", records, err)
		}
	})
}

// At the end of a question, what waits is dropped, and what was sent may get a second message.
func TestTheEndOfAQuestion(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h := at(t, place)
		var followed atomic.Int64
		h.run(t, func(_ context.Context, m Message) (string, error) {
			if m.Reason == Ended {
				if m.Remote != "remote" {
					t.Errorf("the second message is about %q", m.Remote)
				}
				followed.Add(1)
			}
			return "remote", nil
		})
		later := mail("later")
		later.Due = time.Now().Add(time.Hour)
		h.put(t, mail("sent"), later)
		h.becomes(t, ID("sent"), Sent)
		again := func(m Message) *New {
			return &New{Once: m.ID, Way: m.Way, Target: m.Target, To: m.To, Request: m.Request, Reason: Ended}
		}
		for range 2 { // as two servers do
			if err := h.Over(t.Context(), "elc_1", again); err != nil {
				t.Fatal(err)
			}
		}
		h.becomes(t, ID("later"), Dropped)
		h.becomes(t, ID(ID("sent")), Sent)
		if left, err := h.Unclosed(t.Context()); err != nil || len(left) != 0 || followed.Load() != 1 {
			t.Errorf("%d messages about the end; unclosed %v, %v", followed.Load(), left, err)
		}
	})
}

func TestOldMessagesAreDeletedAndTheirNumberIsLimited(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h := at(t, place)
		h.put(t, mail("sent"), New{Once: "done", Way: "mail", Done: true})
		stop := h.run(t, func(context.Context, Message) (string, error) { return "", nil })
		h.becomes(t, ID("sent"), Sent)
		stop()
		err := h.db.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(t.Context(), "UPDATE outbox SET ended = ?", tx.Now.Add(-keepEnded-time.Hour).UnixMilli())
			for i := 0; err == nil && i < maxDead+5; i++ {
				_, err = tx.Exec(t.Context(), "INSERT INTO outbox (id, way, target, shown, request, reason, body, state, created, since, due, ended) VALUES (?, 'mail', '', '', '', '', '', 'dead', 0, 0, 0, ?)", fmt.Sprint("dead", i), tx.Now.UnixMilli())
			}
			for i := 0; err == nil && i < maxWaiting; i++ {
				_, err = tx.Exec(t.Context(), "INSERT INTO outbox (id, way, target, shown, request, reason, body, state, created, since, due) VALUES (?, 'mail', '', '', '', '', '', 'waiting', ?, ?, ?)", fmt.Sprint("waiting", i), tx.Now.UnixMilli(), tx.Now.UnixMilli(), tx.Now.UnixMilli())
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.Box.prune(t.Context()); err != nil {
			t.Fatal(err)
		}
		counts, err := h.Counts(t.Context())
		if got := counts["mail"]; err != nil || got[Sent] != 0 || got[Dropped] != 0 || got[Dead] != maxDead || got[Waiting] != maxWaiting {
			t.Errorf("afterwards: %v, %v", counts, err)
		}
		_, err = h.Put(t.Context(), mail("more"))
		if f := fault.Of(err); f == nil || f.Code != Full {
			t.Errorf("Put = %v, want %s", err, Full)
		}
	})
}

func TestLinksAreStoredAsHashes(t *testing.T) {
	h := at(t, t.TempDir())
	one := Link{Request: "elc_1", Question: "q", Value: "yes", Person: "ada", Address: "ada@example.org", Expires: time.Now().Add(time.Hour)}
	no := one
	no.Value = "no"
	first, err := h.Links(t.Context(), []byte("key"), "msg_1", []Link{one, no})
	if err != nil {
		t.Fatal(err)
	}
	second, err := h.Links(t.Context(), []byte("key"), "msg_1", []Link{one, no})
	if err != nil || fmt.Sprint(first) != fmt.Sprint(second) || first[0] == first[1] {
		t.Errorf("links %v and %v, %v; want the same two", first, second, err)
	}
	for what, other := range map[string]func() ([]string, error){
		"another key":     func() ([]string, error) { return h.Links(t.Context(), []byte("other"), "msg_1", []Link{one}) },
		"another message": func() ([]string, error) { return h.Links(t.Context(), []byte("key"), "msg_2", []Link{one}) },
	} {
		if got, err := other(); err != nil || got[0] == first[0] {
			t.Errorf("%s: %v, %v; want another link", what, got, err)
		}
	}
	l, err := h.Link(t.Context(), first[0])
	if err != nil || l.Value != "yes" || l.Person != "ada" || !l.SentTo("ada@example.org") || l.SentTo("eve@example.org") || !l.Used.IsZero() {
		t.Errorf("Link = %+v, %v", l, err)
	}
	if err := h.Use(t.Context(), first[0]); err != nil {
		t.Fatal(err)
	}
	if l, err := h.Link(t.Context(), first[0]); err != nil || l.Used.IsZero() {
		t.Errorf("after use: %+v, %v", l, err)
	}
	for _, secret := range []string{"", "dhl_", first[0] + "x", "elc_1"} {
		if _, err := h.Link(t.Context(), secret); fault.Of(err) == nil || fault.Of(err).Code != NoLink {
			t.Errorf("Link(%q) = %v, want %s", secret, err, NoLink)
		}
	}
	err = h.db.View(t.Context(), func(tx *store.Tx) error {
		rows, err := tx.Query(t.Context(), "SELECT hash || address || person FROM outbox_links")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				return err
			}
			for _, secret := range append(first, "ada@example.org") {
				if strings.Contains(text, strings.TrimPrefix(secret, linkPrefix)) {
					t.Errorf("the store has %s", secret)
				}
			}
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// In quiet hours, a way sends nothing. That is no try, and takes nothing of the time in which
// the message may fail.
func TestAMessageWaitsUntilATime(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h := at(t, place)
		until := time.Now().Add(30 * time.Hour)
		var over atomic.Bool
		h.run(t, func(context.Context, Message) (string, error) {
			if !over.Load() {
				return "", Later(until, "quiet hours")
			}
			return "", errors.New("connection refused")
		})
		h.put(t, mail("a"))
		var m Message
		waits := func(why string) func() (bool, any) {
			return func() (bool, any) { m = h.one(t, ID("a")); return m.Error == why && m.holder == "", m }
		}
		waittest.Until(t, "it waits", waits("quiet hours"))
		if m.State != Waiting || m.Tries != 0 || m.Due.Sub(until).Abs() > time.Second {
			t.Errorf("%+v; want it to wait until %v without a try", m, until)
		}
		over.Store(true)
		err := h.db.Update(t.Context(), func(tx *store.Tx) error {
			var since int64
			if err := tx.QueryRow(t.Context(), "SELECT since FROM outbox").Scan(&since); err != nil || time.UnixMilli(since).Before(until.Add(-time.Second)) {
				return fmt.Errorf("its time counts from %v, %w", time.UnixMilli(since), err)
			}
			if _, err := tx.Exec(t.Context(), "UPDATE outbox SET due = ?", tx.Now.UnixMilli()); err != nil {
				return err
			}
			return wake(t.Context(), tx)
		})
		if err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "it was tried", waits("connection refused"))
		if m.State != Waiting || m.Tries != 1 {
			t.Errorf("%+v; want a first try", m)
		}
		if names, err := h.Told(t.Context(), "mail", "elc_1"); err != nil || len(names) != 1 || names[0] != "ada" {
			t.Errorf("Told = %q, %v", names, err)
		}
	})
}

// What a person types may be the start of an ID, with or without its prefix, if only one
// message has it.
func TestAMessageIsNamedByTheStartOfItsID(t *testing.T) {
	b, ids := at(t, t.TempDir()), map[string]bool{}
	var all []New
	for i := range 3000 { // so many that two begin with the same four characters
		all = append(all, New{Once: fmt.Sprint(i), Way: "mail"})
	}
	if _, err := b.Put(t.Context(), all[:1]...); err != nil {
		t.Fatal(err)
	}
	id := ID("0")
	for _, part := range []string{id, id[:8], id[4:8], strings.ToUpper(id[4:12])} {
		if m, err := b.Retry(t.Context(), part); err != nil || m.ID != id {
			t.Errorf("Retry(%q) = %s, %v; want %s", part, m.ID, err, id)
		}
	}
	for _, part := range []string{"", "msg_", id[:7], id[4:7], "msg_%", "zzzz", "____"} {
		if m, err := b.Drop(t.Context(), part); fault.Of(err) == nil || fault.Of(err).Code != NoMessage {
			t.Errorf("Drop(%q) = %s, %v; want %s", part, m.ID, err, NoMessage)
		}
	}
	twice := ""
	for _, m := range all {
		part := ID(m.Once)[4:8]
		if ids[part] {
			twice = part
			break
		}
		ids[part] = true
	}
	if _, err := b.Put(t.Context(), all...); err != nil || twice == "" {
		t.Fatal(err, "no two IDs begin with the same four characters")
	}
	if _, err := b.Drop(t.Context(), twice); fault.Of(err) == nil || fault.Of(err).Code != AmbiguousID {
		t.Errorf("Drop(%q) = %v; want %s", twice, err, AmbiguousID)
	}
}
