#!/bin/sh
# Drives the pages in a real browser: the stories of people who answer on the
# web, alone, together and with a terminal, and what goes wrong meanwhile. `make
# test-web` builds the binary and calls
#
#   run.sh BINARY [FOLDER [STORY]]
#
# It needs chromium, node, npm and the network, or npm's cache. The packages go
# into a temporary folder, nothing into the repository. With FOLDER, pictures of
# the pages are put there; with STORY, only stories with that word run. One line
# a story; exit 1 if one fails or something is missing. SITE is the folder of make
# site, whose stories run if it is set.
set -eu

fail() {
	echo "test-web: $*" >&2
	exit 1
}

[ $# -ge 1 ] || fail "usage: run.sh BINARY [FOLDER [STORY]]"
command -v node >/dev/null || fail "NOT RUN: node is missing (install Node.js 20 or newer)"
command -v npm >/dev/null || fail "NOT RUN: npm is missing (it comes with most packages of Node.js)"
browser=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
command -v script >/dev/null || fail "NOT RUN: script is missing (install the package bsdutils or util-linux)"
[ -n "$browser" ] || fail "NOT RUN: chromium is missing (install the package chromium, or name a browser in CHROMIUM)"
[ -x "$1" ] || fail "NOT RUN: there is no program $1 (run make)"
binary=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
pictures=
[ -z "${SITE:-}" ] || SITE=$(cd "$SITE" && pwd)
[ -z "${2:-}" ] || { mkdir -p "$2" && pictures=$(cd "$2" && pwd); }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cp "$(dirname "$0")"/*.mjs "$(dirname "$0")"/*.html "$(dirname "$0")"/package*.json "$work"
cd "$work"
npm ci --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error >npm.log 2>&1 || {
	cat npm.log >&2
	fail "NOT RUN: npm could not install playwright-core, axe-core and ext-apps"
}
BINARY=$binary BROWSER=$browser PICTURES=$pictures STORY=${3:-} SITE=${SITE:-} node "${SCRIPT:-main.mjs}"
