#!/usr/bin/env bash
# Plays somebody new to deskhand, with nothing but a package of it: installs it, sets up
# three projects, connects the coding agents that are there, searches, answers a question
# in a browser, and lands a task. It prints how long each step takes and fails if one does
# not work, or if all take more than three minutes. Without chromium, node and npm, it
# answers over HTTP as a browser does, and says so.
#
#	newcomer.sh DIST|PROGRAM [AGENTS]
#
# DIST is what make release-snapshot wrote; PROGRAM is a deskhand that was built here.
# AGENTS is a folder with claude, codex, gemini and opencode.
set -euo pipefail

fail() {
	echo "newcomer: $*" >&2
	exit 1
}
[ $# -ge 1 ] || fail "usage: newcomer.sh DIST|PROGRAM [AGENTS]"
for program in git curl tar; do
	command -v $program >/dev/null || fail "NOT RUN: $program is missing"
done
package=$1 agents=${2:-}
[ -z "$agents" ] || agents=$(cd "$agents" 2>/dev/null && pwd) || agents=""

# A home of its own: no settings, no state, no other deskhand.
driver=$(cd "$(dirname "$0")/../cmd/deskhand/testdata/web" && pwd)/run.sh
export npm_config_cache="${npm_config_cache:-$HOME/.npm}" # what was downloaded before
work=$(mktemp -d)
asking=""
finish() {
	[ -z "$asking" ] || kill "$asking" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT
mkdir -p "$work/home" "$work/bin" "$work/projects"
export HOME=$work/home
unset "${!DESKHAND_@}" "${!XDG_@}" CI 2>/dev/null || true
export PATH="$work/bin:$PATH" NO_COLOR=1
export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org
export GIT_CONFIG_GLOBAL=$work/home/.gitconfig
git config --global init.defaultBranch main
git config --global user.name Ada
git config --global user.email ada@example.org

began=$(date +%s%N) last=$began
step() { # TEXT: ends a step
	now=$(date +%s%N)
	printf '%7.1f s  %s\n' "$(((now - last) / 10000000))e-2" "$1"
	last=$now
}
expect() { # FILE PATTERN WHAT
	grep -Eq "$2" "$1" || { cat "$1" >&2; fail "$3: found no $2 above"; }
}

# ---- install
if [ -d "$package" ]; then
	case "$(uname -s)-$(uname -m)" in
	Linux-x86_64) platform=linux_amd64 ;;
	Linux-aarch64) platform=linux_arm64 ;;
	Darwin-arm64) platform=darwin_arm64 ;;
	*) fail "NOT RUN: there is no package for this machine" ;;
	esac
	archive=$(ls "$package"/deskhand_*_$platform.tar.gz 2>/dev/null | tail -1) || fail "NOT RUN: $package has no archive for $platform (run make release-snapshot)"
	tar -xzf "$archive" -C "$work/bin"
	from="the archive of the snapshot"
else
	echo "newcomer: NOT TESTED: the snapshot's package; this is a program built here: $package" >&2
	cp "$package" "$work/bin/deskhand"
	from="a program built here"
fi
deskhand version >"$work/said"
step "installed from $from: $(cat "$work/said")"

# ---- three projects
handbook=$work/projects/handbook service=$work/projects/prices app=$work/projects/shop
mkdir -p "$handbook/docs" "$service/docs" "$app/docs"
printf '# Acme handbook\n\nHow we work.\n\n## Roll back a release\n\nRun `acme rollback` with the number of the release.\n' >"$handbook/docs/index.md"
printf '# Deploy\n\nTag the commit, then wait for the pipeline.\n' >"$handbook/docs/deploy.md"
printf 'module example.org/prices\n\ngo 1.22\n' >"$service/go.mod"
printf 'package main\n\nfunc main() {}\n' >"$service/main.go"
printf '# Prices\n\nThe service rounds prices to cents.\n' >"$service/docs/index.md"
printf '{"name": "shop", "version": "1.0.0"}\n' >"$app/package.json"
printf 'console.log("shop")\n' >"$app/index.js"
printf '# Shop\n\n## Pay by card\n\nThe form calls the payment service.\n' >"$app/docs/index.md"
mkdir -p "$app/node_modules/left-pad" && echo '# left-pad' >"$app/node_modules/left-pad/README.md"
echo node_modules >"$app/.gitignore"
for project in "$handbook" "$service" "$app"; do
	(cd "$project" && git init -q && git add -A && git commit -qm first)
done
step "three projects made: docs, a Go service, a Node app"

# ---- init
names=()
for name in claude codex gemini opencode; do
	if [ -n "$agents" ] && [ -x "$agents/$name" ]; then
		names+=("$name")
		ln -s "$agents/$name" "$work/bin/$name"
	else
		echo "newcomer: NOT TESTED: $name: it is not in ${agents:-a folder of agents}" >&2
	fi
done
for project in "$handbook" "$service" "$app"; do
	clients=()
	for name in "${names[@]}"; do clients+=(--client "$name"); done
	(cd "$project" && deskhand init --yes "${clients[@]}") >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "init in $project"; }
	[ -f "$project/deskhand.yaml" ] || fail "init wrote no deskhand.yaml in $project"
	grep -q '\.deskhand' "$project/.gitignore" || fail "init did not add .deskhand to $project/.gitignore"
done
step "deskhand init in each"

# ---- agents: what a person approves in them at first, then their own lists
cd "$handbook"
mkdir -p "$HOME/.codex" "$HOME/.gemini"
[ -f "$HOME/.claude.json" ] || printf '{"projects": {"%s": {"hasTrustDialogAccepted": true, "enabledMcpjsonServers": ["deskhand"]}}}\n' "$handbook" >"$HOME/.claude.json"
printf '[projects."%s"]\ntrust_level = "trusted"\n' "$handbook" >>"$HOME/.codex/config.toml"
printf '{"%s": "TRUST_FOLDER"}\n' "$handbook" >"$HOME/.gemini/trustedFolders.json"
for name in "${names[@]}"; do
	case $name in
	claude) want='deskhand: .*Connected' ;;
	codex) want='deskhand .*enabled' ;;
	gemini) want='deskhand: .*Connected' ;;
	opencode) want='deskhand +connected' ;;
	esac
	timeout 60 "$name" mcp list >"$work/said" 2>&1 </dev/null || { cat "$work/said" >&2; fail "$name mcp list"; }
	sed 's/\x1b\[[0-9;]*m//g' "$work/said" >"$work/plain"
	expect "$work/plain" "$want" "$name mcp list"
	step "$name lists deskhand as connected"
done
deskhand doctor >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "doctor"; }
step "deskhand doctor: all is well"

# ---- first search
deskhand search 'how do I roll back a release' >"$work/said"
head -1 "$work/said" | grep -q 'Roll back a release' || { cat "$work/said" >&2; fail "the first hit is not the section on rolling back"; }
step "first search: $(head -1 "$work/said")"

# ---- first question, answered in a browser
deskhand ask 'Which region?' -o 'Frankfurt=eu-central-1' -o 'Oregon=us-west-2' --no-tty --timeout 60s >"$work/answer" 2>"$work/asked" &
asking=$!
for _ in $(seq 200); do
	grep -q 'http://' "$work/asked" && break
	kill -0 "$asking" 2>/dev/null || { cat "$work/asked" >&2; fail "ask ended before anybody answered"; }
	sleep 0.05
done
id=$(grep -o 'elc_[0-9A-Z]*' "$work/asked" | head -1)
link=$(deskhand inbox --web </dev/null | head -1)
over_http() { # answers without a browser
	browse -o "$work/page" "$link"
	browse -o "$work/page" "$origin/inbox/$id"
	expect "$work/page" 'Which region' "the page of the question"
	token=$(grep -o 'name="token" content="[^"]*' "$work/page" | head -1 | cut -d'"' -f4)
	browse -o "$work/page" -H "Origin: $origin" --data-urlencode "token=$token" --data-urlencode 'a.answer=eu-central-1' --data 'do.act=send' "$origin/inbox/$id"
}
browse() { curl -sSf --max-time 20 -b "$work/cookies" -c "$work/cookies" -H 'Accept: text/html' -L "$@"; }
origin=${link%%/login*}
if SCRIPT=answer.mjs LINK=$link QUESTION=$id OPTION=Frankfurt "$driver" "$work/bin/deskhand" >"$work/said" 2>&1; then
	how="a browser"
elif grep -q 'NOT RUN' "$work/said"; then
	echo "newcomer: NOT TESTED: an answer in a browser: $(grep 'NOT RUN' "$work/said")" >&2
	over_http
	how="the inbox"
else
	cat "$work/said" >&2
	fail "the question could not be answered in a browser"
fi
wait "$asking" || { cat "$work/asked" >&2; fail "ask failed"; }
asking=""
[ "$(cat "$work/answer")" = eu-central-1 ] || fail "ask printed $(cat "$work/answer"), want eu-central-1"
step "first question answered in $how: $(cat "$work/answer")"

# ---- first task, with the fake agent
cd "$service"
git add -A && git commit -qm 'deskhand init'
deskhand tasks run --agent fake 'write ROUNDING.md Prices are rounded to cents.' >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "tasks run"; }
deskhand tasks diff newest --names >"$work/said"
expect "$work/said" 'ROUNDING.md' "tasks diff"
deskhand tasks land newest --yes >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "tasks land"; }
[ -f ROUNDING.md ] || fail "the landed file is not there"
step "first task landed: $(git log -1 --format=%s)"

total=$(((last - began) / 1000000000))
echo "$(printf '%7d s' "$total")  in all"
[ "$total" -lt 180 ] || fail "it took $total s, more than three minutes"
