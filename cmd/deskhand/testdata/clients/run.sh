#!/bin/sh
# Tries deskhand with the clients that others wrote in TypeScript: of MCP, both
# lines of the SDK and the inspector's CLI, over stdio and over HTTP. `make
# clients` builds the binary, indexes the manual and calls
#
#   run.sh BINARY INDEX
#
# INDEX is of corpus/, since the checks know what is in the manual. It needs
# node, npm and the network, or npm's cache. The packages go into a temporary
# folder, nothing into the repository. One line a client and transport; exit 1
# if one fails or something is missing.
set -eu

fail() {
	echo "clients: $*" >&2
	exit 1
}

absolute() { echo "$(cd "$(dirname "$1")" && pwd)/$(basename "$1")"; }

[ $# -eq 2 ] || fail "usage: run.sh BINARY INDEX"
command -v node >/dev/null || fail "NOT RUN: node is missing (install Node.js 22.19 or newer)"
command -v npm >/dev/null || fail "NOT RUN: npm is missing (it comes with most packages of Node.js)"
node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' ||
	fail "NOT RUN: node $(node -v) is too old (install Node.js 22.19 or newer)"
[ -x "$1" ] || fail "NOT RUN: there is no program $1 (run make)"
[ -f "$2/metadata.json" ] || fail "NOT RUN: there is no index in $2 (run $1 index -o $2)"
binary=$(absolute "$1")
index=$(absolute "$2")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cp "$(dirname "$0")"/*.mjs "$(dirname "$0")"/package*.json "$work"
cd "$work"
echo "clients: npm installs them into $work" >&2
npm ci --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error >npm.log 2>&1 || {
	cat npm.log >&2
	fail "NOT RUN: npm could not install the clients"
}
node main.mjs "$binary" "$index"
