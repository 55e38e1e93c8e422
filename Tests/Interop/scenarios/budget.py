"""Recordings that may take only so much of the processor."""

import time

import numpy as np

from browser import chromium
from judge import beeps, decodes, run
from playing import plays
from scenarios.common import load
from scenarios.still import packets, spent
from stage import Stage
from verdict import Verdict, ms

STEPS = ["none", "encoder-speed", "still-scenes", "layers", "half-rate", "third-rate", "half-size"]
# Of what a recording takes that may take all.
SHARE = 0.3


def budget(stage: Stage, verdict: Verdict) -> None:
    """`--cpu-budget`: what would take more is done without step by step, each step is told, sound is whole, and when there is room
    again the steps are taken back."""
    stage.server()
    free = stage.recorder("free", "--size", "1280x720")
    free.recording()
    several = ["--size", "1280x720", "--simulcast", "--bitrate", "2500000"]
    people = [stage.publisher("ann", *several, colour="red"), stage.publisher("ben", "--size", "640x360", colour="green"),
              stage.publisher("cid", "--size", "640x360", colour="blue")]
    began = max(person.join().event("complete")["wall"] for person in people)
    stage.until(began + 2)
    before = spent(free)
    stage.until(began + 5)
    limit = max(0.05, SHARE * (spent(free) - before) / 3)
    recorder = stage.recorder("budget", "--cpu-budget", f"{limit:.3f}", "--size", "1280x720")
    recorder.recording()
    lowest = recorder.happens("degradation", 40, step="half-size")
    low = time.time()
    stage.until(low + 2)
    before = spent(recorder), spent(free)
    stage.until(low + 6)
    taken, wanted = (spent(recorder) - before[0]) / 4, (spent(free) - before[1]) / 4
    gone = time.time()
    for person in people:
        person.tell("mute-camera", "muted")
        person.tell("mute-microphone", "muted")
    # Cards that stand still cost little: a step back after ten seconds each.
    recorder.happens("degradation", 30, after=len(recorder.lines), step="third-rate")
    recorder.happens("degradation", 30, after=len(recorder.lines), step="half-rate")
    recorder.stop()
    free.stop()

    told = [event["step"] for event in recorder.happened("degradation")]
    deepest = told.index("half-size")
    verdict.check(told[:deepest + 1] == STEPS[1:], f"the steps are {told}")
    verdict.check(told[deepest + 1:deepest + 3] == ["third-rate", "half-rate"], f"the steps back are {told[deepest + 1:]}")
    verdict.timely(taken < 0.5 * wanted, f"three people take {taken:.3f} of a core, beside {wanted:.3f} without a budget")
    progress = recorder.last_progress
    verdict.check(progress["spared_frames"] > 0 and progress["degradation"] == "half-rate", f"progress: {progress}")
    verdict.check(not (complaint := decodes(str(recorder.path))), f"ffmpeg: {complaint[:200]}")
    recording = load(recorder, verdict, frame=1 / 10)
    end = gone - recording.zero - 0.5
    for person in people:
        first = recording.shown(person.colour, 0)
        heard = beeps(recording, person.pitch, first + 1, end)
        apart = np.diff(heard)
        verdict.check(len(heard) >= int(end - first) - 2 and bool(apart.size) and float(apart.max()) < 1.1,
                      f"{person.name}: {len(heard)} beeps in {end - first:.1f} s, at most {ms(float(max(apart, default=0)))} apart")
    at_lowest = lowest["time_ms"] / 1000
    sizes = frame_sizes(str(recorder.path))
    small = {size for at, size in sizes if at_lowest + 0.5 < at < end}
    verdict.check(small == {"640x360"} and sizes[0][1] == "1280x720" and sizes[-1][1] == "1280x720",
                  f"pictures have {sorted(small)}, at first {sizes[0][1]}, at last {sizes[-1][1]}")
    keys = [at for at, _, is_key in packets(recorder.path) if is_key]
    apart = float(max(np.diff([*keys, recording.duration])))
    verdict.check(apart <= 5.4, f"keyframes are {apart:.1f} s apart")
    seen = [event["width"] for event in recorder.happened("resolution") if event["participant"] == "ann"]
    verdict.check(bool(seen) and seen[-1] < max(seen), f"ann's pictures are {seen} columns wide: no smaller layer was asked for")
    verdict.figure(f"three people {wanted:.3f} of a core, with a budget of {limit:.3f} {taken:.3f}; {progress['spared_frames']} spared")
    if chromium() is None:
        print("      skipped: no chromium to play it")
        return
    plays(stage.folder, recorder.path, recording.duration,
          [("at full size", at_lowest - 6, people[0].colour, True), ("at half size", at_lowest + 4, people[1].colour, True),
           ("at full rate", at_lowest - 10, people[2].colour, True), ("the card", recording.duration - 1.5, people[0].colour, False)], verdict)


def frame_sizes(path: str) -> list[tuple[float, str]]:
    """Time and size of each picture, as it is decoded."""
    told = run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "frame=pts_time,width,height", "-of", "csv=p=0", path])
    rows = [line.strip().strip(",").split(",") for line in (told.decode() if isinstance(told, bytes) else told).splitlines() if line.strip()]
    return [(float(at), f"{width}x{height}") for at, width, height in (sorted_row(row) for row in rows)]


def sorted_row(row: list[str]) -> tuple[str, str, str]:
    """The row with its time first: ffprobe puts the fields in an order of its own."""
    at = next(value for value in row if "." in value)
    width, height = (value for value in row if "." not in value)
    return at, width, height
