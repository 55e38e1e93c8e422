#!/usr/bin/env bash
# The unit tests, as built: Tests/unit.sh [--quick] [option of swift test…]
#
# --quick leaves out the suites that wait for real time or for hundreds of transactions: a quarter of a minute and more each.
#
# Tests with servers, sockets and processes keep to times of the real clock. Beside a thousand others they would starve:
# Swift's pool has as many threads as the machine has cores, and a test that computes or blocks holds one. So what only
# computes runs first, together, and then each of the others' targets alone.
set -uo pipefail
cd "$(dirname "$0")/.."

clocked=(BackendTests JobsTests PeerConnectionTests RoomServerTests RoomsTests TransportTests WebClientTests WorkerTests)
slow=(BackendTests.LimitTests JobsTests.EventOrderTests JobsTests.FireTimeTests JobsTests.HistoryTests
  RoomsTests.LoopbackTests RoomsTests.PeerLoopbackTests RoomsTests.ServerFaultTests)
left_out=()
if [ "${1:-}" = --quick ]; then
  shift
  left_out=(--skip "^($(IFS='|'; echo "${slow[*]}"))/")
fi
log=.build/unit.log
: > "$log"
failed=0

# Ten minutes are many times what the slowest of them takes: what hangs is named, and not waited for. Interrupted, SwiftPM
# ends the tests' process too; terminated, it leaves it behind.
run() {
  timeout --signal=INT --kill-after=30 600 swift test --skip-build "$@" 2>&1 | tee -a "$log" || failed=1
}

# The tests that began and did not end: who hung, or ended the process.
unfinished() {
  comm -23 \
    <(sed -nE '/◇ Test (case|run) /d; s/^.*◇ Test (.*) started\.$/\1/p' "$log" | sort -u) \
    <(sed -nE 's/^.*[✔✘] Test (.*) (passed|failed) after .*/\1/p' "$log" | sed -E 's/ with [0-9]+ test cases?$//' | sort -u)
}

names=$(IFS='|'; echo "${clocked[*]}")
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=6
run "$@" --skip "^($names)\."
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=4
for target in "${clocked[@]}"; do run "$@" --filter "^$target\." ${left_out[@]+"${left_out[@]}"}; done

# A long log is read from its end.
echo
grep -E 'Test run with' "$log"
if [ "$failed" != 0 ]; then
  echo "What failed:"
  grep '✘' "$log" | grep -v 'Test run with' | sort -u
  unfinished | sed 's/^/did not end: /'
fi
exit "$failed"
