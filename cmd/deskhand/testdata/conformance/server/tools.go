package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/calls"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// client is the interface through which the tools show questions to the client.
type client interface {
	Show(r *elicit.Request, why string) error
	Shown() (id string, err error)
	Actions(r *elicit.Request) []elicit.Action
	elicit.Surface
}

type arguments struct {
	Name     string  `json:"name"`
	Seconds  float64 `json:"seconds"`
	Label    string  `json:"label"`
	Filename string  `json:"filename"`
}

var input = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"seconds":{"type":"number"},"label":{"type":"string"},"filename":{"type":"string"}}}`)

type function func(context.Context, contract.Caller, arguments) (contract.Result, error)

func tool(name string, call function) contract.Tool {
	return contract.Define(contract.Spec{Name: name, Description: "Fixture of the conformance suite.", Input: input}, call)
}

// only returns t as a tool that can be called only as a task.
func only(t contract.Tool) contract.Tool {
	t.Later = &contract.Later{Only: true}
	return t
}

func tools(hub *elicit.Hub, runner *calls.Runner) []contract.Tool {
	greet := tool("greet", func(_ context.Context, _ contract.Caller, in arguments) (contract.Result, error) {
		return text("Hello, " + in.Name + "!"), nil
	})
	return []contract.Tool{
		greet,
		runner.Later(tool("slow_compute", slowCompute)),
		runner.Later(only(tool("failing_job", failingJob))),
		runner.Later(tool("protocol_error_job", protocolErrorJob)),
		runner.Later(tool("confirm_delete", confirmDelete(hub))),
		runner.Later(tool("multi_input", multiInput(hub))),
		withTask(hub, runner),
	}
}

func text(s string) contract.Result { return contract.Result{Text: []string{s}} }

func slowCompute(ctx context.Context, _ contract.Caller, in arguments) (contract.Result, error) {
	return text("computed " + in.Label), sleep(ctx, time.Duration(in.Seconds*float64(time.Second)))
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func failingJob(ctx context.Context, _ contract.Caller, _ arguments) (contract.Result, error) {
	err := sleep(ctx, time.Second)
	return contract.Result{Text: []string{"the job failed"}, Refused: true}, err
}

func protocolErrorJob(ctx context.Context, _ contract.Caller, _ arguments) (contract.Result, error) {
	if err := sleep(ctx, time.Second); err != nil {
		return contract.Result{}, err
	}
	panic("as the suite wants it")
}

// ask asks one question through the client.
func ask(ctx context.Context, hub *elicit.Hub, caller contract.Caller, q elicit.Question) (elicit.Request, error) {
	return hub.Ask(ctx, request(q), caller.Client.(client))
}

func request(q elicit.Question) elicit.Request {
	return elicit.Request{Trigger: elicit.AskUser, Source: elicit.Source{Kind: "mcp", Name: "conformance"}, Questions: []elicit.Question{q}}
}

func confirmDelete(hub *elicit.Hub) function {
	return func(ctx context.Context, caller contract.Caller, in arguments) (contract.Result, error) {
		r, err := ask(ctx, hub, caller, elicit.Question{ID: "confirm", Kind: elicit.Boolean, Message: "Delete " + in.Filename + "?", Required: true})
		if err != nil {
			return contract.Result{}, err
		}
		return text(fmt.Sprintf("%s: %s", in.Filename, r.Completion.Outcome)), nil
	}
}

// multiInput asks two questions at the same time.
func multiInput(hub *elicit.Hub) function {
	return func(ctx context.Context, caller contract.Caller, _ arguments) (contract.Result, error) {
		var both sync.WaitGroup
		var outcomes [2]string
		for i := range outcomes {
			both.Go(func() {
				r, err := ask(ctx, hub, caller, elicit.Question{ID: "name", Kind: elicit.Text, Message: fmt.Sprintf("Name number %d?", i+1), Required: true})
				if outcomes[i] = fmt.Sprint(err); err == nil {
					outcomes[i] = r.Answers["name"].Value.Text
				}
			})
		}
		both.Wait()
		return text(fmt.Sprint(outcomes)), ctx.Err()
	}
}

// withTask asks a question in the first call. The second call has the answer and
// continues as a task.
func withTask(hub *elicit.Hub, runner *calls.Runner) contract.Tool {
	t := runner.Later(only(tool("test_tool_with_task", func(ctx context.Context, _ contract.Caller, in arguments) (contract.Result, error) {
		return text("Hello, " + in.Name + "!"), sleep(ctx, time.Second)
	})))
	start := t.Later.Start
	t.Later.Start = func(ctx context.Context, caller contract.Caller, args json.RawMessage) (contract.Pending, error) {
		through := caller.Client.(client)
		id, err := through.Shown()
		if err != nil {
			return contract.Pending{}, err
		}
		if id == "" {
			r, err := hub.Open(ctx, request(elicit.Question{ID: "name", Kind: elicit.Text, Message: "Your name?", Required: true}))
			if err != nil {
				return contract.Pending{}, err
			}
			return contract.Pending{}, through.Show(&r, "")
		}
		r, err := hub.Get(ctx, id)
		if err == nil {
			err = hub.Take(ctx, through.Actions(&r), false)
		}
		if err == nil {
			r, err = hub.Get(ctx, id)
		}
		if err != nil {
			return contract.Pending{}, err
		}
		args, err = json.Marshal(arguments{Name: r.Answers["name"].Value.Text})
		if err != nil {
			return contract.Pending{}, err
		}
		return start(ctx, caller, args)
	}
	return t
}
