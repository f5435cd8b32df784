// Command server is the server for the tasks-* scenarios of the conformance
// suite. It provides the tools that these scenarios call, with the same packages
// as deskhand serve. It prints its address and serves until it is killed.
//
//	go run ./cmd/deskhand/testdata/conformance/server FOLDER
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/calls"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/telemetry"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder string) error {
	all := app.Open(app.Config{
		Place:   func() (string, error) { return folder, nil },
		People:  func() (app.People, error) { return app.People{}, nil },
		Members: func() ([]elicit.Member, error) { return nil, nil },
		Spans:   func() (*telemetry.Options, error) { return nil, nil },
		Tasks:   func() (tasks.Options, error) { return tasks.Options{}, errors.New("no attempts run here") },
	})
	defer all.Close()
	ctx := context.Background()
	hub, err := all.Hub(ctx)
	if err != nil {
		return err
	}
	db, err := all.Store(ctx)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	// The patience is short, so that a call becomes a task if a scenario expects
	// a task.
	runner := calls.New(calls.Options{Patience: 300 * time.Millisecond, Log: log,
		Open: func(context.Context) (*elicit.Hub, *store.DB, error) { return hub, db, nil }})
	defer runner.Close()
	server, err := mcpserver.New(mcpserver.Options{Name: "conformance", Logger: log}, contract.Catalog{Tools: tools(hub, runner)})
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/mcp\n", listener.Addr())
	mux := http.NewServeMux()
	mux.Handle("/mcp", server.Handler())
	return http.Serve(listener, mux)
}
