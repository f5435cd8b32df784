#!/bin/sh
# Builds the target server of the Dockerfile with podman, without a daemon and without
# the network: the program was built here, so the stage that compiles it is replaced.
# Then it pushes the image to a registry on this machine, pulls it, and runs it read-only
# and without rights. Nothing is left in podman's own store.
#
#	container.sh PROGRAM DOCS
set -eu

fail() {
	echo "container: $*" >&2
	exit 1
}

[ $# -eq 2 ] || fail "usage: container.sh PROGRAM DOCS"
for name in podman tar; do
	command -v $name >/dev/null || { echo "container: NOT RUN: $name is missing (install $name)" >&2; exit 0; }
done
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
docs=$(cd "$2" && pwd)
dockerfile=$(cd "$(dirname "$0")/../.." && pwd)/Dockerfile
work=$(mktemp -d)
registry=
pod() { podman --root "$work/store" --runroot "$work/run" "$@"; }
finish() {
	pod rm -fa >/dev/null 2>&1 || true
	[ -z "$registry" ] || kill "$registry" 2>/dev/null || true
	pod rmi -fa >/dev/null 2>&1 || true
	podman unshare rm -rf "$work" 2>/dev/null || rm -rf "$work"
}
trap finish EXIT

# What the stage build makes, with the owners that it sets.
root=$work/context/root
mkdir -p "$root/usr/bin" "$root/etc/ssl/certs" "$root/tmp" "$root/var/lib/deskhand" "$root/docs"
cp "$program" "$root/usr/bin/deskhand"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/" 2>/dev/null || :
echo 'deskhand:x:65532:65532::/var/lib/deskhand:/sbin/nologin' >"$root/etc/passwd"
echo 'deskhand:x:65532:' >"$root/etc/group"
chmod 1777 "$root/tmp"
(cd "$root" && tar --owner=0 --group=0 --exclude=./var/lib/deskhand -cf ../root.tar . &&
	tar --owner=65532 --group=65532 -rf ../root.tar ./var/lib/deskhand)
{
	echo 'FROM scratch AS build'
	echo 'ADD root.tar /root-of-image/'
	sed -n '/^FROM scratch AS server/,$p' "$dockerfile"
} >"$work/context/Dockerfile"
image=localhost/deskhand:test
pod build --format docker --quiet --tag "$image" "$work/context" >"$work/said" 2>&1 || fail "podman build: $(cat "$work/said")"
echo "ok   podman build: $(pod image inspect --format '{{.Size}}' "$image") bytes"

if command -v docker-registry >/dev/null && command -v curl >/dev/null; then
	port=$((20000 + $$ % 10000))
	printf 'version: 0.1\nstorage: { filesystem: { rootdirectory: %s } }\nhttp: { addr: "127.0.0.1:%s" }\n' "$work/registry" $port >"$work/registry.yml"
	docker-registry serve "$work/registry.yml" >"$work/registry.log" 2>&1 &
	registry=$!
	curl -sf --retry 40 --retry-connrefused --retry-delay 1 -o /dev/null "http://127.0.0.1:$port/v2/" || fail "the registry does not start: $(cat "$work/registry.log")"
	there=127.0.0.1:$port/deskhand:test
	pod push --quiet --tls-verify=false "$image" "$there" >"$work/said" 2>&1 || fail "push: $(cat "$work/said")"
	pod rmi -f "$image" >/dev/null
	pod pull --quiet --tls-verify=false "$there" >"$work/said" 2>&1 || fail "pull: $(cat "$work/said")"
	image=$there
	echo "ok   pushed to a registry and pulled from it"
else
	echo "container: NOT TESTED: push and pull: install docker-registry and curl" >&2
fi

# Some machines let nobody raise limits, or have a runtime that does not know their cgroups.
started=
for runtime in "" crun runc; do
	for limits in "" "--ulimit nofile=1024:1024 --ulimit nproc=1000:1000"; do
		[ -z "$started" ] || continue
		[ -z "$runtime" ] || command -v $runtime >/dev/null || continue
		flags=${runtime:+--runtime $runtime}
		if pod $flags run -d --name desk $limits --no-healthcheck --network none --read-only --tmpfs /tmp --cap-drop ALL \
			--security-opt no-new-privileges -v "$docs:/docs:ro" -v desk:/var/lib/deskhand "$image" >"$work/said" 2>&1; then
			started=${runtime:-podman\'s runtime}
		else
			pod $flags rm -f desk >/dev/null 2>&1 || true
		fi
	done
done
[ -n "$started" ] || { echo "container: NOT TESTED: running the image: no runtime starts it here: $(tail -1 "$work/said")" >&2; exit 0; }
inside() { pod $flags exec desk "$@"; }
n=0
until inside /usr/bin/deskhand health --ready >"$work/said" 2>&1; do
	n=$((n + 1))
	[ $n -lt 120 ] || fail "not ready after 120 checks: $(cat "$work/said"; pod $flags logs desk 2>&1)"
	sleep 0.5
done
echo "ok   $started runs it: $(cat "$work/said")"
health=$(sed -n '/^FROM scratch AS server/,$p' "$dockerfile" | sed -n 's/^HEALTHCHECK.* CMD //p' | tr -d '[],"')
inside $health >"$work/said" 2>&1 || fail "the health check fails: $(cat "$work/said")"
echo "ok   health check: $(cat "$work/said")"
inside /usr/bin/deskhand search -n 1 "health check of a container" >"$work/said" 2>&1 || fail "search: $(cat "$work/said")"
echo "ok   search finds: $(head -1 "$work/said")"
if inside /usr/bin/deskhand index /docs -o /index >"$work/said" 2>&1; then fail "it can write into its root"; fi
echo "ok   the root is read-only"
