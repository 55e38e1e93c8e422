#!/usr/bin/env bash
# Runs the fuzz targets: libFuzzer and AddressSanitizer over everything that reads foreign bytes.
#
#   Tests/Fuzz/run.sh [seconds per target, default 5] [target...]
#
# Prints one line per target and fails when one of them crashes, hangs or takes too much memory. Its input is then
# kept in .build/fuzz/findings, and `RECBOT_FUZZ_TARGET=name .build/fuzz/debug/Fuzz FILE` repeats it. What was found
# to be interesting is kept in .build/fuzz/corpus, so that a later run goes on from there.
set -euo pipefail
cd "$(dirname "$0")/../.."

seconds=${1:-5}
targets=("${@:2}")
build=.build/fuzz
[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "usage: $0 [seconds] [target...]" >&2; exit 2; }
[[ ${#targets[@]} -gt 0 ]] || targets=($(ls Tests/Fuzz/Corpus))
mkdir -p "$build/findings" "$build/logs"

# Of two --sanitize the compiler heeds one only.
if ! swift build --package-path Tests/Fuzz --scratch-path "$build" --disable-index-store --sanitize fuzzer \
  -Xswiftc -sanitize=fuzzer,address -Xswiftc -use-ld=lld -Xcxx -fsanitize=address >"$build/logs/build" 2>&1; then
  grep -E 'error:' "$build/logs/build" || tail -40 "$build/logs/build"
  exit 1
fi

# libFuzzer itself does not notice a target that never ends at the first input, so time is limited from outside too.
fuzz() {
  mkdir -p "$build/corpus/$1"
  RECBOT_FUZZ_TARGET=$1 SWIFT_BACKTRACE=enable=no ASAN_OPTIONS=symbolize=0:detect_leaks=0 \
    timeout --kill-after=5 $((seconds + 60)) "$build/debug/Fuzz" \
    -max_total_time="$seconds" -max_len=8192 -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 \
    -artifact_prefix="$build/findings/$1-" "$build/corpus/$1" "Tests/Fuzz/Corpus/$1" >"$build/logs/$1" 2>&1
}

passed=0
failed=0
for target in "${targets[@]}"; do
  log="$build/logs/$target"
  if fuzz "$target"; then
    passed=$((passed + 1))
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    edges=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
    printf 'passed  %-14s %9s executions, %5s edges\n' "$target" "$runs" "$edges"
  else
    failed=$((failed + 1))
    printf 'FAILED  %-14s %s\n' "$target" "$(sed -n 's/.*Test unit written to //p' "$log")"
    grep -E 'Fatal error|ERROR:|SUMMARY:' "$log" || tail -20 "$log"
  fi
done
echo "$passed passed, $failed failed"
[[ $failed -eq 0 ]]
