package main

import (
	"path/filepath"
	"time"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/search"
)

// searching is how an index is opened.
func (a *app) searching() (o search.Options, err error) {
	switch kind := a.settings.get("vectors"); kind {
	case "scan", "chromem":
		o.Chromem = kind == "chromem"
	default:
		return o, a.settings.wrong("vectors", "which nothing is searched with", "use scan or chromem")
	}
	o.EmbedTimeout, err = time.ParseDuration(a.settings.get("embed-timeout"))
	if err != nil || o.EmbedTimeout < time.Millisecond || o.EmbedTimeout > longestEmbedTimeout {
		return o, a.settings.wrong("embed-timeout", "not a time between 1ms and "+longestEmbedTimeout.String(), "write it as 800ms or 2s")
	}
	o.Embedder = a.settings.get("embed")
	o.Log, err = a.logger()
	return o, err
}

// longestEmbedTimeout is as long as clients wait for an answer.
const longestEmbedTimeout = 30 * time.Second

// embedder opens what makes the vectors of a build.
func (a *app) embedder() (embed.Embedder, error) {
	var o embed.Options
	if dir := a.settings.cacheFolder(); dir != "" {
		o.Cache = filepath.Join(dir, "embeddings")
	}
	return embed.OpenWith(a.settings.get("embed"), o)
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
