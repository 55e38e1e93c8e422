#!/usr/bin/env bash
# Runs the fuzz targets: libFuzzer and AddressSanitizer over everything that reads foreign bytes.
#
#   Tests/Fuzz/run.sh [seconds per target, default 2] [target...]
#   Tests/Fuzz/run.sh --inputs 10000000 [target...]     as long as it takes: hours for each target
#   Tests/Fuzz/run.sh --build [seconds per target]      builds what such a run needs, and says nothing
#
# Prints one line per target and fails when one of them traps, hangs or takes too much memory. The input that did it is
# kept in .build/fuzz/findings; `RECBOT_FUZZ_TARGET=target .build/fuzz/debug/Fuzz FILE` repeats it, and a fixed one
# belongs into Corpus. Interesting inputs are kept in .build/fuzz/corpus, so that a later run goes on from there.
set -euo pipefail
cd "$(dirname "$0")/../.."

export inputs=-1
[[ ${1:-} != --inputs ]] || { inputs=${2:-}; set -- 864000 "${@:3}"; }
only_build=
[[ ${1:-} != --build ]] || { only_build=1; shift; }
export seconds=${1:-2}
export build=.build/fuzz
[[ $seconds =~ ^[1-9][0-9]*$ && $inputs =~ ^(-1|[1-9][0-9]*)$ ]] || {
  echo "usage: $0 [--build] [seconds per target | --inputs number] [target...]" >&2
  exit 2
}
mkdir -p "$build/findings" "$build/logs"

# A long run is optimized: several times as many inputs, for four times the building. Both assert as a debug build does, as
# bounds of unsafe buffers are checked there only. Of two --sanitize the compiler heeds just one.
export configuration=debug
((seconds < 60)) || configuration=release
optimized=(-Xswiftc -assert-config -Xswiftc Debug -Xswiftc -enable-testing)
[[ $configuration == release ]] || optimized=()
if ! swift build --configuration "$configuration" --package-path Tests/Fuzz --scratch-path "$build" --disable-index-store \
  --sanitize fuzzer -Xswiftc -sanitize=fuzzer,address "${optimized[@]}" -Xswiftc -use-ld=lld -Xcxx -fsanitize=address >"$build/logs/build" 2>&1; then
  [[ -z $only_build ]] || exit 1
  grep -E 'error:' "$build/logs/build" || tail -n 40 "$build/logs/build"
  exit 1
fi
[[ -z $only_build ]] || exit 0

fuzz() {
  local log="$build/logs/$1" runs edges
  mkdir -p "$build/corpus/$1"
  # The outer time limit is for a process that hangs while it reports a crash.
  # What is let go waits in 4 MB, not 256, until its memory is used again: new pages for each decoder took half of a target's time.
  local asan=symbolize=0:detect_leaks=0:quarantine_size_mb=4:thread_local_quarantine_size_kb=64
  if RECBOT_FUZZ_TARGET=$1 SWIFT_BACKTRACE=enable=no ASAN_OPTIONS=$asan:allocator_release_to_os_interval_ms=-1 \
    timeout --kill-after=5 $((seconds + 120)) "$build/$configuration/Fuzz" \
    -max_total_time="$seconds" -runs="$inputs" -max_len=8192 -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$build/findings/$1-" "$build/corpus/$1" "Tests/Fuzz/Corpus/$1" >"$log" 2>&1
  then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)
    if [[ -n $edges ]]; then
      printf 'passed  %-18s %8d executions, %5d edges covered\n' "$1" "$runs" "$edges"
    else
      printf 'FAILED  %-18s was built without coverage\n' "$1"
    fi
  else
    printf 'FAILED  %-18s %s\n%s\n' "$1" "$(sed -n 's/.*Test unit written to //p' "$log")" \
      "$(grep -E 'Fatal error|Precondition failed|ERROR:' "$log" || tail -n 20 "$log")"
  fi
}
export -f fuzz

targets=("${@:2}")
[[ ${#targets[@]} -gt 0 ]] || targets=(Tests/Fuzz/Corpus/*)
printf '%s\n' "${targets[@]##*/}" | xargs -P "$(nproc)" -I '{}' bash -c 'fuzz {}' | tee "$build/logs/results"
failed=$(grep -c '^FAILED' "$build/logs/results" || true)
echo "$(grep -c '^passed' "$build/logs/results" || true) passed, $failed failed"
[[ $failed -eq 0 ]]
