package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/eval"
	"github.com/deskhand/deskhand/runtime/gateway"
	"github.com/deskhand/deskhand/runtime/store"
)

// TestToolsAreFoundAmongThoseOfRealServers measures find_tools with the servers of
// testdata/tools/servers.json, which lie in the folder that TOOLS names (make
// tools installs them). What models are shown goes to the file that TOOLS_SHOWN
// names, so that its tokens can be counted.
func TestToolsAreFoundAmongThoseOfRealServers(t *testing.T) {
	dir := os.Getenv("TOOLS")
	if dir == "" {
		t.Skip("TOOLS does not say where the servers are: make tools installs them")
	}
	state := t.TempDir()
	all := realTools(t, dir, state, gateway.DiscloseAll)
	shown := realTools(t, dir, state, gateway.DiscloseSearch)
	find := shown[0]
	sets := strings.Fields(os.Getenv("TOOLS_SETS"))
	if len(sets) == 0 {
		sets = []string{"tuning", "held-out"}
	}
	answers := map[string]string{}
	for _, set := range sets {
		cases, _, err := eval.Load(filepath.Join("testdata", "tools", set+".json"))
		if err != nil {
			t.Fatal(err)
		}
		report, err := eval.Run(t.Context(), found{t, find, answers}, cases, eval.Options{Limit: 8})
		if err != nil {
			t.Fatal(err)
		}
		s := report.Summary
		first, listed := 0.0, 0.0
		for _, c := range report.Cases {
			if c.FirstGood == 1 {
				first++
			}
			if c.FirstGood > 0 {
				listed++
			}
		}
		n := float64(len(cases))
		t.Logf("%s: %d tools, %d requests, recall@1 %.3f, recall@5 %.3f, recall@8 %.3f, MRR@5 %.3f, failed %d",
			set, len(all), len(cases), first/n, s.Recall5, listed/n, s.MRR, s.Failed)
		if os.Getenv("TOOLS_MISSED") != "" {
			for _, c := range report.Cases {
				if c.ReciprocalRank == 0 {
					t.Logf("  missed: %s", c.Query)
				}
			}
		}
		if s.Recall5 < 0.65 {
			t.Errorf("recall@5 of %s = %.3f, want 0.65 at least", set, s.Recall5)
		}
	}
	checked := 0
	for _, one := range all {
		if _, err := contract.NewChecker(one.Input); err != nil {
			t.Logf("%s is checked by its upstream only: %v", one.Name, err)
			continue
		}
		checked++
	}
	t.Logf("%d of %d schemas are checked by us", checked, len(all))
	if path := os.Getenv("TOOLS_SHOWN"); path != "" {
		writeShown(t, path, all, shown, answers)
	}
}

// found asks find_tools as a model does, and reads the names from its answer.
type found struct {
	t       *testing.T
	find    contract.Tool
	answers map[string]string
}

func (f found) Search(ctx context.Context, query string, _ map[string]string, limit int, _ string) ([]eval.Hit, string, error) {
	args, _ := json.Marshal(map[string]any{"query": query, "limit": limit})
	result, err := f.find.Call(ctx, contract.Caller{}, args)
	if err != nil {
		return nil, "", err
	}
	f.answers[query] = result.Text[0]
	var hits []eval.Hit
	for line := range strings.Lines(result.Text[0]) {
		upstream, tool, ok := strings.Cut(strings.Fields(line + " .")[0], "_")
		if ok && !strings.HasPrefix(line, " ") {
			hits = append(hits, eval.Hit{ID: upstream + "/" + tool, Path: upstream + "/" + tool})
		}
	}
	return hits, "", nil
}

func (found) Text(context.Context, string) (string, error) { return "", nil }

// realTools are those of a gateway over the servers in a folder, which remembers
// them in state.
func realTools(t *testing.T, dir, state string, disclosure gateway.Disclosure) []contract.Tool {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "tools", "servers.json"))
	if err != nil {
		t.Fatal(err)
	}
	var servers []struct {
		Name, Package, Entry string
		Args                 []string
		Env                  map[string]string
	}
	if err := json.Unmarshal(data, &servers); err != nil {
		t.Fatal(err)
	}
	var upstreams []gateway.Upstream
	for _, s := range servers {
		name := s.Package[:strings.LastIndexByte(s.Package, '@')]
		command := append([]string{"node", filepath.Join(dir, "node_modules", name, s.Entry)}, s.Args...)
		upstreams = append(upstreams, gateway.Upstream{Name: s.Name, Command: command, Dir: t.TempDir(), Env: s.Env})
	}
	db, err := store.Open(t.Context(), state, elicit.Schema(), gateway.Schema())
	if err != nil {
		t.Fatal(err)
	}
	hub := elicit.New(db, elicit.Options{})
	g, err := gateway.New(gateway.Options{Upstreams: upstreams, StateDir: state, Disclosure: disclosure, Index: installation.NewToolFinder,
		Log:  slog.New(slog.NewTextHandler(t.Output(), nil)),
		Open: func(context.Context) (*elicit.Hub, *store.DB, error) { return hub, db, nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close(); hub.Close(); db.Close() })
	g.Start(time.Minute)
	for deadline := time.Now().Add(4 * time.Minute); ; {
		connections, err := g.Connections(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		missing := slices.DeleteFunc(connections, func(c gateway.Connection) bool { return c.Tools > 0 })
		if len(missing) == 0 {
			return g.Tools()
		}
		if time.Now().After(deadline) {
			t.Fatalf("no tools of %v", missing)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// writeShown writes what models are shown, for a program that counts tokens.
func writeShown(t *testing.T, path string, all, searched []contract.Tool, answers map[string]string) {
	t.Helper()
	definitions := func(tools []contract.Tool) (list []string) {
		for _, one := range tools {
			raw, err := json.Marshal(map[string]any{"name": one.Name, "description": one.Description, "input_schema": one.Input})
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, string(raw))
		}
		return list
	}
	var texts []string
	for _, a := range answers {
		texts = append(texts, a)
	}
	slices.Sort(texts)
	raw, err := json.Marshal(map[string]any{"all": definitions(all), "search": definitions(searched), "answers": texts})
	if err == nil {
		err = os.WriteFile(path, raw, 0o600)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("write what is shown: %w", err))
	}
}
