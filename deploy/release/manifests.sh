#!/bin/sh
# Checks the manifests by which others find and start deskhand against their own schemas:
# server.json (the MCP registry's schema, from Go's proxy), the bundle for Claude Desktop
# (its own tool, from npm) and the plugin of Claude Code (claude itself, if it is there).
#
#	manifests.sh [AGENTS]
set -eu

registry=github.com/modelcontextprotocol/registry@v1.8.8
mcpb=@anthropic-ai/mcpb@2.1.2
here=$(cd "$(dirname "$0")" && pwd)
deploy=$here/..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
	echo "manifests: $*" >&2
	exit 1
}

date=$(sed -n 's|.*/schemas/\(.*\)/server.schema.json.*|\1|p' "$deploy/mcp/server.json")
source=$(cd "$here" && go mod download -json "$registry" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
[ -n "$source" ] || fail "NOT RUN: Go did not get $registry"
(cd "$here" && go run ./validate "$source/internal/validators/schemas/$date.json" "$deploy/mcp/server.json") || fail "server.json is not valid"
echo "ok   server.json has the schema of $date"

if command -v npm >/dev/null; then
	mkdir "$work/bundle"
	cp "$deploy/mcp/manifest.json" "$work/bundle/"
	(cd "$work" && npm exec --yes --package "$mcpb" -- mcpb validate bundle/manifest.json) >"$work/said" 2>&1 || fail "manifest.json: $(cat "$work/said")"
	echo "ok   manifest.json: $(tail -1 "$work/said")"
else
	echo "manifests: NOT TESTED: the bundle's manifest: npm is missing" >&2
fi

claude=${1:+$1/}claude
if command -v "$claude" >/dev/null; then
	mkdir "$work/home"
	HOME=$work/home "$claude" plugin validate "$deploy/claude-plugin" >"$work/said" 2>&1 || fail "the plugin: $(cat "$work/said")"
	echo "ok   plugin: claude plugin validate"
else
	echo "manifests: NOT TESTED: the plugin: claude is missing (make received installs it)" >&2
fi
