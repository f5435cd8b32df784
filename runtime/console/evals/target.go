package evals

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/deskhand/deskhand/runtime/eval"
	"github.com/deskhand/deskhand/runtime/eval/remote"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/mcpserver"
)

// Target is a server to evaluate.
type Target struct {
	mcpserver.Target
	Name string // as given by the user; also the report's name
}

// dialTime is how long a server may take to start and list its tools.
const dialTime = 30 * time.Second

// Judge starts or connects to the server and runs the cases against it.
func (t Target) Judge(ctx context.Context, cases []eval.Case, o eval.Options) (eval.Report, error) {
	dial, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	client, err := mcpserver.Dial(dial, t.Target)
	if err != nil {
		return eval.Report{}, t.unreached(err)
	}
	defer client.Close()
	r, err := remote.New(dial, client)
	if err != nil {
		return eval.Report{}, t.unreached(err)
	}
	o.Name, o.PID = t.Name, client.PID()
	return eval.Run(ctx, r, cases, o)
}

// unreached rewords the error for a server that does not answer.
func (t Target) unreached(err error) error {
	_, said, _ := strings.Cut(err.Error(), "it said: ")
	if said != "" {
		said = "; it said: " + strings.Join(strings.Fields(said), " ")
	}
	word := func(message, hint string) error { return fault.New("unreached", t.Name+message, hint) }
	switch {
	case errors.Is(err, context.Canceled) || fault.Of(err) != nil:
		return err
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		return word(": there is no such program", "check the name, or pass the program's path")
	case errors.Is(err, context.DeadlineExceeded):
		return word(fmt.Sprintf(" did not answer within %v%s", dialTime, said), "check that it is an MCP server: run it in a terminal to see its output")
	case errors.Is(err, syscall.ECONNREFUSED):
		return word(": nothing is listening there", "start the server: deskhand serve --http")
	case t.URL != "" && strings.HasSuffix(err.Error(), http.StatusText(http.StatusUnauthorized)):
		return word(" requires a different token", "set DESKHAND_TOKEN to the token of that server")
	case t.URL != "":
		reason := err.Error()[strings.LastIndex(err.Error(), ": ")+1:]
		return word(" does not answer as an MCP server:"+reason, "check the address; the address of \"deskhand serve --http\" ends in /mcp")
	}
	return word(" exited before it answered"+said, "run it in a terminal to see its output")
}
