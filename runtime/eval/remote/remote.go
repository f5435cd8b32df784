// Package remote measures the search of another MCP server, either started as a
// process or reached over HTTP.
package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/eval"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	textutil "github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/tools/docs"
)

// Server is any MCP server with tools whose names end in search_docs and get_doc.
type Server struct {
	client      *mcpserver.Client
	Tools       []string // names of all its tools
	search, get string   // names of these two tools
}

// New requests the client's list of tools. It fails if none of them searches docs.
func New(ctx context.Context, client *mcpserver.Client) (Server, error) {
	tools, err := client.ListTools(ctx)
	if err != nil {
		return Server{}, err
	}
	r := Server{client: client}
	for _, t := range tools {
		r.Tools = append(r.Tools, t.Name)
	}
	r.search, r.get = endingIn(r.Tools, "search_docs"), endingIn(r.Tools, "get_doc")
	if r.search == "" {
		return r, fault.New("no_search_docs", "the server has no tool search_docs; it has: "+textutil.Some(r.Tools, 30), "use a server that serves docs")
	}
	return r, nil
}

// endingIn returns tool if names contains it, otherwise the first name that ends
// in tool, or "" if there is none.
func endingIn(names []string, tool string) string {
	if slices.Contains(names, tool) {
		return tool
	}
	for _, name := range names {
		if strings.HasSuffix(name, tool) {
			return name
		}
	}
	return ""
}

// Search implements [eval.Engine].
func (r Server) Search(ctx context.Context, query string, filters map[string]string, limit int, cursor string) ([]eval.Hit, string, error) {
	args := map[string]any{"query": query, "limit": limit}
	for k, v := range filters {
		args[k] = v
	}
	if cursor != "" {
		args["cursor"] = cursor
	}
	text, err := r.call(ctx, r.search, args)
	if err != nil {
		return nil, "", err
	}
	var result docs.SearchResult
	if json.Unmarshal([]byte(text), &result) != nil {
		return nil, "", fmt.Errorf("%s did not return valid search_docs JSON", r.search)
	}
	var hits []eval.Hit
	for _, h := range result.Hits {
		hits = append(hits, eval.Hit{ID: h.ChunkID, Path: h.Filepath, Heading: h.Heading, Breadcrumb: h.Breadcrumb, Metadata: maps.Clone(h.Metadata), Library: h.Library})
	}
	next := ""
	if result.NextCursor != nil {
		next = *result.NextCursor
	}
	return hits, next, nil
}

// Text implements [eval.Engine].
func (r Server) Text(ctx context.Context, chunkID string) (string, error) {
	if r.get == "" {
		return "", errors.New("the server has no tool get_doc")
	}
	text, err := r.call(ctx, r.get, map[string]any{"chunk_id": chunkID})
	if err != nil {
		return "", err
	}
	_, body, _ := strings.Cut(text, "\n")
	return body, nil
}

func (r Server) call(ctx context.Context, tool string, args map[string]any) (string, error) {
	text, _, isError, err := r.client.Call(ctx, tool, args)
	if err != nil {
		return "", err
	}
	if isError {
		return "", errors.New(text)
	}
	return text, nil
}
