// Package surface lists the ways to reach a person that stand beside a server:
// they are up as long as it is, and show the requests of every process over its
// store. A terminal is not among them, since a person puts it up.
package surface

import (
	"context"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/surface/slack"
)

// Options are those of the surfaces; nil: it is not wanted.
type Options struct {
	Slack *slack.Options
}

// Standing is a surface that runs by itself.
type Standing interface {
	Name() string
	// Run works until ctx ends and then returns nil; an error is final.
	Run(ctx context.Context) error
}

// Schemas is what a store must be opened with, besides elicit's own, for the
// surfaces to work on it.
func Schemas() []store.Schema { return []store.Schema{slack.Schema()} }

// New makes the surfaces that are wanted. Its errors are faults that name the
// setting to correct.
func New(db *store.DB, hub *elicit.Hub, o Options) ([]Standing, error) {
	var all []Standing
	if o.Slack != nil {
		s, err := slack.New(db, hub, *o.Slack)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}
