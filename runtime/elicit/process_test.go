package elicit_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/racetest"
	"github.com/deskhand/deskhand/runtime/store"
)

// child is this test binary as another process. It writes what the hub has
// acknowledged to stdout.
func child(job string) int {
	part := strings.Split(job, "\n")
	place, what := part[0], part[1]
	db, err := store.Open(context.Background(), place, Schema())
	if err != nil {
		fmt.Println("error:", err)
		return 1
	}
	defer db.Close()
	h := New(db, Options{Attended: true, Principal: "child"})
	defer h.Close()
	switch ctx := context.Background(); what {
	case "ask":
		r, err := h.Ask(ctx, greeting())
		if err != nil {
			fmt.Println("error:", err)
			return 1
		}
		fmt.Println(r.ID, r.Completion.Outcome, r.Answers["name"].Value.Text)
	case "type": // asks, types and answers repeatedly until it is killed
		for {
			r, err := h.Open(ctx, greeting())
			if err != nil {
				fmt.Println("error:", err)
				return 1
			}
			fmt.Println("asked", r.ID)
			for i := range 5 {
				if _, err := h.Dispatch(ctx, Action{Type: AnswerChanged, RequestID: r.ID, QuestionID: "name", Answer: draft(fmt.Sprint(i))}); err != nil {
					fmt.Println("error:", err)
					return 1
				}
				fmt.Println("draft", r.ID, i)
			}
			if _, err := h.Dispatch(ctx, accept(r.ID, "done")); err != nil {
				fmt.Println("error:", err)
				return 1
			}
			fmt.Println("answered", r.ID)
		}
	case "answer": // answers every request, and reports when the store accepted the answer
		list, err := h.List(ctx, Filter{})
		if err != nil {
			fmt.Println("error:", err)
			return 1
		}
		w, err := h.Watch(ctx, list.Seq, "")
		if err != nil {
			fmt.Println("error:", err)
			return 1
		}
		defer w.Close()
		fmt.Println("ready")
		for {
			changes, err := w.Next(ctx)
			if err != nil {
				return 0
			}
			for _, c := range changes {
				if c.Action.Type != Requested {
					continue
				}
				if _, err := h.Dispatch(ctx, accept(c.Action.RequestID, fmt.Sprint(time.Now().UnixMicro()))); err != nil && fault.Of(err) == nil {
					fmt.Println("error:", err)
					return 1
				}
			}
		}
	}
	return 0
}

func spawn(t testing.TB, place, what string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "ELICIT_TEST_CHILD="+place+"\n"+what)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd, bufio.NewScanner(out)
}

func TestAnotherProcessGetsItsAnswer(t *testing.T) {
	place := t.TempDir()
	h := peer(t, place, Options{})
	cmd, out := spawn(t, place, "ask")
	id := asked(t, h).ID
	must(t, h, accept(id, "Ada"))
	out.Scan()
	if want := id + " accept Ada"; out.Text() != want {
		t.Errorf("the other process got %q, want %q", out.Text(), want)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// The log of the server that asked reports how a question ended, once, even if
// another process accepted the answer.
func TestAnEndInAnotherProcessIsLogged(t *testing.T) {
	for _, answeredBy := range []string{"another process", "this process"} {
		t.Run(answeredBy, func(t *testing.T) {
			place := t.TempDir()
			var log bytes.Buffer // read after the hub is closed
			db, err := store.Open(t.Context(), place, Schema())
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			h := New(db, Options{Attended: true, Log: slog.New(slog.NewJSONHandler(&log, nil))})
			if answeredBy == "another process" {
				_, out := spawn(t, place, "answer")
				if out.Scan(); out.Text() != "ready" {
					t.Fatalf("the other process says %q", out.Text())
				}
			}
			ended := beside(func() (Request, error) { return h.Ask(t.Context(), greeting()) })
			if answeredBy == "this process" {
				must(t, h, accept(asked(t, h).ID, "Ada"))
			}
			if got := <-ended; got.err != nil || got.r.Completion.Outcome != Accept {
				t.Errorf("Ask = %+v, %v", got.r, got.err)
			}
			h.Close()
			if n := strings.Count(log.String(), `"elicitation.completed"`); n != 1 || !strings.Contains(log.String(), `"outcome":"accept"`) {
				t.Errorf("the end is in the log %d times, want once:\n%s", n, log.String())
			}
		})
	}
}

func TestAQuestionOutlivesItsAsker(t *testing.T) {
	place := t.TempDir()
	h := peer(t, place, Options{})
	cmd, _ := spawn(t, place, "ask")
	id := asked(t, h).ID
	cmd.Process.Kill()
	cmd.Wait()
	must(t, h, accept(id, "Ada"))
	if r, err := peer(t, place, Options{}).Wait(t.Context(), id); err != nil || r.Answers["name"].Value.Text != "Ada" {
		t.Errorf("Wait in a third process = %+v, %v", r, err)
	}
}

// TestKilledProcessesLoseNothingAcknowledged kills one of two processes that ask,
// type and answer over one store, at 200 random times.
func TestKilledProcessesLoseNothingAcknowledged(t *testing.T) {
	rounds := 200
	if testing.Short() || racetest.On {
		rounds = 20 // the child starts slowly then; the times are still random
	}
	place := t.TempDir()
	h := peer(t, place, Options{})
	random := rand.New(rand.NewPCG(3, 4))
	for round := range rounds {
		cmd, out := spawn(t, place, "type")
		after := time.Duration(random.IntN(20_000)) * time.Microsecond
		promised := map[string]string{}
		for out.Scan() {
			what, rest, _ := strings.Cut(out.Text(), " ")
			id, value, _ := strings.Cut(rest, " ")
			switch what {
			case "asked":
				if len(promised) == 0 {
					time.AfterFunc(after, func() { cmd.Process.Kill() })
				}
				promised[id] = ""
			case "draft":
				promised[id] = value
			case "answered":
				promised[id] = "done"
			default:
				t.Fatalf("round %d: the process says %q", round, out.Text())
			}
		}
		cmd.Wait()
		if len(promised) == 0 {
			t.Fatalf("round %d: nothing was asked", round)
		}
		for id, want := range promised {
			r, err := h.Get(t.Context(), id)
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			got := ""
			if a, ok := r.Answers["name"]; ok {
				got = a.Value.Text
			}
			if got < want { // the child may have completed one more step than it reported
				t.Errorf("round %d: %s has %q, promised was %q", round, id, got, want)
			}
		}
	}
	list, err := h.List(t.Context(), Filter{Statuses: []Status{Open, Completed}, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range list.Requests {
		if r.Status == Open {
			must(t, h, accept(r.ID, "later")) // nothing is incomplete
		}
	}
}
