#!/bin/sh
# Runs the MCP conformance suite against deskhand as a client: each scenario is a
# server that becomes an upstream. `make conformance` builds the binary and calls
#
#   run.sh BINARY [WORD]
#
# With WORD, only scenarios with that word run. One line a scenario, and the
# checks that failed; exit 1 if one fails that expected.txt does not have. It
# needs Node.js 22 or newer, npm and the network, or npm's cache. The packages go
# into a temporary folder.
set -eu

SUITE=@modelcontextprotocol/conformance@0.2.0-alpha.12

fail() {
	echo "conformance: $*" >&2
	exit 1
}

[ $# -ge 1 ] || fail "usage: run.sh BINARY [WORD]"
[ -x "$1" ] || fail "NOT RUN: there is no program $1 (run make)"
command -v npm >/dev/null || fail "NOT RUN: npm is missing (it comes with most packages of Node.js)"
node -e 'process.exit(parseInt(process.versions.node) < 22 ? 1 : 0)' || fail "NOT RUN: node is missing or older than 22"
BINARY=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
here=$(cd "$(dirname "$0")" && pwd)
export BINARY

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work"
echo '{"private":true}' >package.json
npm install --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error "$SUITE" >npm.log 2>&1 || {
	cat npm.log >&2
	fail "NOT RUN: npm could not install $SUITE"
}
suite="node node_modules/@modelcontextprotocol/conformance/dist/index.js"
echo "$SUITE, $(date -u +%Y-%m-%d)"
wrong=0
for scenario in $($suite list --client | sed -n 's/^  - \([^ ]*\).*/\1/p'); do
	case $scenario in *"${2:-}"*) ;; *) continue ;; esac
	status=passed
	$suite client --command "node $here/client.mjs" --scenario "$scenario" --verbose -o res >out.txt 2>&1 || status=FAILED
	count=$(sed -n 's/^Passed: \([0-9/]*\).*/\1/p' out.txt)
	[ "$count" != 0/0 ] || status='nothing to check'
	if grep -qx "$scenario" "$here/expected.txt"; then
		[ $status = FAILED ] && status='not supported' || { status="passes now: take it out of expected.txt"; wrong=1; }
	elif [ "$status" = FAILED ]; then
		wrong=1
	fi
	echo "$scenario: $count $status"
	[ "$status" != FAILED ] || { grep -a FAILURE out.txt | cut -c1-300; cat res/*/std*.txt res/*/*/std*.txt 2>/dev/null | tail -20; }
	rm -rf res
done
exit $wrong
