// Command server is the server of the suite's tasks-* scenarios: the tools that
// they call, published by the packages that deskhand serve publishes its own
// with. It prints its address and serves until it is killed.
//
//	go run ./cmd/deskhand/testdata/conformance/server FOLDER
package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/deskhand/deskhand/runtime/calls"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/store"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder string) error {
	db, err := store.Open(context.Background(), folder, elicit.Room(), calls.Room())
	if err != nil {
		return err
	}
	defer db.Close()
	hub := elicit.New(db, elicit.Options{})
	defer hub.Close()
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	// Short, so that what the scenarios want as a task is one.
	keeper := calls.New(calls.Options{Patience: 300 * time.Millisecond, Log: log,
		Open: func(context.Context) (*elicit.Hub, *store.DB, error) { return hub, db, nil }})
	defer keeper.Close()
	server, err := mcpserver.New(mcpserver.Options{Name: "conformance", Logger: log}, contract.Catalog{Tools: tools(hub, keeper)})
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
