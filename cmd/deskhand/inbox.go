package main

import (
	"context"
	"os"
	"runtime"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/surface/terminal"
)

func inboxCommand(a *app) *cobra.Command {
	var plain bool
	cmd := &cobra.Command{
		Use:   "inbox",
		Short: "See the questions of all agents, and answer them",
		Args:  arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return managing(a.inbox(cmd.Context(), plain))
		},
	}
	cmd.Flags().BoolVar(&plain, "plain", false, "line by line, as for a screen reader")
	return cmd
}

func (a *app) inbox(ctx context.Context, plain bool) error {
	device, err := terminal.Open()
	if err != nil {
		return misuse("deskhand inbox needs a terminal", "without one: deskhand ask list, and deskhand ask answer")
	}
	defer device.Close()
	hub, stop, err := a.hub(ctx, nil)
	if err != nil {
		return err
	}
	defer stop()
	// While it is open a person can be reached from every process on the store.
	_, _, detach, err := hub.Attach(ctx, elicit.Station{Kind: terminal.Channel})
	if err != nil {
		return err
	}
	defer detach()
	return terminal.Inbox(ctx, device, hub, linewise(plain))
}

// device is the terminal of a person who can be asked there; nil if there is
// none, if nothing of this command is at it, or in a build.
func (a *app) device() *terminal.Device {
	if !attended() || !onTerminal(a.stdin) && !onTerminal(a.stdout) && !onTerminal(a.stderr) {
		return nil
	}
	d, err := terminal.Open()
	if err != nil {
		return nil
	}
	return d
}

func onTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// linewise says that a terminal is to be talked to line by line.
func linewise(plain bool) bool {
	return plain || dumb() || os.Getenv("TERM") == "" && runtime.GOOS != "windows" || env("ACCESSIBLE") != ""
}
