#!/usr/bin/env python3
"""Drives recbot's backend with LiveKit's own SDK (the PyPI `livekit-api`) as if it were LiveKit Egress.

  Tests/Interop/egress.py [--recbot PATH] [--keep DIR] [scenario …]

Starts, lists, changes and stops recordings of a whole room, of one person and of one track, verifies the webhooks with
LiveKit's receiver and with the one of Standard Webhooks, and judges the files. Needs the packages of requirements.txt
and ffmpeg. The exit code is 0 when all passed.
"""

import run
from service.egress import SCENARIOS

if __name__ == "__main__":
    try:
        run.main(SCENARIOS, __doc__)
    except KeyboardInterrupt:
        raise SystemExit("interrupted") from None
