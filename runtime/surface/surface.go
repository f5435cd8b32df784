// Package surface lists the ways to reach a person that run together with a
// server, for as long as the server runs. They show the requests of every
// process that uses the server's store. Terminals are not included, because a
// person starts them.
package surface

import (
	"context"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/surface/slack"
)

// Options holds the options of each surface. If a field is nil, that surface is
// disabled.
type Options struct {
	Slack *slack.Options
}

// Standing is a surface that runs without having been started by a person.
type Standing interface {
	Name() string
	// Run works until ctx ends, and then returns nil. After an error, it cannot
	// continue.
	Run(ctx context.Context) error
}

// Schemas returns the surfaces' schemas. A store must be opened with these
// schemas in addition to elicit's.
func Schemas() []store.Schema { return []store.Schema{slack.Schema()} }

// New returns the enabled surfaces. Its errors are faults. A fault names the
// setting to fix.
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
