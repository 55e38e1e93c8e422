#!/usr/bin/env bash
# Runs a command while something else keeps one processor busy: Tests/beside-load.sh COMMAND…
set -uo pipefail
taskset --cpu-list 0 bash -c 'while :; do :; done' &
load=$!
trap 'kill "$load"' EXIT
trap 'exit 130' INT TERM
"$@"
