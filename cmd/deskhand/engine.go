package main

import (
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/search"
)

// searching is how an index is opened.
func (a *app) searching() (search.Options, error) {
	switch kind := a.settings.get("vectors"); kind {
	case "scan":
		return search.Options{}, nil
	case "chromem":
		return search.Options{Chromem: true}, nil
	default:
		return search.Options{}, a.settings.wrong("vectors", "which nothing is searched with", "use scan or chromem")
	}
}

// engine opens the index for one command, and tells of vectors that it cannot
// use.
func (a *app) engine() (*search.Engine, error) {
	o, err := a.searching()
	if err != nil {
		return nil, err
	}
	engine, err := search.OpenWith(a.settings.get("index"), o)
	if err != nil {
		return nil, err
	}
	if err := engine.Mute(); err != nil {
		a.tell(mute(err))
	}
	return engine, nil
}

// mute words why an index is searched by words alone.
func mute(err error) string {
	text := "searching by words alone: " + err.Error()
	if f := fault.Of(err); f != nil && f.Hint != "" {
		text += "; " + f.Hint
	}
	return text
}
