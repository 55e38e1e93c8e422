"""A room with many people in it."""

import json
import sys

import numpy as np

from judge import Recording, beeps, mask
from scenarios.common import continuous
from stage import COLOURS, HERE, KEY, SECRET, Process, Stage
from verdict import Verdict

PEOPLE = 30
LENGTH = 20  # seconds
SPAN = 2  # seconds of one colour
SIZE = (1280, 720)
LAYOUT = f"""
summary: Everybody.
scenes:
  - name: everybody
    regions:
      - name: people
        show: everyone
        max-tiles: {PEOPLE}
"""


def crowd(stage: Stage, verdict: Verdict) -> None:
    """Thirty people in one room: all of them are seen, with pictures of just now, and those who speak are heard."""
    stage.server()
    speakers = [stage.publisher(name, "--size", "160x90", "--fps", "10", "--bitrate", "100000", colour=colour).join()
                for name, colour in (("ann", "red"), ("bob", "yellow"), ("cleo", "cyan"))]
    people = stage.start(Process("people", [
        sys.executable, str(HERE / "publishers" / "crowd.py"), "--url", stage.url, "--room", "test", "--api-key", KEY,
        "--api-secret", SECRET, "--people", str(PEOPLE - len(speakers)), "--span", str(SPAN), "--colours",
        f"{COLOURS['green']},{COLOURS['blue']}"], stage.folder))
    # Some are there already, the others come while it records.
    people.line(lambda text: json.loads(text)["event"] == "joined", 30)
    # The standard grid shows 24 and says how many more there are.
    layout = stage.folder / "all.yaml"
    layout.write_text(LAYOUT)
    recorder = stage.recorder("crowd", "--layout", str(layout), "--size", f"{SIZE[0]}x{SIZE[1]}")
    recorder.recording()
    complete = people.line(lambda text: json.loads(text)["event"] == "complete", 120)[0]
    stage.until(complete + LENGTH)
    recorder.stop()
    recording = Recording.load(str(recorder.path))
    continuous(recording, verdict)
    wrong = recorder.last_progress.get("decode_errors")
    verdict.check(wrong == 0, f"{wrong} decode errors")

    # In the middle of each span of one colour.
    began = complete - recording.zero
    moments = [second - recording.zero + SPAN * 0.7 for second in range(
        int(complete) // SPAN * SPAN + SPAN, int(complete + LENGTH) - SPAN, SPAN)]
    stills = recording.stills(moments)
    counts = []
    for moment, still in zip(moments, stills):
        current = COLOURS[("green", "blue")[int(recording.zero + moment) // SPAN % 2]]
        counts.append(sum(tiles(still, colour) for colour in [current, *(person.colour for person in speakers)]))
    settled = [count for moment, count in zip(moments, counts) if moment > began + 5]
    verdict.check(bool(settled) and min(settled) == PEOPLE, f"{counts} of {PEOPLE} people are shown, each {SPAN} s")
    verdict.figure(f"{min(settled, default=0)} to {max(settled, default=0)} people shown at {len(settled)} moments (limit {PEOPLE})")
    for person in speakers:
        heard = len(beeps(recording, person.pitch, began + 1, recording.duration - 1))
        wanted = int(recording.duration - began - 2)
        verdict.check(heard >= wanted, f"{person.name}: {heard} beeps in {wanted} seconds")
    verdict.figure(recorder.cost)


def tiles(picture: np.ndarray, colour: str) -> int:
    """How many tiles of a colour there are, in rows that don't overlap."""
    found = mask(picture, colour)
    count = 0
    for rows in runs(found.mean(axis=1) > 0.05):
        if rows.stop - rows.start >= 10:
            count += sum(run.stop - run.start >= 10 for run in runs(found[rows].mean(axis=0) > 0.4))
    return count


def runs(true: np.ndarray) -> list[slice]:
    """Where something is true without a break."""
    edges = np.flatnonzero(np.diff(np.concatenate(([False], true, [False])).astype(np.int8)))
    return [slice(int(start), int(end)) for start, end in zip(edges[::2], edges[1::2])]
