#!/bin/sh
# Runs the MCP conformance suite against deskhand: as a client, where each scenario
# is a server that becomes an upstream; as a server, with deskhand serve; and the
# scenarios of the tasks extension with a server that has the tools they call.
# Then the TypeScript package of that extension is a client of deskhand serve.
# `make conformance` builds the binary and calls
#
#   run.sh BINARY [WORD]
#
# With WORD, only scenarios with that word run. One line a scenario, and the
# checks that failed; exit 1 if one fails that expected.txt does not have. It
# needs Go, Node.js 22 or newer, npm and the network, or npm's cache. The packages
# go into a temporary folder.
set -eu

SUITE=@modelcontextprotocol/conformance@0.2.0-alpha.12
TASKS="@modelcontextprotocol/ext-tasks@0.2.2 @modelcontextprotocol/client@2.4.0"

# The scenarios that any server can be asked.
SERVER="server-initialize server-session-lifecycle ping logging-set-level tools-list resources-list prompts-list
	dns-rebinding-protection caching http-header-validation input-required-result-unsupported-methods
	sep-2164-resource-not-found server-stateless"

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
pid=
trap '[ -z "$pid" ] || kill $pid; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work"
echo '{"private":true}' >package.json
npm install --ignore-scripts --prefer-offline --no-audit --no-fund --loglevel=error "$SUITE" $TASKS >npm.log 2>&1 || {
	cat npm.log >&2
	fail "NOT RUN: npm could not install $SUITE $TASKS"
}
suite="node node_modules/@modelcontextprotocol/conformance/dist/index.js"
echo "$SUITE, $(date -u +%Y-%m-%d)"
wrong=0

# judge prints the line of a scenario that has run, and the checks that failed.
judge() {
	scenario=$1 status=$2
	count=$(sed -n 's/^Passed: \([0-9/]*\).*/\1/p' out.txt)
	[ "$count" != 0/0 ] || status='nothing to check'
	if grep -qx "$scenario" "$here/expected.txt"; then
		[ "$status" = FAILED ] && status='not supported' || { status="passes now: take it out of expected.txt"; wrong=1; }
	elif [ "$status" = FAILED ]; then
		wrong=1
	fi
	echo "$scenario: $count $status"
	[ "$status" != FAILED ] || { grep -a FAILURE out.txt | cut -c1-300; cat res/*/std*.txt res/*/*/std*.txt 2>/dev/null | tail -20; }
	rm -rf res
}

# chosen says whether a scenario has the word.
chosen() {
	case $1 in *"$word"*) return 0 ;; *) return 1 ;; esac
}

# serve starts a command that prints its address, into a file.
serve() {
	"$@" >address.txt 2>server.log </dev/null &
	pid=$!
	for _ in $(seq 100); do
		url=$(grep -ao 'http://127.0.0.1:[0-9]*' address.txt server.log -h | head -n 1)/mcp
		[ "$url" = /mcp ] || return 0
		sleep 0.1
	done
	cat server.log >&2
	fail "$1 did not start"
}

# ask runs scenarios against the server, and ends it.
ask() {
	for scenario in $*; do
		chosen "$scenario" || continue
		status=passed
		$suite server --url "$url" --scenario "$scenario" -o res >out.txt 2>&1 || status=FAILED
		judge "$scenario" "$status"
	done
	kill $pid
	wait $pid 2>/dev/null || true
	pid=
}

word=${2:-}
for scenario in $($suite list --client | sed -n 's/^  - \([^ ]*\).*/\1/p'); do
	chosen "$scenario" || continue
	status=passed
	$suite client --command "node $here/client.mjs" --scenario "$scenario" --verbose -o res >out.txt 2>&1 || status=FAILED
	judge "$scenario" "$status"
done

CI= DESKHAND_STATE="$work/state" serve "$BINARY" serve --tools ask --http 127.0.0.1:0 --no-token
ask $SERVER

(cd "$here" && go build -o "$work/server" ./server) || fail "NOT RUN: the server of the tasks scenarios was not built"
serve "$work/server" "$work/tasks"
ask $($suite list --server | sed -n 's/^  - \(tasks-[^ ]*\).*/\1/p')

if chosen ext-tasks; then
	cp "$here/tasks.mjs" .
	node tasks.mjs || wrong=1
fi
exit $wrong
