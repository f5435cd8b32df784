package main

import (
	"context"
	"log/slog"
	"sync"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/surface"
	"github.com/deskhand/deskhand/runtime/surface/slack"
)

// surfaces reads the settings of what reaches people beside a server; the zero
// value is none. Tokens come from the environment alone.
func (a *app) surfaces(log *slog.Logger) (o surface.Options, err error) {
	if a.settings.get("slack.channel") == "" {
		return o, nil
	}
	s := &slack.Options{Channel: a.settings.get("slack.channel"), API: a.settings.get("slack.api"), Log: log,
		AppToken: env("DESKHAND_SLACK_APP_TOKEN"), BotToken: env("DESKHAND_SLACK_BOT_TOKEN")}
	if s.People, err = a.slackPeople(); err != nil {
		return o, err
	}
	o.Slack = s
	_, err = surface.New(nil, nil, o) // what is wrong with the settings is said at the start
	return o, err
}

func (a *app) slackPeople() (people []slack.Person, err error) {
	for _, text := range a.settings.list("slack.people") {
		p, err := slack.ParsePerson(text)
		if err != nil {
			return nil, err
		}
		people = append(people, p)
	}
	return people, nil
}

// members are whom questions can be for: whoever uses this machine, and whom the
// settings name. Those of other processes are announced by their surfaces.
func (a *app) members() ([]elicit.Member, error) {
	members := []elicit.Member{{Principal: elicit.Local}}
	if a.settings.get("slack.channel") == "" {
		return members, nil
	}
	people, err := a.slackPeople()
	return append(members, slack.Members(people)...), err
}

// stand keeps surfaces up until ctx ends. What becomes of them is told to the
// log: a server answers without them too.
func (a *app) stand(ctx context.Context, o surface.Options, log *slog.Logger) {
	if o == (surface.Options{}) {
		return
	}
	if err := a.standing(ctx, o, log); err != nil && ctx.Err() == nil {
		log.Error("surfaces are off", "error", err)
	}
}

func (a *app) standing(ctx context.Context, o surface.Options, log *slog.Logger) error {
	place, err := a.settings.place()
	if err != nil {
		return err
	}
	options, tell, err := a.hubOptions(log)
	if err != nil {
		return err
	}
	defer tell()
	db, err := store.Open(ctx, place, append(surface.Rooms(), elicit.Room())...)
	if err != nil {
		return err
	}
	defer db.Close()
	hub := elicit.New(db, options)
	defer hub.Close()
	all, err := surface.New(db, hub, o)
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	for _, s := range all {
		running.Go(func() {
			err := s.Run(ctx)
			if f := fault.Of(err); f != nil {
				log.Error("surface is off", "surface", s.Name(), "error", f.Message, "hint", f.Hint)
			} else if err != nil {
				log.Error("surface is off", "surface", s.Name(), "error", err)
			}
		})
	}
	running.Wait()
	return nil
}
