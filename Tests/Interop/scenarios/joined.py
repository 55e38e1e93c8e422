"""Parts that become one file, and that file in a browser."""

import signal
import time

from browser import chromium
from judge import decodes
from playing import plays
from scenarios.common import concat
from scenarios.control import chapters
from stage import Stage
from verdict import Verdict


def joined(stage: Stage, verdict: Verdict) -> None:
    """A recording that was killed, and the one that went on: one file that plays and seeks across the gap."""
    stage.server()
    ann = stage.publisher("ann", "--size", "320x180", colour="red").join()
    first = stage.recorder("first", "--size", "640x360")
    stage.until(first.recording() + 4.0)
    killed = first.send(signal.SIGKILL)
    first.exit(5)
    stage.until(killed + 3.0)
    second = stage.recorder("second", "--size", "640x360")
    stage.until(second.recording() + 4.0)
    second.stop()
    path = stage.folder / "whole.webm"
    if not (whole := concat(stage, path, [first, second], verdict)):
        return
    start, end, length = whole
    verdict.check(2.5 <= end - start <= 8, f"the gap is {end - start:.1f} s long")
    verdict.check("Recording interrupted" in [text for _, text in chapters(path)], "the gap has no chapter")
    complaint = decodes(str(path))
    verdict.check(not complaint, f"ffmpeg: {complaint[:200]}")
    verdict.figure(f"{length:.1f} s with a gap of {end - start:.1f} s")
    if chromium() is None:
        print("      skipped: no chromium to play it")
        return
    began = time.monotonic()
    plays(stage.folder, path, length, [
        ("before", start - 2.0, ann.colour, True), ("after", end + 1.5, ann.colour, True),
        ("gap", (start + end) / 2 - 0.3, ann.colour, False), ("begin", 1.0, ann.colour, True)], verdict)
    verdict.figure(f"in {time.monotonic() - began:.0f} s")
