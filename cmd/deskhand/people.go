package main

import (
	"context"
	"log/slog"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
)

// place is where questions and answers are kept: the setting, or else the state
// folder.
func (s *settings) place() (string, error) {
	if place := s.get("store"); place != "" {
		return place, nil
	}
	return s.stateFolder()
}

// hub opens the store and starts a hub over it; stop ends both. log gets a line
// for each request that opens or ends; nil: none.
func (a *app) hub(ctx context.Context, log *slog.Logger) (hub *elicit.Hub, stop func(), err error) {
	place, err := a.settings.place()
	if err != nil {
		return nil, nil, err
	}
	db, err := store.Open(ctx, place, elicit.Room())
	if err != nil {
		return nil, nil, err
	}
	hub = elicit.New(db, elicit.Options{Attended: attended(), Log: log})
	return hub, func() {
		hub.Close()
		if err := db.Close(); err != nil && log != nil {
			log.Warn("store not closed", "error", err)
		}
	}, nil
}

// attended says that a person may come and look: this is no build that runs on
// its own.
func attended() bool { return env("CI") == "" }
