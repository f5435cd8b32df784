// Package surface lists the ways to reach a person that run next to a server, for
// as long as it runs. They show the requests of every process that uses its store.
// Terminals are not included, because a person starts them.
package surface

import (
	"context"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/surface/slack"
)

// Options holds the options of each surface. A nil field disables the surface.
type Options struct {
	Slack *slack.Options
}

// Standing is a surface that runs without a person starting it.
type Standing interface {
	Name() string
	// Run works until ctx ends and then returns nil. An error is final.
	Run(ctx context.Context) error
}

// Schemas returns the schemas that a store must be opened with for the surfaces,
// in addition to elicit's.
func Schemas() []store.Schema { return []store.Schema{slack.Schema()} }

// New returns the enabled surfaces. Its errors are faults that name the setting to
// fix.
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
