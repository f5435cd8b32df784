package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/mcpserver"
)

// mcpCall is a program that calls a tool of the attempt it runs in, as an agent
// does: mcpcall TOOL [ARGUMENTS], or mcpcall --list. MCP_COMMAND is a server that
// it starts itself instead.
func mcpCall() {
	if err := mcpCalled(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mcpcall:", err)
		os.Exit(1)
	}
}

func mcpCalled(args []string) error {
	ctx := context.Background()
	target := mcpserver.Target{URL: os.Getenv("DESKHAND_URL"), Token: os.Getenv("DESKHAND_TOKEN")}
	if command := strings.Fields(os.Getenv("MCP_COMMAND")); len(command) > 0 {
		target = mcpserver.Target{Command: command}
	}
	client, err := mcpserver.Dial(ctx, target)
	if err != nil {
		return err
	}
	defer client.Close()
	if args[0] == "--list" {
		tools, err := client.ListTools(ctx)
		var names []string
		for _, one := range tools {
			names = append(names, one.Name)
		}
		slices.Sort(names)
		fmt.Println(strings.Join(names, "\n"))
		return err
	}
	given := map[string]any{}
	if len(args) > 1 {
		if err := json.Unmarshal([]byte(args[1]), &given); err != nil {
			return err
		}
	}
	text, _, refused, err := client.Call(ctx, args[0], given)
	if err == nil && refused {
		err = fmt.Errorf("%s: %s", args[0], text)
	}
	fmt.Println(text)
	return err
}

// keep puts what the last command printed into a variable.
func keep(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// waits waits for a question, whose id goes into a variable, or for an attempt to
// run.
func waits(ts *testscript.TestScript, _ bool, args []string) {
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if args[0] == "running" {
			ts.Check(ts.Exec("deskhand", "tasks", "messages", args[1]))
			if strings.HasSuffix(strings.TrimSpace(ts.ReadFile("stdout")), "> sleep 60") {
				return
			}
			continue
		}
		ts.Check(ts.Exec("deskhand", "ask", "list", "--json"))
		var open []elicit.Request
		ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &open))
		if len(open) > 0 {
			ts.Setenv(args[1], open[0].ID)
			return
		}
	}
	ts.Exec("deskhand", "tasks", "ls")
	ts.Fatalf("waited for %s in vain: %s", args[0], ts.ReadFile("stdout"))
}
