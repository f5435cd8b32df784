#!/usr/bin/env bash
# What action.yml runs. Inputs are in the environment as INPUT_NAME, outputs go to
# $GITHUB_OUTPUT if it is set, else to stdout.
#
#   run.sh            add or sync, measure, push
#   run.sh key        the outputs key and prefix, for a cache of what would be done
#   run.sh install    build deskhand into $1 unless it is in PATH
set -euo pipefail

source=${INPUT_SOURCE:-} name=${INPUT_NAME:-} library=${INPUT_LIBRARY:-${INPUT_NAME:-}}

fail() {
	echo "deskhand action: $1" >&2
	exit 1
}

# output NAME VALUE: a value of one line.
output() {
	case $2 in *$'\n'*) fail "the output $1 has several lines" ;; esac
	if [ -n "${GITHUB_OUTPUT:-}" ]; then echo "$1=$2" >>"$GITHUB_OUTPUT"; else echo "$1=$2"; fi
}

# field NAME: its value in JSON that deskhand printed, where it stands alone in a line.
field() { sed -n "s/^  \"$1\": \"\\(.*\\)\",\\{0,1\\}\$/\\1/p" | head -n 1; }

key() {
	local what
	if [ -z "$source" ]; then
		[ -f deskhand.lock ] || fail "there is no deskhand.lock in $PWD: run deskhand sync and commit it, or name a source"
		what=$(git hash-object deskhand.lock)
	elif what=$(git rev-parse --verify --quiet "HEAD:./$source" 2>/dev/null); then
		: # the tree of a folder
	else
		what=$(printf %s "$source" | git hash-object --stdin)
	fi
	local prefix
	prefix="deskhand-${RUNNER_OS:-$(uname)}-$(printf '%s\n' "$source" "$name" "${INPUT_VERSION:-}" "${INPUT_PATH:-}" | git hash-object --stdin | cut -c1-12)-"
	output prefix "$prefix"
	output key "$prefix$what"
}

install() {
	if command -v deskhand >/dev/null; then
		return
	fi
	mkdir -p "$1"
	(cd "$(dirname "$0")/../.." && CGO_ENABLED=0 go build -trimpath -o "$1/" ./cmd/deskhand)
	if [ -n "${GITHUB_PATH:-}" ]; then echo "$1" >>"$GITHUB_PATH"; else echo "$1"; fi
}

run() {
	local http=() flags=() cases=() refs=()
	if [ "${INPUT_PLAIN_HTTP:-false}" = true ]; then http=(--plain-http); fi
	mkdir -p .deskhand/shelf # the project's own
	if [ -n "$source" ]; then
		[ -z "$name" ] || flags+=(--name "$name")
		[ -z "${INPUT_VERSION:-}" ] || flags+=(--version "$INPUT_VERSION")
		[ -z "${INPUT_PATH:-}" ] || flags+=(--path "$INPUT_PATH")
		deskhand add ${flags[@]+"${flags[@]}"} ${http[@]+"${http[@]}"} -- "$source"
		if [ -z "$library" ]; then
			library=$(deskhand list --json | sed -n 's/^    "name": "\(.*\)",$/\1/p')
		fi
	else
		if [ "${INPUT_LOCKED:-true}" = true ]; then flags=(--locked); fi
		deskhand sync ${flags[@]+"${flags[@]}"} ${http[@]+"${http[@]}"}
	fi
	read -ra cases <<<"${INPUT_CASES:-}"
	read -ra refs <<<"${INPUT_PUSH:-}"
	if [ -z "$library" ]; then
		[ ${#cases[@]} -eq 0 ] && [ ${#refs[@]} -eq 0 ] || fail "name the library to measure and push"
		return
	fi
	case $library in *$'\n'*) fail "there are several libraries on the shelf: name the one to measure and push" ;; esac
	[ -z "${INPUT_VERSION:-}" ] || case $library in *?@*) ;; *) library="$library@$INPUT_VERSION" ;; esac
	local shown version
	shown=$(deskhand show "$library" --json)
	library=$(field name <<<"$shown") version=$(field version <<<"$shown")
	library="$library${version:+@$version}"
	output library "$library"
	output index "$(field folder <<<"$shown")"
	if [ ${#cases[@]} -gt 0 ]; then
		deskhand eval --index "$(field folder <<<"$shown")" ${INPUT_MIN_NDCG:+--min-ndcg "$INPUT_MIN_NDCG"} -- "${cases[@]}"
	fi
	push ${refs[@]+"${refs[@]}"}
}

push() {
	local ref pushed digest="" from=()
	if [ -n "${GITHUB_REPOSITORY:-}" ]; then
		from=(--annotation "org.opencontainers.image.source=${GITHUB_SERVER_URL:-https://github.com}/$GITHUB_REPOSITORY")
	fi
	for ref in "$@"; do
		pushed=$(deskhand push --json ${http[@]+"${http[@]}"} ${from[@]+"${from[@]}"} -- "$library" "$ref")
		digest=$(field digest <<<"$pushed")
		echo "pushed $library to $ref, $digest"
		[ -z "${GITHUB_STEP_SUMMARY:-}" ] || echo "Pushed \`$library\` to \`$ref\`: \`$digest\`" >>"$GITHUB_STEP_SUMMARY"
	done
	[ -z "$digest" ] || output digest "$digest"
}

case ${1:-run} in
run) run ;;
key) key ;;
install) install "${2:?the folder to build into}" ;;
*) fail "unknown command $1" ;;
esac
