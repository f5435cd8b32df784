package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/deskhand/deskhand/runtime/eval"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/tools/docs"
)

// remote judges any MCP server that has search_docs and get_doc.
type remote struct{ client *mcpserver.Client }

func (r remote) Search(ctx context.Context, query string, filters map[string]string, limit int, cursor string) ([]eval.Hit, string, error) {
	args := map[string]any{"query": query, "limit": limit}
	for k, v := range filters {
		args[k] = v
	}
	if cursor != "" {
		args["cursor"] = cursor
	}
	text, err := r.call(ctx, "search_docs", args)
	if err != nil {
		return nil, "", err
	}
	var result docs.SearchResult
	if err := json.Unmarshal([]byte(text), &result); err != nil {
		return nil, "", fmt.Errorf("read answer of search_docs: %w", err)
	}
	var hits []eval.Hit
	for _, h := range result.Hits {
		hits = append(hits, eval.Hit{ID: h.ChunkID, Path: h.Filepath, Heading: h.Heading, Breadcrumb: h.Breadcrumb, Metadata: maps.Clone(h.Metadata)})
	}
	next := ""
	if result.NextCursor != nil {
		next = *result.NextCursor
	}
	return hits, next, nil
}

func (r remote) Text(ctx context.Context, chunkID string) (string, error) {
	text, err := r.call(ctx, "get_doc", map[string]any{"chunk_id": chunkID})
	if err != nil {
		return "", err
	}
	_, body, _ := strings.Cut(text, "\n")
	return body, nil
}

func (r remote) call(ctx context.Context, tool string, args map[string]any) (string, error) {
	text, _, isError, err := r.client.Call(ctx, tool, args)
	if err != nil {
		return "", err
	}
	if isError {
		return "", errors.New(text)
	}
	return text, nil
}
