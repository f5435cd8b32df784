package main

import (
	"context"
	"fmt"
	"net/url"

	"github.com/mattn/go-shellwords"

	"github.com/deskhand/deskhand/runtime/console/evals"
	"github.com/deskhand/deskhand/runtime/eval"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/search"
)

// judge runs the cases against each target in turn. If there are no targets, it runs the
// cases against the index or the libraries, once for each ranking in kinds.
func (a *app) judge(ctx context.Context, f *evalFlags, targets []evals.Target, kinds []search.By, cases []eval.Case) ([]eval.Report, error) {
	o := eval.Options{Limit: f.limit, Collapse: f.collapse, Warmup: f.warmup}
	var reports []eval.Report
	for _, target := range targets {
		report, err := target.Judge(ctx, cases, o)
		if err != nil {
			return nil, err
		}
		reports = append(reports, report)
	}
	if len(reports) > 0 {
		return reports, nil
	}
	libraries, err := a.openLibraries(a.settings.Measured(f.library))
	if err != nil {
		return nil, err
	}
	if libraries != nil {
		defer libraries.Close()
		return eval.RunLocal(ctx, eval.OnShelf(libraries.Federation()), kinds, cases, o, f.asked)
	}
	engine, err := a.engine()
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	return eval.RunLocal(ctx, eval.OnIndex(engine), kinds, cases, o, f.asked)
}

func (a *app) targets(f *evalFlags) ([]evals.Target, error) {
	var targets []evals.Target
	for _, line := range f.servers {
		words, err := shellwords.Parse(line)
		if err != nil || len(words) == 0 {
			return nil, misuse(fmt.Sprintf("--server %q is not a command", line), "write it as in a shell, but without pipes or variables")
		}
		targets = append(targets, evals.Target{Target: mcpserver.Target{Command: words}, Name: line})
	}
	for _, address := range f.urls {
		u, err := url.Parse(address)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return nil, misuse(fmt.Sprintf("--url %q is not an address", address), "write it, for example, as http://127.0.0.1:20310/mcp")
		}
		targets = append(targets, evals.Target{Target: mcpserver.Target{URL: address, Token: a.settings.TokenFor(u)}, Name: address})
	}
	return targets, nil
}
