package ask

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// dialog is a client that shows forms, as show does.
func dialog(show func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)) mcp.ClientOptions {
	return mcp.ClientOptions{
		Capabilities:       &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{}},
		ElicitationHandler: func(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return show(ctx, r.Params) },
	}
}

func says(action string, content map[string]any) func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: action, Content: content}, nil
	}
}

// unattended is a hub that nobody comes to.
func unattended(place string) Options {
	return Options{Open: func(context.Context) (*elicit.Hub, func(), error) { return hubAt(place, elicit.Options{}) }}
}

const twoQuestions = `{"title":"Naming","questions":[{"id":"name","question":"What is it called?"},{"id":"style","question":"Which style?","type":"select","options":["Plain","Fancy"]}]}`

// The client's dialog alone makes a person reachable.
func TestAClientThatShowsFormsIsAsked(t *testing.T) {
	eras(t, func(t *testing.T, version string) {
		for _, c := range []struct {
			name    string
			action  string
			content map[string]any
			want    Output
		}{
			{"accept", "accept", map[string]any{"name": "Ann", "style": "Fancy", "unasked": 5},
				Output{Answered: true, Answers: []Answer{{QuestionID: "name", Values: []string{"Ann"}}, {QuestionID: "style", Values: []string{"Fancy"}}}}},
			{"own words", "accept", map[string]any{"name": "Ann", "style__other": "Baroque"},
				Output{Answered: true, Answers: []Answer{{QuestionID: "name", Values: []string{"Ann"}}, {QuestionID: "style", Values: []string{}, CustomText: "Baroque"}}}},
			{"decline", "decline", nil, Output{Cancelled: true, Answers: []Answer{}}},
			{"cancel", "cancel", nil, Output{Cancelled: true, Answers: []Answer{}}},
		} {
			t.Run(c.name, func(t *testing.T) {
				place := t.TempDir()
				agent := callerOf(t, place, version, unattended(place), dialog(says(c.action, c.content)))
				reply := agent.call("ask_user", twoQuestions)
				if out := reply.output(t); fmt.Sprint(out) != fmt.Sprint(c.want) {
					t.Errorf("ask_user = %+v, want %+v", out, c.want)
				}
				completion, _ := reply.Meta[metaCompletion].(map[string]any)
				if completion["outcome"] != c.action && c.action != "accept" || completion["channel"] != "client" {
					t.Errorf("completion %v, want %s in the client", completion, c.action)
				}
			})
		}
	})
}

func TestAnswersOfAClientAreCheckedAgain(t *testing.T) {
	eras(t, func(t *testing.T, version string) {
		place := t.TempDir()
		var why []string
		replies := []map[string]any{nil, {"name": " ", "style": "Plain"}, {"name": "Ann"}, {"name": "Ann", "style": "Plain"}}
		if version == legacy {
			replies = replies[1:] // three times is all
		}
		agent := callerOf(t, place, version, unattended(place), dialog(func(_ context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			why = append(why, p.Message)
			return &mcp.ElicitResult{Action: "accept", Content: replies[len(why)-1]}, nil
		}))
		if out := agent.call("ask_user", twoQuestions).output(t); !out.Answered {
			t.Errorf("ask_user = %+v, want the last answer", out)
		}
		for i, message := range why {
			if refused := strings.HasPrefix(message, "Not accepted: "); refused != (i > 0) {
				t.Errorf("shown for the %dth time: %q", i+1, message)
			}
		}
	})
}

// A dialog that was refused is gone; what was typed into it is not, and does not
// replace what somebody types in the inbox.
func TestWhatWasTypedIntoADialogThatWasRefusedIsKept(t *testing.T) {
	eras(t, func(t *testing.T, version string) {
		place := t.TempDir()
		human, rounds := personAt(t, place), 0
		agent := callerOf(t, place, version, Options{}, dialog(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			r := human.sees()
			if rounds++; rounds == 1 {
				human.does(elicit.Action{Type: elicit.AnswerChanged, RequestID: r.ID, QuestionID: "style", Channel: "web",
					Answer: &elicit.Answer{State: elicit.Draft, Value: &elicit.Value{Kind: elicit.SelectedValue, Text: "Fancy"}}})
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann and a line", "style": "Plain", "style__other": strings.Repeat("x", 70_000)}}, nil
			}
			if name, style := r.Answers["name"], r.Answers["style"]; name.Value == nil || name.Value.Text != "Ann and a line" || style.Value == nil || style.Value.Text != "Fancy" {
				t.Errorf("drafts after the dialog was refused = %+v, want its name and the inbox's style", r.Answers)
			}
			return &mcp.ElicitResult{Action: "decline"}, nil
		}))
		if out := agent.call("ask_user", twoQuestions).output(t); !out.Cancelled || rounds != 2 {
			t.Errorf("ask_user after %d dialogs = %+v, want cancelled after 2", rounds, out)
		}
	})
}

func TestTheDialogAndTheInboxRace(t *testing.T) {
	place := t.TempDir()
	closed := make(chan struct{})
	open := make(chan struct{})
	agent := callerOf(t, place, legacy, Options{}, dialog(func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		close(open)
		<-ctx.Done()
		close(closed)
		return nil, ctx.Err()
	}))
	human := personAt(t, place)
	replies := agent.calls(t.Context(), "ask_user", oneQuestion, nil)
	<-open
	human.answers(human.sees(), "Ann")
	if out := got(t, replies).output(t); !out.Answered || out.Answers[0].Values[0] != "Ann" {
		t.Errorf("ask_user = %+v, want the answer of the inbox", out)
	}
	select {
	case <-closed:
	case <-time.After(waittest.Patience):
		t.Error("the client's dialog was not withdrawn")
	}
}

// Nothing is held while a client of 2026-07-28 shows a dialog, so what was said
// elsewhere meanwhile is found when it calls again.
func TestTheInboxMayBeFasterThanADialogBetweenTwoCalls(t *testing.T) {
	for name, action := range map[string]string{"answered too": "accept", "closed": "cancel"} {
		t.Run(name, func(t *testing.T) {
			place := t.TempDir()
			human := personAt(t, place)
			agent := callerOf(t, place, modern, Options{}, dialog(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
				r := human.sees()
				if r.Asker != "" {
					t.Errorf("%s waits for the answer, want nobody", r.Asker)
				}
				human.answers(r, "Ann")
				return &mcp.ElicitResult{Action: action, Content: map[string]any{"name": "Bob"}}, nil
			}))
			if out := agent.call("ask_user", oneQuestion).output(t); !out.Answered || out.Answers[0].Values[0] != "Ann" {
				t.Errorf("ask_user = %+v, want the answer of the inbox", out)
			}
		})
	}
}

func TestADialogAfterTheDeadlineIsALateAnswer(t *testing.T) {
	place := t.TempDir()
	human := personAt(t, place)
	agent := callerOf(t, place, modern, Options{}, dialog(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		human.expires(human.sees())
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"name": "Ann"}}, nil
	}))
	reply := agent.call("ask_user", oneQuestion)
	if out := reply.output(t); !out.Answered {
		t.Errorf("ask_user = %+v, want the answer", out)
	}
	if completion, _ := reply.Meta[metaCompletion].(map[string]any); completion["late"] != true {
		t.Errorf("completion %v, want it late", completion)
	}
}

func TestAClientThatCannotShowItAfterAllLeavesItToTheInbox(t *testing.T) {
	failed := make(chan struct{}, 2)
	fails := func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		failed <- struct{}{}
		return nil, errors.New("no window")
	}
	t.Run("somebody is there", func(t *testing.T) {
		place := t.TempDir()
		agent, human := callerOf(t, place, legacy, Options{}, dialog(fails)), personAt(t, place)
		replies := agent.calls(t.Context(), "ask_user", oneQuestion, nil)
		r := human.sees()
		<-failed
		waittest.Nothing(t, "the end of the call when its client has failed", replies)
		human.answers(r, "Ann")
		if out := got(t, replies).output(t); !out.Answered {
			t.Errorf("ask_user = %+v, want the answer of the inbox", out)
		}
	})
	t.Run("nobody is there", func(t *testing.T) {
		place := t.TempDir()
		agent := callerOf(t, place, legacy, unattended(place), dialog(fails))
		if reply := agent.call("ask_user", oneQuestion); !strings.HasPrefix(reply.texts()[1], "No person can be reached") {
			t.Errorf("ask_user = %q, want that nobody is reachable", reply.texts())
		}
	})
	t.Run("it answers nonsense", func(t *testing.T) {
		place := t.TempDir()
		var asked atomic.Int32
		agent := callerOf(t, place, legacy, unattended(place), dialog(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			asked.Add(1)
			return &mcp.ElicitResult{Action: "maybe"}, nil
		}))
		if reply := agent.call("ask_user", oneQuestion); !strings.HasPrefix(reply.texts()[1], "No person can be reached") || asked.Load() != 3 {
			t.Errorf("ask_user = %q after %d times, want that nobody is reachable after 3", reply.texts(), asked.Load())
		}
	})
}

// A client that has not declared that it shows forms is never sent one, even if
// it could.
func TestNothingIsSentToAClientThatDidNotDeclareIt(t *testing.T) {
	eras(t, func(t *testing.T, version string) {
		for name, declared := range map[string]*mcp.ElicitationCapabilities{"nothing": nil, "links alone": {URL: &mcp.URLElicitationCapabilities{}}} {
			t.Run(name, func(t *testing.T) {
				place := t.TempDir()
				o := dialog(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
					t.Error("the client was asked")
					return nil, errors.New("asked")
				})
				o.Capabilities.Elicitation = declared
				// The SDK declares what there is a handler for, unless it is told otherwise.
				if declared == nil {
					o.ElicitationHandler = nil
				}
				agent, human := callerOf(t, place, version, Options{}, o), personAt(t, place)
				replies := agent.calls(t.Context(), "ask_user", oneQuestion, nil)
				human.answers(human.sees(), "Ann")
				if out := got(t, replies).output(t); !out.Answered {
					t.Errorf("ask_user = %+v, want the answer of the inbox", out)
				}
			})
		}
	})
}

// A client may decline or cancel without asking anybody; the inbox is asked then.
func TestAClientThatAnswersForNobodyIsNotBelieved(t *testing.T) {
	eras(t, func(t *testing.T, version string) {
		for _, c := range []struct{ client, action string }{{"codex-mcp-client", "decline"}, {"claude-code", "cancel"}, {"testclient", "cancel"}} {
			t.Run(c.client+" says "+c.action+", somebody is at the inbox", func(t *testing.T) {
				place := t.TempDir()
				agent, human := callerNamed(t, c.client, place, version, Options{}, dialog(says(c.action, nil))), personAt(t, place)
				replies := agent.calls(t.Context(), "ask_user", oneQuestion, nil)
				r := human.sees()
				waittest.Nothing(t, "the end of the call when nobody has answered", replies)
				human.answers(r, "Ann")
				if out := got(t, replies).output(t); !out.Answered || out.Answers[0].Values[0] != "Ann" {
					t.Errorf("ask_user = %+v, want the answer of the inbox", out)
				}
			})
		}
		t.Run("nobody is there", func(t *testing.T) {
			place := t.TempDir()
			agent := callerNamed(t, "codex-mcp-client", place, version, unattended(place), dialog(says("decline", nil)))
			if reply := agent.call("ask_user", oneQuestion); !strings.HasPrefix(reply.texts()[1], "No person can be reached") {
				t.Errorf("ask_user = %q, want that nobody is reachable", reply.texts())
			}
		})
	})
}
