#!/bin/sh
# Installs the system packages that recbot is built on, on Debian 12 (and its relatives).
#   deploy/install-deps.sh            what the build and `make demo` need
#   deploy/install-deps.sh --tests    also the real clients and judges of the tests, and fonts for them
#   deploy/install-deps.sh --package  also what `make deb` and `make check-package` need
#   deploy/install-deps.sh --bench    also the codecs' own tools, which `make bench` measures against
#   deploy/install-deps.sh --fonts    also fonts for names in all scripts: 80 MB to fetch, 145 MB on disk
# Does nothing, quickly, when everything is there. Uses sudo when not root.
set -eu

packages="pkg-config libnice-dev libglib2.0-dev libssl-dev libsrtp2-dev libusrsctp-dev libvpx-dev libopus-dev
  libavcodec-dev libdav1d-dev libaom-dev libebur128-dev libspeexdsp-dev libyuv-dev libjpeg62-turbo-dev libpq-dev libsqlite3-dev libwebm-dev libcairo2-dev libpango1.0-dev zlib1g-dev
  fonts-inter fonts-dejavu-core make"
# For the tests the small one of the two fonts with Chinese, Japanese and Korean letters is enough.
tests="iproute2 nftables ffmpeg coturn postgresql chromium mkvtoolnix libwebm-tools valgrind fontconfig python3 python3-venv fonts-noto-core
  fonts-noto-color-emoji fonts-droid-fallback"
package="dpkg-dev debootstrap iproute2 python3 python3-venv"
bench="ffmpeg vpx-tools dav1d"
fonts="fonts-noto-core fonts-noto-color-emoji fonts-noto-cjk"
[ "${1:-}" = --tests ] && packages="$packages $tests"
[ "${1:-}" = --package ] && packages="$packages $package"
[ "${1:-}" = --bench ] && packages="$packages $bench"
[ "${1:-}" = --fonts ] && packages="$packages $fonts"

missing=""
for package in $packages; do
  dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0

as_root=""
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "install-deps: needs root or sudo to install:$missing" >&2; exit 1; }
  as_root=sudo
fi
command -v apt-get >/dev/null || { echo "install-deps: no apt-get here; install by hand:$missing" >&2; exit 1; }
echo "Installing system packages:$missing" >&2
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update -qq >&2
# shellcheck disable=SC2086 # a list of words on purpose
$as_root apt-get install -y -qq --no-install-recommends $missing >&2
