#!/bin/sh
# Installs the system packages that recbot is built on, on Debian 12 (and its relatives).
#   deploy/install-deps.sh          what the build and `make demo` need
#   deploy/install-deps.sh --tests  also the real clients and judges of the tests
# Does nothing, quickly, when everything is there. Uses sudo when not root.
set -eu

packages="pkg-config libnice-dev libglib2.0-dev libssl-dev libsrtp2-dev libusrsctp-dev libvpx-dev libopus-dev
  libyuv-dev libwebm-dev libcairo2-dev libpango1.0-dev fonts-inter fonts-dejavu-core make"
tests="ffmpeg coturn chromium mkvtoolnix fontconfig python3 python3-venv"
[ "${1:-}" = --tests ] && packages="$packages $tests"

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
# shellcheck disable=SC2086 -- a list of words on purpose
$as_root apt-get install -y -qq --no-install-recommends $missing >&2
