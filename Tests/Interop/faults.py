#!/usr/bin/env python3
"""Records rooms over networks and servers that fail, with real WebRTC clients publishing, and judges the recordings.

  Tests/Interop/faults.py [--recbot PATH] [--wire PATH] [--long] [--keep DIR] [scenario …]

The bots are in network namespaces of their own; `wire` stands between them and the room server (see `wire --help`).
Needs root, Linux, iproute2, the packages of requirements.txt and ffmpeg. Without `--long`, what takes longest is left
out. Scenarios run one at a time; each prints one line with what it measured. The exit code is 0 when all passed.
"""

import os
import pathlib
import shutil

import run
from disruptions import LONG, SCENARIOS, wiring
from stage import HERE


def obstacle() -> str:
    """Why there can be no namespaces here; empty when there can."""
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    if not shutil.which("ip"):
        return "there is no `ip` (Debian: iproute2)"
    return wiring.trial()


def extend(parser) -> None:
    """The options besides those of run.py."""
    parser.add_argument("--wire", default=str(HERE.parent.parent / ".build" / "release" / "wire"))
    parser.add_argument("--seed", type=int, default=wiring.SEED, help="of everything random on the wires")
    parser.add_argument("--long", action="store_true", help="also what takes long")


def choose(options) -> list[str]:
    """What is run when no scenario is named."""
    return [name for name in SCENARIOS if options.long or name not in LONG]


def main() -> None:
    """The command line."""
    def prepare(options) -> list[str]:
        wiring.SEED = options.seed
        wiring.TOOL = str(pathlib.Path(options.wire).resolve())
        if not pathlib.Path(wiring.TOOL).is_file():
            raise SystemExit(f"there is no {wiring.TOOL}; build it (swift build -c release --product wire) or give --wire")
        print(f"seed {options.seed}")
        return choose(options)

    if reason := obstacle():
        print(f"skipped: faults of the network: {reason}")
        raise SystemExit(0)
    run.main(SCENARIOS, __doc__, extend, prepare)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        raise SystemExit("interrupted") from None
