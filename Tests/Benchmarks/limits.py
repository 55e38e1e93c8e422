#!/usr/bin/env python3
"""Holds recbot to limits that hardly depend on the machine: instructions and allocations of a packet and of a composed frame.

  Tests/Benchmarks/limits.py RECBOT LIMITS_BENCH

A packet: a camera and a microphone over a connection on the loopback interface, with sockets, ICE, SRTP and reports; what both ends
do is counted. A frame: `recbot compose` of nine people in 1280x720, all of it: reading the log, decoding, mixing, composing, encoding,
writing. Each is measured with a smaller and a larger number, and what is told is the difference, so what a program does once does
not count. Valgrind counts instructions (of a processor with AVX2), a library that is loaded first counts allocations.

The limits are in limits.json. They are what was measured and a seventh more: a better library may count less, and whoever makes
something cheaper makes its limit lower.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FRAMES = 30  # composed in a second
SECONDS = (1, 2)
PICTURES = (500, 2500)  # sent
PROCESSORS = sorted(os.sched_getaffinity(0))


def run(command: list, environment: dict | None = None) -> subprocess.CompletedProcess:
    """Runs a command that has to succeed."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=environment, timeout=300)
    except OSError as error:
        sys.exit(f"limits: {words[0]}: {error.strerror}; deploy/install-deps.sh --tests installs what is needed")
    if done.returncode != 0:
        sys.exit(f"limits: {' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def on(processor: int, command: list) -> list:
    """The command on one processor: what a second one would take over depends on luck."""
    return ["taskset", "-c", processor, *command]


def instructions(processor: int, command: list) -> tuple[int, str]:
    """The instructions that a command takes on a processor, and what it prints."""
    done = run(on(processor, ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *command]))
    return int(re.search(r"I +refs: +([\d,]+)", done.stderr)[1].replace(",", "")), done.stdout


def packets(bench: pathlib.Path) -> dict:
    """What a packet takes."""
    (few, small), (many, large) = (instructions(PROCESSORS[-1], [bench, "packets", number]) for number in PICTURES)
    count = json.loads(large)["packets"] - json.loads(small)["packets"]
    # Counted at full speed, for little is done then for the passing of time.
    counted = json.loads(run([bench, "packets", 10 * PICTURES[1]]).stdout)
    return {
        "instructions of a packet, sent and received": (many - few) / count,
        "allocations of a packet, sent": counted["sender"] / counted["packets"],
        "allocations of a packet, received": counted["receiver"] / counted["packets"],
    }


def frames(recbot: pathlib.Path, bench: pathlib.Path, folder: pathlib.Path) -> dict:
    """What a composed frame takes."""
    log, library = folder / "log", folder / "allocations.so"
    run([bench, "log", log])
    counting = HERE / "CAllocationCount"
    run(["clang", "-O2", "-shared", "-fPIC", "-DRECBOT_PRELOADED", "-I", counting / "include", "-o", library, counting / "count.c"])

    def composing(seconds: int, name: str) -> list:
        return [recbot, "compose", log, "--to", f"{seconds}s", "--output", folder / f"{name}-{seconds}.webm", "--progress", "none"]

    few, many = (instructions(PROCESSORS[0], composing(seconds, "counted"))[0] for seconds in SECONDS)
    told = [run(on(PROCESSORS[0], composing(seconds, "fast")), {"LD_PRELOAD": str(library)}).stderr for seconds in SECONDS]
    allocations = [int(re.search(r"allocations (\d+)", text)[1]) for text in told]
    count = FRAMES * (SECONDS[1] - SECONDS[0])
    return {
        "instructions of a composed frame": (many - few) / count,
        "allocations of a composed frame": (allocations[1] - allocations[0]) / count,
    }


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    recbot, bench = (pathlib.Path(path).resolve() for path in sys.argv[1:])
    limits = json.loads((HERE / "limits.json").read_text())
    with tempfile.TemporaryDirectory(prefix="recbot-limits-") as name:
        folder = pathlib.Path(name)
        # As it is shipped: valgrind cannot read what debuggers are told.
        programs = [folder / path.name for path in (recbot, bench)]
        for program, path in zip(programs, (recbot, bench)):
            shutil.copy(path, program)
            run(["strip", "--strip-debug", program])
        with concurrent.futures.ThreadPoolExecutor() as pool:
            parts = [pool.submit(packets, programs[1]), pool.submit(frames, *programs, folder)]
            found = {name: value for part in parts for name, value in part.result().items()}
    failed = 0
    for name, limit in limits.items():
        is_good = found[name] <= limit
        failed += not is_good
        print(f"{'passed' if is_good else 'FAIL  '}  {name:<45} {found[name]:>14,.1f}  at most {limit:>14,.1f}")
    print(f"{len(limits) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
