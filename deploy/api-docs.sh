#!/usr/bin/env bash
# Makes web pages of RecbotKit's documentation, of what a debug build has left: deploy/api-docs.sh FOLDER (which must not exist).
# What docc has to complain of ends it: a declaration or a page that a page names and that is not there, say.
set -euo pipefail
output=$(realpath "${1:?usage: deploy/api-docs.sh FOLDER}")
cd "$(dirname "$0")/.."
[[ -d .build/debug/Modules ]] || { echo "nothing is built; build it with: make unit-tests" >&2; exit 1; }
[[ ! -e $output ]] || { echo "$output exists already" >&2; exit 1; }
graphs=$(mktemp -d)
trap 'rm -rf "$graphs"' EXIT

# The C modules that the library's own modules were built with: ours, those of packages, and those that SwiftPM made a map for.
mapfile -t maps < <(
  find Sources -name module.modulemap
  find .build/checkouts -path '*/Sources/*/include/*' -name module.modulemap
  find .build/debug/ -maxdepth 2 -name module.modulemap ! -path '*-tool.build/*'
)
flags=()
for map in "${maps[@]}"; do flags+=(-Xcc "-fmodule-map-file=$map"); done
mapfile -t libraries < <(sed -n 's/.*pkgConfig: "\([^"]*\)".*/\1/p' Package.swift)
for flag in $(pkg-config --cflags-only-I "${libraries[@]}"); do flags+=(-Xcc "$flag"); done
# With a cache of its own: what another build has left there could hide that something is missing.
swift symbolgraph-extract -module-cache-path "$graphs/cache" -module-name RecbotKit -minimum-access-level public -skip-inherited-docs -output-dir "$graphs" \
  -target "$(uname -m)-unknown-linux-gnu" -I .build/debug/Modules "${flags[@]}"
docc convert Sources/RecbotKit/Documentation.docc --additional-symbol-graph-dir "$graphs" --output-path "$output" \
  --fallback-display-name RecbotKit --fallback-bundle-identifier RecbotKit --warnings-as-errors
