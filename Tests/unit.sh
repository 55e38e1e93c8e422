#!/usr/bin/env bash
# The unit tests, as built: Tests/unit.sh [--quick] [--filter … | --skip …]
#
# --quick leaves out the suites that wait for real time or for hundreds of transactions: a quarter of a minute and more each.
#
# Tests with servers, sockets and processes keep to times of the real clock. Beside a thousand others they would starve:
# Swift's pool has as many threads as the machine has cores, and a test that computes or blocks holds one. So each of their
# targets, or suites, runs in a process of its own, one after another. What only computes runs beside them in the scheduler's idle
# class: it takes the processor time that they leave, and none of theirs.
set -uo pipefail
cd "$(dirname "$0")/.."

clocked=(BackendTests JobsTests PeerConnectionTests RecbotKitTests RecordingTests.RecordingTests RoomServerTests RoomsTests
  TransportTests WebClientTests WorkerTests)
slow=(BackendTests.LimitTests JobsTests.EventOrderTests JobsTests.FireTimeTests JobsTests.HistoryTests
  RoomsTests.LoopbackTests RoomsTests.PeerLoopbackTests RoomsTests.ServerFaultTests)
left_out=()
if [ "${1:-}" = --quick ]; then
  shift
  left_out=(--skip "^($(IFS='|'; echo "${slow[*]}"))/")
fi
names=$(IFS='|'; echo "${clocked[*]}")
log=.build/unit.log
computed=.build/unit-computed.log
# The program that `swift test` starts, too, after several seconds of its own for each target.
tests=$(echo .build/debug/*PackageTests.xctest)
[ -x "$tests" ] || { echo "The tests are not built; build them with: make unit-tests" >&2; exit 1; }
export NO_COLOR=1

# Many times what the slowest of them takes: what hangs is named, and not waited for. In this script's process group, so that
# who ends the script ends them.
limited=(timeout --foreground --signal=INT --kill-after=30 1200)

# The tests that began and did not end: who hung, or ended the process.
unfinished() {
  comm -23 \
    <(sed -nE '/◇ Test (case|run) /d; s/^.*◇ Test (.*) started\.$/\1/p' "$log" | sort -u) \
    <(sed -nE 's/^.*[✔✘] Test (.*) (passed|failed) after .*/\1/p' "$log" | sed -E 's/ with [0-9]+ test cases?$//' | sort -u)
}

idle=(nice -n 19)
! chrt --idle 0 true 2>/dev/null || idle+=(chrt --idle 0)
SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=6 \
  "${limited[@]}" "${idle[@]}" "$tests" --testing-library swift-testing "$@" --skip "^($names)[./]" > "$computed" 2>&1 &
computing=$!
trap 'kill "$computing" 2>/dev/null' EXIT

failed=0
: > "$log"
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4
for target in "${clocked[@]}"; do
  "${limited[@]}" "$tests" --testing-library swift-testing "$@" --filter "^$target[./]" ${left_out[@]+"${left_out[@]}"} 2>&1 |
    tee -a "$log" || failed=1
done
wait "$computing" || failed=1
tee -a "$log" < "$computed"

# A long log is read from its end.
echo
grep -E 'Test run with' "$log"
if [ "$failed" != 0 ]; then
  echo "What failed:"
  grep '✘' "$log" | grep -v 'Test run with' | sort -u
  unfinished | sed 's/^/did not end: /'
fi
exit "$failed"
