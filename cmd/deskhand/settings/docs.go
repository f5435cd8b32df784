package settings

import (
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/tools/docs"
)

// docs returns the settings of the served index.
func (s *Settings) docs(stderr io.Writer) (d app.Docs, err error) {
	d.Dir = s.Index()
	if d.Shelf, d.Own, err = s.Served(); err != nil {
		return d, err
	}
	d.ShelfLater = s.ServedShelf
	d.Beside, d.Project = s.besideIndex(d.Shelf), "."
	if d.Tools, err = s.docsOptions(); err != nil {
		return d, err
	}
	if err = s.check("search.log"); err != nil {
		return d, err
	}
	d.Record = s.get("search.log") == "on"
	d.Searching, err = s.Searching(stderr)
	return d, err
}

// docsOptions returns the settings of the docs tools.
func (s *Settings) docsOptions() (o docs.Options, err error) {
	if o.Prefix, err = s.checked("tool-prefix"); err != nil {
		return o, err
	}
	o.MaxAnswerBytes = s.number("max-answer-bytes")
	return o, s.check("max-answer-bytes")
}

// Searching returns the options for opening an index. The index's log is written
// to stderr.
func (s *Settings) Searching(stderr io.Writer) (o search.Options, err error) {
	if err = s.check("vectors", "embed-timeout"); err != nil {
		return o, err
	}
	o.Chromem, o.EmbedTimeout, o.Embedder = s.get("vectors") == "chromem", s.time("embed-timeout"), s.get("embed")
	o.Log, err = s.Logger(stderr)
	return o, err
}

// Embedder opens the model that computes the vectors for a build.
func (s *Settings) Embedder() (embed.Embedder, error) {
	var o embed.Options
	if dir := s.cacheFolder(); dir != "" {
		o.Cache = filepath.Join(dir, "embeddings")
	}
	return embed.OpenWith(s.get("embed"), o)
}

// serverName returns the name that the server reports.
func (s *Settings) serverName() string {
	if name := s.get("name"); name != "" {
		return name
	}
	if prefix := s.get("tool-prefix"); prefix != "" {
		return prefix + "-docs-server"
	}
	return "deskhand"
}

// Groups returns the configured tool groups, in order.
func (s *Settings) Groups() (served []string, err error) {
	for name := range strings.SplitSeq(s.get("tools"), ",") {
		if name = strings.TrimSpace(name); !slices.Contains(app.Groups, name) {
			return nil, fault.Misuse(fmt.Sprintf("unknown group of tools %q", name), "use one or more of "+strings.Join(app.Groups, ", ")+", separated by commas")
		}
		served = append(served, name)
	}
	return served, nil
}

// Logger returns a logger that writes to w. w is never stdout.
func (s *Settings) Logger(w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(s.get("log-level"))); err != nil {
		return nil, fault.Misuse(fmt.Sprintf("unknown log level %q", s.get("log-level")), "use debug, info, warn or error")
	}
	options := &slog.HandlerOptions{Level: level}
	switch format := s.get("log-format"); format {
	case "text":
		return slog.New(slog.NewTextHandler(w, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, options)), nil
	default:
		return nil, fault.Misuse(fmt.Sprintf("unknown log format %q", format), "use text or json")
	}
}
