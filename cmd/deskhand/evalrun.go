package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/mattn/go-shellwords"

	"github.com/deskhand/deskhand/runtime/eval"
	"github.com/deskhand/deskhand/runtime/eval/remote"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/search"
)

// judge runs the cases against each of targets, one after another, or without
// any against the index, ranked by each of kinds.
func (a *app) judge(ctx context.Context, f *evalFlags, targets []target, kinds []search.By, cases []eval.Case) ([]eval.Report, error) {
	o := eval.Options{Limit: f.limit, Collapse: f.collapse, Warmup: f.warmup}
	var reports []eval.Report
	for _, target := range targets {
		report, err := target.judge(ctx, cases, o)
		if err != nil {
			return nil, err
		}
		reports = append(reports, report)
	}
	if len(reports) > 0 {
		return reports, nil
	}
	engine, err := a.engine()
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	own, err := eval.RunLocal(ctx, engine, kinds, cases, o, f.asked)
	return append(reports, own...), err
}

// target is a server to judge; name is how it was given.
type target struct {
	mcpserver.Target
	name string
}

func (a *app) targets(f *evalFlags) ([]target, error) {
	var targets []target
	for _, line := range f.servers {
		words, err := shellwords.Parse(line)
		if err != nil || len(words) == 0 {
			return nil, misuse(fmt.Sprintf("--server %q is not a command", line), "write it as in a shell, without pipes and variables")
		}
		targets = append(targets, target{mcpserver.Target{Command: words}, line})
	}
	for _, address := range f.urls {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, misuse(fmt.Sprintf("--url %q is no address", address), "write it as http://127.0.0.1:20310/mcp")
		}
		targets = append(targets, target{mcpserver.Target{URL: address, Token: a.settings.TokenFor(u)}, address})
	}
	return targets, nil
}

// dialTime bounds how long a server may take to start and list its tools.
const dialTime = 30 * time.Second

func (t target) judge(ctx context.Context, cases []eval.Case, o eval.Options) (eval.Report, error) {
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
	o.Name, o.PID = t.name, client.PID()
	return eval.Run(ctx, r, cases, o)
}

// unreached words the error of a server that does not answer.
func (t target) unreached(err error) error {
	_, said, _ := strings.Cut(err.Error(), "it said: ")
	if said != "" {
		said = "; it said: " + strings.Join(strings.Fields(said), " ")
	}
	word := func(message, hint string) error { return fault.New("unreached", t.name+message, hint) }
	switch {
	case errors.Is(err, context.Canceled) || fault.Of(err) != nil:
		return err
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		return word(": there is no such program", "check the name, or give the program with its path")
	case errors.Is(err, context.DeadlineExceeded):
		return word(fmt.Sprintf(" did not answer within %v%s", dialTime, said), "is it an MCP server? run it in a terminal to see what it says")
	case errors.Is(err, syscall.ECONNREFUSED):
		return word(": nothing listens there", "start the server: deskhand serve --http")
	case t.URL != "" && strings.HasSuffix(err.Error(), http.StatusText(http.StatusUnauthorized)):
		return word(" wants another token", "set DESKHAND_TOKEN to the token of that server")
	case t.URL != "":
		reason := err.Error()[strings.LastIndex(err.Error(), ": ")+1:]
		return word(" does not answer as an MCP server:"+reason, "check the address; that of deskhand serve --http ends in /mcp")
	}
	return word(" ended before it answered"+said, "run it in a terminal to see what it says")
}
