#!/bin/sh
# Installs what make release-snapshot wrote into DIR for this machine into
# temporary folders, and runs it: the archive, the deb, and the npm packages
# without a network.
#
#	test.sh DIR
set -eu

fail() {
	echo "test-release: $*" >&2
	exit 1
}

[ $# -eq 1 ] || fail "usage: test.sh DIR"
[ -f "$1/checksums.txt" ] || fail "NOT RUN: there is no $1/checksums.txt (run make release-snapshot)"
dist=$(cd "$1" && pwd)
case "$(uname -s)-$(uname -m)" in
Linux-x86_64) arch=amd64 node=x64 ;;
Linux-aarch64) arch=arm64 node=arm64 ;;
*) fail "NOT RUN: it tests the Linux packages, on Linux" ;;
esac
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
(cd "$dist" && sha256sum --quiet -c checksums.txt) || fail "a checksum is wrong"
echo "ok   checksums"

archive=$(ls "$dist"/deskhand_*_linux_$arch.tar.gz)
version=v${archive##*/deskhand_}
version=${version%_linux_$arch.tar.gz}
says() { # NAME PROGRAM...: what it says is the version of the release
	name=$1
	shift
	said=$("$@" version) || fail "$name: deskhand version failed"
	case "$said" in
	"deskhand $version "*) echo "ok   $name: $said" ;;
	*) fail "$name: deskhand version says \"$said\", want $version" ;;
	esac
}

mkdir "$work/archive"
tar -xzf "$archive" -C "$work/archive"
for file in LICENSE README.md man/deskhand.1 completions/deskhand.bash; do
	[ -s "$work/archive/$file" ] || fail "the archive has no $file"
done
says archive "$work/archive/deskhand"

if command -v dpkg-deb >/dev/null; then
	deb=$(ls "$dist"/deskhand_*_linux_$arch.deb)
	root=$work/deb
	mkdir "$root"
	if [ "$(id -u)" = 0 ]; then
		mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info" "$root/var/log"
		: >"$root/var/lib/dpkg/status"
		dpkg --root="$root" --force-script-chrootless --log=/dev/null -i "$deb" >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; fail "dpkg -i failed"; }
		says "dpkg -i" "$root/usr/bin/deskhand"
		dpkg --root="$root" --log=/dev/null -r deskhand >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log"; fail "dpkg -r failed"; }
		[ ! -e "$root/usr/bin/deskhand" ] || fail "dpkg -r left the program"
		echo "ok   dpkg -r"
	else
		dpkg-deb -x "$deb" "$root"
		says "dpkg-deb -x" "$root/usr/bin/deskhand"
	fi
	[ "$(id -u)" != 0 ] || dpkg-deb -x "$deb" "$root"
	[ -s "$root/usr/share/man/man1/deskhand.1" ] || [ -s "$root/usr/share/man/man1/deskhand.1.gz" ] || fail "the deb has no manual page"
else
	echo "test-release: NOT TESTED: the deb: dpkg is missing" >&2
fi
for kind in rpm apk; do
	[ -s "$dist/deskhand_${version#v}_linux_$arch.$kind" ] || fail "there is no $kind"
done
if command -v rpm >/dev/null; then
	package=$dist/deskhand_${version#v}_linux_$arch.rpm
	rpm -qpl "$package" | grep -qx /usr/bin/deskhand || fail "the rpm has no program"
	echo "ok   rpm -qpl"
	if [ "$(id -u)" = 0 ]; then
		mkdir "$work/rpm"
		rpm --root "$work/rpm" --nodeps -i "$package" >"$work/rpm.log" 2>&1 || { cat "$work/rpm.log"; fail "rpm -i failed"; }
		says "rpm -i" "$work/rpm/usr/bin/deskhand"
		rpm --root "$work/rpm" -e deskhand >"$work/rpm.log" 2>&1 || { cat "$work/rpm.log"; fail "rpm -e failed"; }
		[ ! -e "$work/rpm/usr/bin/deskhand" ] || fail "rpm -e left the program"
		echo "ok   rpm -e"
	fi
else
	echo "test-release: NOT TESTED: the rpm: rpm is missing" >&2
fi
# An apk is tar streams, each gzipped, one behind the other.
gzip -dc "$dist/deskhand_${version#v}_linux_$arch.apk" | tar --ignore-zeros -tf - 2>/dev/null | grep -qx usr/bin/deskhand || fail "the apk has no program"
echo "ok   apk has the program (not installed)"

command -v npm >/dev/null || fail "NOT RUN: npm is missing (install Node.js 18 or newer)"
mkdir "$work/npm"
cd "$work/npm"
echo '{"private":true}' >package.json
npm install --offline --no-audit --no-fund --silent --cache "$work/cache" \
	"$dist/deskhand-linux-$node-${version#v}.tgz" "$dist/deskhand-${version#v}.tgz" >"$work/npm.log" 2>&1 ||
	{ cat "$work/npm.log"; fail "npm install --offline failed"; }
says "npm i --offline, npx" npx --offline --no-install deskhand
rm -r node_modules/@deskhand
if node_modules/.bin/deskhand version >"$work/out" 2>&1; then fail "the wrapper runs without its platform's package"; fi
grep -q '^hint: ' "$work/out" || fail "the wrapper without its platform's package says: $(cat "$work/out")"
echo "ok   npm without the platform's package says what to do"
