package main

import (
	"log/slog"

	"github.com/deskhand/deskhand/runtime/elicit"
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
