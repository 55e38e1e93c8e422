#!/usr/bin/env python3
"""Records real rooms with real WebRTC clients (the PyPI `livekit` SDK: libwebrtc) and judges the recordings.

  Tests/Interop/run.py [--recbot PATH] [--keep DIR] [scenario …]

Needs the packages of requirements.txt and ffmpeg. Scenarios run one at a time; each prints one line with what it
measured. One that fails while the machine itself does not keep time is repeated (steadiness.py). The exit code is 0
when all passed.
"""

import argparse
import pathlib
import signal
import sys
import tempfile
import time
import traceback

from judge import Unplayable
from scenarios import SCENARIOS
from stage import HERE, Failed, Stage
from steadiness import Repeats
from verdict import Verdict


def perform(name: str, scenario, recbot: str, folder: pathlib.Path, options: argparse.Namespace) -> bool:
    """Runs one scenario and prints its line; true when it passed."""
    work = folder / name
    while work.exists():  # the same scenario again
        work = work.with_name(work.name + "+")
    work.mkdir(parents=True)
    verdict = Verdict()
    began = time.monotonic()
    try:
        with Stage(recbot, work, options.log_level) as stage:
            scenario(stage, verdict)
    except (Failed, Unplayable) as error:
        verdict.check(False, str(error))
    except Exception:  # a fault of the scenario is a failure too, not the end of the others
        verdict.check(False, traceback.format_exc())
    passed = not verdict.faults
    print(f"{'pass' if passed else 'FAIL'}  {name:<14} {time.monotonic() - began:3.0f} s  {', '.join(verdict.figures)}")
    for fault in verdict.faults:
        print("      " + fault.replace("\n", "\n      "))
    sys.stdout.flush()
    return passed


def interrupted(*_) -> None:
    """Makes SIGTERM an exception, so that everything is cleaned up."""
    raise KeyboardInterrupt


def main(scenarios: dict, description: str, extend=lambda parser: None, choose=lambda options: None) -> None:
    """The command line. `extend` adds options; `choose` gives the names that are run unless some are given."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="scenario", help=f"of: {', '.join(scenarios)}")
    parser.add_argument("--recbot", default=str(HERE.parent.parent / ".build" / "release" / "recbot"))
    parser.add_argument("--keep", metavar="DIR", help="keep recordings and logs in this folder (a new one)")
    parser.add_argument("--log-level", default="warning", help="of recbot's own logs (see --keep)")
    extend(parser)
    options = parser.parse_args()
    unknown = [name for name in options.scenarios if name not in scenarios]
    if unknown:
        parser.error(f"no such scenario: {', '.join(unknown)}; known: {', '.join(scenarios)}")
    recbot = pathlib.Path(options.recbot).resolve()
    if not recbot.is_file():
        parser.error(f"there is no {recbot}; build it (swift build -c release) or give --recbot")
    # So that children are ended too when a time limit ends this process.
    signal.signal(signal.SIGTERM, interrupted)
    chosen = choose(options)
    names = options.scenarios or chosen or list(scenarios)
    with tempfile.TemporaryDirectory(prefix="recbot-interop-") as temporary:
        folder = pathlib.Path(options.keep).resolve() if options.keep else pathlib.Path(temporary)
        repeats = Repeats()
        passed = [repeats.measure(name, lambda: perform(name, scenarios[name], str(recbot), folder, options))
                  for name in names]
    print(f"{sum(passed)} passed, {len(passed) - sum(passed)} failed")
    raise SystemExit(0 if all(passed) else 1)


if __name__ == "__main__":
    try:
        main(SCENARIOS, __doc__)
    except KeyboardInterrupt:
        raise SystemExit("interrupted") from None
