#!/usr/bin/env python3
"""Has a whole service record: backend, workers, room server, real WebRTC clients; and judges the recordings.

  Tests/Interop/jobs.py [--recbot PATH] [--keep DIR] [scenario …]

Needs the packages of requirements.txt and ffmpeg, and for `shared` PostgreSQL (Debian: postgresql), which is started
here, for this run alone. Scenarios run one at a time; each prints one line with what it measured. The exit code is 0
when all passed.
"""

import run
from service import SCENARIOS
from service.postgres import obstacle


def choose(options) -> list[str]:
    """What is run when no scenario is named."""
    reason = obstacle()
    if reason:
        print(f"skipped: shared: {reason}")
    return [name for name in SCENARIOS if name != "shared" or not reason]


if __name__ == "__main__":
    try:
        run.main(SCENARIOS, __doc__, choose=choose)
    except KeyboardInterrupt:
        raise SystemExit("interrupted") from None
