"""Parts that become one file, and that file in a browser."""

import json
import signal
import subprocess
import time

from browser import chromium
from judge import decodes
from playing import plays
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
    done = subprocess.run([stage.recbot, "concat", "--json", str(path), str(first.path), str(second.path)],
                          capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    if not verdict.check(done.returncode == 0, f"concat: {done.returncode} {done.stderr}"):
        return
    summary = json.loads(done.stdout)
    [gap] = summary["gaps"]
    start, end, length = gap["start"] / 1e6, gap["end"] / 1e6, summary["duration"] / 1e6
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
