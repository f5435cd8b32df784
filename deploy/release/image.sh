#!/bin/sh
# Runs what the Dockerfile's target server starts, without Docker: the program
# alone in a root as the image has it, read-only, as user 65532, under bubblewrap,
# with the ENV, CMD and HEALTHCHECK of the Dockerfile. It does not build the image.
#
#	image.sh PROGRAM DOCS
set -eu

fail() {
	echo "image: $*" >&2
	exit 1
}

[ $# -eq 2 ] || fail "usage: image.sh PROGRAM DOCS"
command -v bwrap >/dev/null || fail "NOT RUN: bwrap is missing (install bubblewrap)"
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
docs=$(cd "$2" && pwd)
dockerfile=$(cd "$(dirname "$0")/../.." && pwd)/Dockerfile
if command -v file >/dev/null; then
	file -b "$program" | grep -q 'statically linked' || fail "$program is not static: build it with CGO_ENABLED=0"
fi

work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
mkdir -p "$work/root/usr/bin" "$work/root/etc/ssl/certs" "$work/root/tmp" "$work/root/var/lib/deskhand" "$work/root/docs" \
	"$work/root/proc" "$work/root/dev" "$work/state" # Docker makes proc and dev
cp "$program" "$work/root/usr/bin/deskhand"
echo 'deskhand:x:65532:65532::/var/lib/deskhand:/sbin/nologin' >"$work/root/etc/passwd"
[ "$(id -u)" != 0 ] || chown 65532:65532 "$work/state"
chmod 755 "$work" "$work/root" "$work/root/usr" "$work/root/usr/bin"

stage=$(sed -n '/^FROM scratch AS server/,$p' "$dockerfile")
words() { echo "$stage" | sed -n "s/^$1//p" | tr -d '[],"'; }
set --
for pair in $(words 'ENV '); do set -- "$@" --setenv "${pair%%=*}" "${pair#*=}"; done
inside() {
	bwrap --unshare-user --uid 65532 --gid 65532 --unshare-pid --die-with-parent --clearenv "$@"
}
set -- "$@" --ro-bind "$work/root" / --proc /proc --dev /dev --tmpfs /tmp --ro-bind "$docs" /docs \
	--bind "$work/state" /var/lib/deskhand --chdir /var/lib/deskhand
health=$(echo "$stage" | sed -n 's/^HEALTHCHECK.* CMD //p' | tr -d '[],"')
[ -n "$health" ] || fail "the Dockerfile has no HEALTHCHECK"

# As a user without rights, where this one has them.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	inside() {
		setpriv --reuid 65532 --regid 65532 --clear-groups bwrap --unshare-user --uid 65532 --gid 65532 --unshare-pid --die-with-parent --clearenv "$@"
	}
fi
if inside "$@" /usr/bin/deskhand index /docs -o /docs/index >"$work/said" 2>&1; then fail "it can write into /docs"; fi
if inside "$@" $health >"$work/said" 2>&1; then fail "something else answers on the port: $(cat "$work/said")"; fi
echo "ok   unhealthy before the start"
inside "$@" $(words 'ENTRYPOINT ') $(words 'CMD ') >"$work/log" 2>&1 &
server=$!
n=0
until inside "$@" $health --ready >"$work/said" 2>&1; do
	n=$((n + 1))
	kill -0 "$server" 2>/dev/null || { cat "$work/log"; fail "the server ended"; }
	[ $n -lt 120 ] || { cat "$work/log" "$work/said"; fail "not ready after 120 checks"; }
	sleep 0.5
done
echo "ok   ready: $(cat "$work/said")"
inside "$@" $health >"$work/said" 2>&1 || fail "the health check fails: $(cat "$work/said")"
echo "ok   health check: $(cat "$work/said")"
inside "$@" /usr/bin/deskhand search -n 1 "health check of a container" >"$work/said" 2>&1 || fail "search: $(cat "$work/said")"
echo "ok   search finds: $(head -1 "$work/said")"
kill "$server"
wait "$server" || true
server=
