package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
)

// talkInbox is the line mode of the inbox.
func talkInbox(ctx context.Context, d *Device, h *elicit.Hub) error {
	in, err := readLines(d.In)
	if err != nil {
		return err
	}
	defer in.stop()
	for {
		found, err := h.List(ctx, elicit.Filter{Limit: shownAtOnce})
		if err != nil {
			return err
		}
		id, err := pickLine(ctx, d.Out, h, found, in)
		if err != nil || id == "" {
			return err
		}
		if id == "again" {
			continue
		}
		how, err := talkOn(ctx, d, h, id, in, true)
		if err != nil || ctx.Err() != nil {
			return err
		}
		if r, err := h.Get(ctx, id); err == nil && how != putOff && r.Status != elicit.Open {
			fmt.Fprintf(d.Out, "%s: %s.\n", heading(&r), Ended(&r))
		}
	}
}

// pickLine lists the waiting requests and reads which of them the person wants
// to answer. It returns an ID, "again" if the list has changed, or "" if the
// person leaves.
func pickLine(ctx context.Context, out *os.File, h *elicit.Hub, found elicit.List, in *lines) (string, error) {
	fmt.Fprintln(out)
	if len(found.Requests) == 0 {
		fmt.Fprintln(out, "No questions are waiting. New ones appear here. Type q to leave.")
	} else {
		fmt.Fprintf(out, "Waiting: %d.\n", len(found.Requests))
	}
	for i, r := range found.Requests {
		about := asker(&r)
		if t := left(&r, time.Now()); t != "" {
			about += ", " + t
		}
		if standing := r.Standing(); standing != "" {
			about += "; " + standing
		}
		fmt.Fprintf(out, "%d. %s (from %s)\n", i+1, heading(&r), about)
	}
	if len(found.Requests) > 0 {
		fmt.Fprintln(out, "Type the number of a question to answer it, or q to leave.")
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	fresh := make(chan error, 1)
	go func() { fresh <- awaitNew(watching, h, found.Seq) }()
	defer func() { stop(); <-fresh }()
	for {
		fmt.Fprint(out, "> ")
		select {
		case <-ctx.Done():
			fmt.Fprintln(out)
			return "", nil
		case err := <-fresh:
			fresh <- nil // the deferred function receives this
			if err != nil && ctx.Err() == nil {
				return "", err
			}
			fmt.Fprintln(out, "\nThe list has changed.")
			return "again", nil
		case text, ok := <-in.out:
			text = strings.TrimSpace(text)
			n, err := strconv.Atoi(text)
			switch {
			case !ok, text == "q":
				return "", nil
			case text == "":
				return "again", nil
			case err == nil && n >= 1 && n <= len(found.Requests):
				return found.Requests[n-1].ID, nil
			}
			fmt.Fprintf(out, "Type a number from 1 to %d, or q.\n", len(found.Requests))
		}
	}
}

// awaitNew waits for a request that is asked or ends after the feed position
// seq.
func awaitNew(ctx context.Context, h *elicit.Hub, seq int64) error {
	w, err := h.Watch(ctx, seq, "")
	if errors.Is(err, store.ErrGone) {
		return nil // the list is read again
	}
	if err != nil {
		return err
	}
	defer w.Close()
	for {
		changes, err := w.Next(ctx)
		if errors.Is(err, store.ErrGone) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, c := range changes {
			switch c.Action.Type {
			case elicit.Requested, elicit.CompletedBy, elicit.Withdrawn:
				return nil
			}
		}
	}
}
