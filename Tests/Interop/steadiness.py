#!/usr/bin/env python3
"""Watches whether the machine itself keeps time while something is measured on it.

What is judged here is real time: pictures at their moment, sound without a gap. A virtual machine that is put aside for
a quarter of a second, or that others keep busy, makes real clients and servers late, and the judge would blame recbot.
So a failure on a machine that was shown to be unsteady is no verdict, and the measurement is repeated; one on a steady
machine is final. Run as a command, it watches until SIGTERM and prints what it saw.
"""

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable

from verdict import Verdict

PERIOD = 0.01  # seconds between two looks
LATE = 0.1  # a look that comes so much later was held up: by the machine, not by its own small work
STOLEN = 0.05  # share of the processors' time that the host kept for others
BUSY = 0.98  # a second with less time to spare than the rest had no room for anything more
ATTEMPTS = 3  # of one measurement
REPEATS = 6  # of all measurements of one command: a machine that is never steady must not take for ever


@dataclasses.dataclass
class Steadiness:
    """What was seen. Seconds, and shares of 1."""

    seconds: float = 0.0
    longest: float = 0.0
    stolen: float = 0.0
    full: int = 0

    @property
    def fault(self) -> str:
        """Why what was measured meanwhile is no verdict; empty when it is."""
        faults = []
        if self.longest >= LATE:
            faults.append(f"it stood still for {self.longest * 1000:.0f} ms")
        if self.stolen >= STOLEN:
            faults.append(f"{self.stolen:.0%} of its time was taken by its host")
        if self.full >= max(2.0, 0.1 * self.seconds):
            faults.append(f"it had no time to spare in {self.full} of {self.seconds:.0f} s")
        return ", ".join(faults)

    @property
    def delay(self) -> str:
        """Why what was only late meanwhile is no verdict; empty when it is one: a single second without time to spare is enough."""
        return self.fault or (f"it had no time to spare in {self.full} of {self.seconds:.0f} s" if self.full else "")


class Watch:
    """Watches, in a process of its own, from here to the end of the `with`; then `seen` says what was seen."""

    def __init__(self) -> None:
        self.seen = Steadiness()

    def __enter__(self) -> "Watch":
        self.child = subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, text=True)
        return self

    def __exit__(self, *_) -> None:
        self.end()

    def end(self) -> Steadiness:
        """Ends the watching, when it has not ended; gives what was seen."""
        if self.child.returncode is None:
            self.child.terminate()
            try:
                said, _ = self.child.communicate(timeout=10)
                self.seen = Steadiness(**json.loads(said or "{}"))
            except subprocess.TimeoutExpired:  # then it is held up indeed
                self.child.kill()
                self.child.communicate()
                self.seen = Steadiness(longest=10.0)
        return self.seen


class Repeats:
    """How often one command has measured again."""

    def __init__(self) -> None:
        self.made = 0

    def excuse(self, name: str, attempt: int, seen: Steadiness, is_late: bool = False, otherwise: str = "") -> bool:
        """Whether a failure is no verdict, and is to be measured again; says so. `is_late`: something was late, and nothing else
        is wrong. `otherwise`: why it is none on a machine that was steady; empty when it is one."""
        unsteady = seen.delay if is_late else seen.fault
        reason = f"the machine was not steady: {unsteady}" if unsteady else otherwise
        if not reason or attempt >= ATTEMPTS - 1 or self.made >= REPEATS:
            return False
        self.made += 1
        print(f"again {name}: {reason}", flush=True)
        return True

    def twice(self, name: str) -> bool:
        """Whether what failed on a steady machine may be measured twice more; says so."""
        if self.made >= REPEATS:
            return False
        self.made += 2
        print(f"again {name}: it passes when it does so twice more", flush=True)
        return True

    def measure(self, name: str, measurement: Callable[[], Verdict]) -> bool:
        """Calls `measurement`, again while the machine excuses what it found wrong; says whether it was good in the end."""
        for attempt in range(ATTEMPTS):
            with Watch() as watch:
                verdict = measurement()
            if not verdict.faults or not self.excuse(name, attempt, watch.seen, verdict.is_only_untimely):
                break
        return not verdict.faults


def ticks() -> tuple[int, int, int]:
    """All processors' time so far, in clock ticks: total, to spare, stolen (proc(5), /proc/stat)."""
    with open("/proc/stat") as file:
        user, nice, system, idle, iowait, irq, softirq, steal = (int(word) for word in file.readline().split()[1:9])
    # What runs at a lower priority makes room at once.
    return user + nice + system + idle + iowait + irq + softirq + steal, idle + iowait + nice, steal


def main() -> None:
    """Watches until it is told to end."""
    running = True

    def end(*_) -> None:
        nonlocal running
        running = False

    signal.signal(signal.SIGTERM, end)
    parent = os.getppid()
    seen = Steadiness()
    began = before = second = time.monotonic()
    first = last = ticks()
    while running and os.getppid() == parent:
        time.sleep(PERIOD)
        now = time.monotonic()
        seen.longest = max(seen.longest, now - before - PERIOD)
        before = now
        if now - second >= 1:
            current = ticks()
            seen.full += current[1] - last[1] <= (1 - BUSY) * (current[0] - last[0])
            last, second = current, now
    current = ticks()
    seen.seconds = time.monotonic() - began
    seen.stolen = (current[2] - first[2]) / max(1, current[0] - first[0])
    print(json.dumps(dataclasses.asdict(seen)))


if __name__ == "__main__":
    main()
