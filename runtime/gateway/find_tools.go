package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Limits for the answers of find_tools. With the definitions of both tools, an
// answer takes at most 1,200 tokens, regardless of the limit argument
// (docs/tools.md).
const (
	foundByDefault = 8
	foundAtMost    = 20
	answerBytes    = 2800
	// wholeBytes is the size limit of the answer to an exact tool name. Such an
	// answer shows all of the tool's arguments.
	wholeBytes = 8000
)

const findInput = `{"type":"object","properties":{` +
	`"query":{"type":"string","minLength":1,"maxLength":500,"description":"What to do, to what and in which service, for example \"create an issue on github\". An exact tool name shows all its arguments."},` +
	`"upstream":{"type":"string","description":"Only tools of this service."},` +
	`"limit":{"type":"integer","minimum":1,"maximum":20,"description":"How many tools, 1 to 20. Default 8."}},` +
	`"required":["query"],"additionalProperties":false}`

// findTool returns the tool that finds the others.
func (g *Gateway) findTool(all []offeredTool) contract.Tool {
	return contract.Define(contract.Spec{
		Name: g.ours("find_tools"), Title: "Find tools",
		Description: fmt.Sprintf("Find tools of connected services (%s). Returns the best matches with their arguments. Call one with %s. "+
			"If none fits, search again with other words.", listed(upstreamNames(all)), g.ours("call_tool")),
		Input: json.RawMessage(findInput), ReadOnly: true,
	}, func(ctx context.Context, _ contract.Caller, in struct {
		Query, Upstream string
		Limit           int
	}) (contract.Result, error) {
		if in.Limit == 0 {
			in.Limit = foundByDefault
		}
		return g.find(ctx, in.Query, in.Upstream, in.Limit)
	})
}

// listedNames is the maximum number of upstreams that a description names.
const listedNames = 30

func listed(names []string) string {
	if len(names) > listedNames {
		names = append(slices.Clone(names[:listedNames]), fmt.Sprintf("and %d more", len(names)-listedNames))
	}
	return strings.Join(names, ", ")
}

func (g *Gateway) find(ctx context.Context, query, upstream string, limit int) (contract.Result, error) {
	s, done, err := g.shelf(ctx)
	if err != nil {
		return contract.Result{}, err
	}
	defer done()
	if t, ok := s.byName[strings.TrimSpace(query)]; ok {
		return contract.Result{Text: []string{described(t, whole, wholeBytes)}}, nil
	}
	if upstream != "" && (g.named(upstream) == nil || !s.has(upstream)) {
		return contract.Result{}, fault.New("invalid_argument", fmt.Sprintf("No service is named '%s'", oneLine(upstream, 60)),
			"set upstream to one of "+listed(s.upstreams())+", or omit it")
	}
	names, err := s.finder.Find(ctx, query, upstream, limit)
	if err != nil {
		return contract.Result{}, err
	}
	var hits []offeredTool
	for _, name := range names {
		if t, ok := s.byName[name]; ok {
			hits = append(hits, t)
		}
	}
	if len(hits) == 0 {
		return contract.Result{Text: []string{"No tool matches. Search again with other words for the action and the object. Services: " + listed(s.upstreams()) + "."}}, nil
	}
	return contract.Result{Text: []string{g.answer(hits)}}, nil
}

func (s *toolShelf) has(upstream string) bool { return slices.Contains(s.upstreams(), upstream) }

// upstreams returns the sorted names of the upstreams that have tools.
func (s *toolShelf) upstreams() (names []string) {
	for _, t := range s.byName {
		if !slices.Contains(names, t.from.Name) {
			names = append(names, t.from.Name)
		}
	}
	slices.Sort(names)
	return names
}

// answer describes hits within answerBytes: first each as briefly as possible,
// then, in ranking order, with as much detail as fits.
func (g *Gateway) answer(hits []offeredTool) string {
	said, level := make([]string, len(hits)), make([]detail, len(hits))
	size := 0
	for i, t := range hits {
		said[i] = described(t, namesOnly, answerBytes/len(hits))
		size += len(said[i]) + 1
	}
	for d := essentials; d < whole; d++ {
		for i, t := range hits {
			if level[i] < d-1 {
				continue // even less detail did not fit
			}
			more := described(t, d, answerBytes)
			if size+len(more)-len(said[i]) > answerBytes {
				continue
			}
			size += len(more) - len(said[i])
			said[i], level[i] = more, d
		}
	}
	for i, t := range hits {
		if level[i] < types {
			return strings.Join(said, "\n") + fmt.Sprintf("\nShortened. %s {\"query\": %q} shows all arguments.", g.ours("find_tools"), t.Name)
		}
	}
	return strings.Join(said, "\n")
}

// described describes a tool in at most limit bytes.
func described(t offeredTool, d detail, limit int) string {
	about := map[detail]int{namesOnly: 80, essentials: 100, types: 140, notes: 180, whole: 4000}[d]
	line := t.Name
	if args := signature(t.Input, d); args != "" {
		line += " " + args
	}
	if said := oneLine(t.Description, about); said != "" {
		name, rest, _ := strings.Cut(line, "\n")
		line = name + "\n  " + said
		if rest != "" {
			line += "\n" + rest
		}
	}
	if len(line) > limit && d > namesOnly {
		return described(t, d-1, limit)
	}
	return line
}
