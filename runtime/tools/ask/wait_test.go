package ask

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/waittest"
)

const oneQuestion = `{"questions":[{"id":"name","question":"What is it called?"}]}`

func TestACallIsHeldUntilThePersonAnswers(t *testing.T) {
	eras(t, func(t *testing.T, version string) {
		place := t.TempDir()
		agent, human := callerOf(t, place, version, Options{}, mcp.ClientOptions{}), personAt(t, place)
		replies := agent.calls(t.Context(), "ask_user", oneQuestion, nil)
		r := human.sees()
		waittest.Nothing(t, "the end of the call before somebody has answered", replies)
		human.answers(r, "Ann")
		if out := got(t, replies).output(t); !out.Answered || out.Answers[0].Values[0] != "Ann" {
			t.Errorf("ask_user = %+v, want Ann", out)
		}
	})
}

func TestTextComesBackByteForByte(t *testing.T) {
	place := t.TempDir()
	agent, human := callerOf(t, place, modern, Options{}, mcp.ClientOptions{}), personAt(t, place)
	for _, text := range []string{"  two\nlines\r\n\t", `"quoted" \ <b>&amp;`, "\u2028é🙂👩‍👩‍👧", "مرحبا \u202eabc", strings.Repeat("ten KB ", 1500)} {
		replies := agent.calls(t.Context(), "ask_user", oneQuestion, nil)
		human.answers(human.sees(), text)
		if out := got(t, replies).output(t); out.Answers[0].Values[0] != text {
			t.Errorf("answered %.100q, came %.100q", text, out.Answers[0].Values[0])
		}
	}
}

// A client that asked for progress is told again and again: here it waits three
// times as long as it would in silence.
func TestAClientThatListensIsToldThatItsCallGoesOn(t *testing.T) {
	eras(t, func(t *testing.T, version string) {
		place := t.TempDir()
		var mu sync.Mutex
		var told []mcp.ProgressNotificationParams
		silence := time.NewTimer(time.Hour)
		ctx, giveUp := context.WithCancel(t.Context())
		defer giveUp()
		const patience = 400 * time.Millisecond
		agent := callerOf(t, place, version, Options{Heartbeat: 20 * time.Millisecond}, mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, *req.Params)
				silence.Reset(patience)
			},
		})
		human := personAt(t, place)
		silence.Reset(patience)
		go func() {
			select {
			case <-silence.C:
				giveUp()
			case <-ctx.Done():
			}
		}()
		replies := agent.calls(ctx, "ask_user", oneQuestion, "token")
		r := human.sees()
		since := time.Now()
		waittest.Until(t, "three times its patience", func() (bool, any) { return time.Since(since) > 3*patience, nil })
		human.answers(r, "Ann")
		if out := got(t, replies).output(t); !out.Answered {
			t.Errorf("ask_user = %+v, want an answer", out)
		}
		mu.Lock()
		defer mu.Unlock()
		if len(told) < 10 {
			t.Fatalf("told %d times, want 10 or more", len(told))
		}
		for i, p := range told {
			if p.ProgressToken != "token" || p.Total != 300 || !strings.Contains(p.Message, "deskhand inbox") || !strings.Contains(p.Message, " left") {
				t.Fatalf("told %+v, want how to answer and what time is left", p)
			}
			if i > 0 && p.Progress <= told[i-1].Progress {
				t.Errorf("progress %v after %v, want more", p.Progress, told[i-1].Progress)
			}
		}
	})
}

func TestAClientThatDoesNotListenGetsAHandle(t *testing.T) {
	eras(t, func(t *testing.T, version string) {
		place := t.TempDir()
		agent := callerOf(t, place, version, Options{Hold: 100 * time.Millisecond}, mcp.ClientOptions{})
		human := personAt(t, place)
		first := agent.call("ask_user", oneQuestion)
		r := human.sees()
		if out := first.output(t); out.Answered || out.Cancelled || out.TimedOut || len(out.Answers) != 0 ||
			len(first.Content) != 2 || !strings.Contains(first.texts()[1], r.ID) || strings.Contains(first.texts()[1], "\n") {
			t.Fatalf("ask_user = %q, want a handle for %s", first.texts(), r.ID)
		}
		if r.AskerGone {
			t.Errorf("the question is marked as given up while the agent has a handle of it")
		}
		await := fmt.Sprintf(`{"request_id":%q,"timeout":10000}`, r.ID)
		if again := agent.call("await_answer", await); again.took > 5*time.Second || !strings.HasPrefix(again.texts()[1], "No answer yet.") {
			t.Errorf("await_answer = %q after %v, want that nobody has answered, soon", again.texts(), again.took)
		}
		replies := agent.calls(t.Context(), "await_answer", await, nil)
		human.answers(r, "Ann")
		out := got(t, replies).output(t)
		if !out.Answered { // a slow machine: the call was held for no longer
			out = agent.call("await_answer", await).output(t)
		}
		if !out.Answered || out.Answers[0].Values[0] != "Ann" {
			t.Errorf("await_answer = %+v, want Ann", out)
		}
		if out := agent.call("await_answer", await).output(t); !out.Answered {
			t.Errorf("await_answer once more = %+v, want Ann again", out)
		}
	})
}

func TestNobodyReachableIsSaidAtOnce(t *testing.T) {
	eras(t, func(t *testing.T, version string) {
		place := t.TempDir()
		alone := Options{Open: func(context.Context) (*elicit.Hub, func(), error) { return hubAt(place, elicit.Options{}) }}
		agent, human := callerOf(t, place, version, alone, mcp.ClientOptions{}), personAt(t, place)
		reply := agent.call("ask_user", oneQuestion)
		if out := reply.output(t); out.Answered || out.Cancelled || out.TimedOut || len(reply.Content) != 2 || !strings.HasPrefix(reply.texts()[1], "No person can be reached") || reply.took > 5*time.Second {
			t.Errorf("ask_user = %q after %v, want that nobody is reachable, at once", reply.texts(), reply.took)
		}
		if list, err := human.hub.List(t.Context(), elicit.Filter{}); err != nil || len(list.Requests) != 0 {
			t.Errorf("open questions %v, %v; want none", list.Requests, err)
		}
		// An inbox that comes up, in whatever process, is somebody.
		_, _, detach, err := human.hub.Attach(t.Context(), elicit.Station{Kind: "inbox", Address: "http://127.0.0.1:1/"})
		if err != nil {
			t.Fatal(err)
		}
		defer detach()
		replies := agent.calls(t.Context(), "ask_user", oneQuestion, nil)
		human.answers(human.sees(), "Ann")
		if out := got(t, replies).output(t); !out.Answered {
			t.Errorf("with an inbox: %+v, want an answer", out)
		}
	})
}

func TestACancelledCallLeavesTheQuestionToItsDeadline(t *testing.T) {
	eras(t, func(t *testing.T, version string) {
		for name, turn := range map[string]string{"alone": "", "in a turn": "turn-1"} {
			t.Run(name, func(t *testing.T) {
				place := t.TempDir()
				agent := callerOf(t, place, version, Options{Context: elicit.Context{TurnID: turn}}, mcp.ClientOptions{})
				human := personAt(t, place)
				ctx, cancel := context.WithCancel(t.Context())
				replies := agent.calls(ctx, "ask_user", oneQuestion, nil)
				id := human.sees().ID
				cancel()
				if r := got(t, replies); r.err == nil {
					t.Fatalf("the cancelled call came to %+v", r.CallToolResult)
				}
				if turn != "" {
					if r := human.becomes(id, elicit.Completed); r.Completion.Outcome != elicit.Abandoned {
						t.Errorf("outcome %s, want abandoned with the turn", r.Completion.Outcome)
					}
					return
				}
				r := human.left(true)
				if r.ID != id || !r.AskerGone {
					t.Fatalf("the question is %+v, want it open and its asker gone", r)
				}
				human.answers(r, "Ann")
				if out := agent.call("await_answer", fmt.Sprintf(`{"request_id":%q}`, id)).output(t); !out.Answered {
					t.Errorf("await_answer = %+v, want the answer", out)
				}
			})
		}
	})
}

func TestQuestionsAskedAtOnceAreNotMixedUp(t *testing.T) {
	eras(t, func(t *testing.T, version string) {
		place := t.TempDir()
		agent, human := callerOf(t, place, version, Options{}, mcp.ClientOptions{}), personAt(t, place)
		const many = 20
		var replies []<-chan reply
		for i := range many {
			replies = append(replies, agent.calls(t.Context(), "ask_user", fmt.Sprintf(`{"questions":[{"id":"q","question":"%d?"}]}`, i), nil))
		}
		var seen []string
		for range many {
			r := human.sees(seen...)
			seen = append(seen, r.ID)
		}
		slices.Reverse(seen)
		for _, id := range seen {
			r, err := human.hub.Get(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			human.answers(r, "to "+r.Questions[0].Message)
		}
		for i := range many {
			if out := got(t, replies[i]).output(t); len(out.Answers) != 1 || out.Answers[0].Values[0] != fmt.Sprintf("to %d?", i) {
				t.Errorf("question %d was answered %+v", i, out)
			}
		}
	})
}

func TestAQuestionOutlivesTheServerThatAskedIt(t *testing.T) {
	eras(t, func(t *testing.T, version string) {
		place := t.TempDir()
		human := personAt(t, place)
		var r elicit.Request
		t.Run("first server", func(t *testing.T) {
			agent := callerOf(t, place, version, Options{Hold: 50 * time.Millisecond}, mcp.ClientOptions{})
			agent.call("ask_user", oneQuestion)
			r = human.sees()
		})
		agent := callerOf(t, place, version, Options{}, mcp.ClientOptions{})
		if list := agent.call("list_questions", `{}`); !strings.Contains(list.texts()[0], r.ID+" open") {
			t.Errorf("list_questions = %q, want %s", list.texts(), r.ID)
		}
		replies := agent.calls(t.Context(), "await_answer", fmt.Sprintf(`{"request_id":%q}`, r.ID), nil)
		waittest.Nothing(t, "the end of await_answer before the answer", replies)
		human.answers(r, "Ann")
		if out := got(t, replies).output(t); !out.Answered || out.Answers[0].Values[0] != "Ann" {
			t.Errorf("await_answer = %+v, want Ann", out)
		}
	})
}

func TestOthersQuestionsAreNotListed(t *testing.T) {
	place := t.TempDir()
	human := personAt(t, place)
	here := callerOf(t, place, legacy, Options{Hold: 50 * time.Millisecond, Context: elicit.Context{CWD: "/here"}}, mcp.ClientOptions{})
	there := callerOf(t, place, legacy, Options{Context: elicit.Context{CWD: "/there"}}, mcp.ClientOptions{})
	attempt := callerOf(t, place, legacy, Options{Context: elicit.Context{CWD: "/here", AttemptID: "a"}}, mcp.ClientOptions{})
	here.call("ask_user", oneQuestion)
	id := human.sees().ID
	if list := here.call("list_questions", `{}`); !strings.Contains(list.texts()[0], id) {
		t.Errorf("its own: %q, want %s", list.texts(), id)
	}
	for _, other := range []caller{there, attempt} {
		if list := other.call("list_questions", `{}`); strings.Contains(list.texts()[0], id) {
			t.Errorf("another's: %q", list.texts())
		}
	}
}

// An agent whose client gave up, or that was handed an ID, asks the same again:
// the person sees one question, and the second call gets its answer.
func TestAskingTheSameAgainJoinsTheOpenQuestion(t *testing.T) {
	eras(t, func(t *testing.T, version string) {
		for _, how := range []string{"cancelled", "handed back"} {
			t.Run(how, func(t *testing.T) {
				place := t.TempDir()
				o := Options{}
				if how == "handed back" {
					o.Hold = 100 * time.Millisecond
				}
				first, human := callerOf(t, place, version, o, mcp.ClientOptions{}), personAt(t, place)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				replies := first.calls(ctx, "ask_user", oneQuestion, nil)
				r := human.sees()
				if how == "cancelled" {
					cancel()
				}
				got(t, replies)
				human.left(true)
				again := callerOf(t, place, version, Options{}, mcp.ClientOptions{}).calls(t.Context(), "ask_user", oneQuestion, nil)
				human.left(false)
				if list, err := human.hub.List(t.Context(), elicit.Filter{}); err != nil || len(list.Requests) != 1 {
					t.Fatalf("%d questions are open, %v; want one", len(list.Requests), err)
				}
				human.answers(r, "Ann")
				if out := got(t, again).output(t); !out.Answered || out.Answers[0].Values[0] != "Ann" {
					t.Errorf("asked again: %+v, want Ann", out)
				}
			})
		}
	})
}

// The store is gone when a call is to end: the agent still gets the ID.
func TestAnIDIsHandedBackWithoutAStore(t *testing.T) {
	hub, stop, err := hubAt(t.TempDir(), elicit.Options{Attended: true})
	if err != nil {
		t.Fatal(err)
	}
	stop()
	res, err := New(Options{}).pending(t.Context(), hub, contract.Caller{}, "elc_1")
	if err != nil || len(res.Text) != 2 || !strings.Contains(res.Text[1], "stays open as elc_1") {
		t.Errorf("pending = %q, %v; want that elc_1 stays open", res.Text, err)
	}
}

// What a person said meanwhile to another question is told with the next result,
// until the agent has it.
func TestTheNextResultTellsOfOtherAnswers(t *testing.T) {
	eras(t, func(t *testing.T, version string) {
		place := t.TempDir()
		human := personAt(t, place)
		callerOf(t, place, version, Options{Hold: 50 * time.Millisecond}, mcp.ClientOptions{}).call("ask_user", `{"questions":[{"question":"First?"}]}`)
		agent := callerOf(t, place, version, Options{}, mcp.ClientOptions{})
		first := human.sees()
		human.answers(first, "one")
		ask := func() string {
			replies := agent.calls(t.Context(), "ask_user", `{"questions":[{"question":"Second?"}]}`, nil)
			human.answers(human.sees(first.ID), "two")
			return strings.Join(got(t, replies).texts(), "\n")
		}
		if text := ask(); !strings.Contains(text, "two") || !strings.Contains(text, "also replied to "+first.ID) {
			t.Errorf("the second answer is %q, want that %s was answered too", text, first.ID)
		}
		if out := agent.call("await_answer", fmt.Sprintf(`{"request_id":%q}`, first.ID)).output(t); !out.Answered {
			t.Fatalf("await_answer = %+v, want the first answer", out)
		}
		if text := ask(); strings.Contains(text, "also replied") {
			t.Errorf("behind that: %q, want no word of the first", text)
		}
	})
}
