"""Checks that several scenarios share."""

import contextlib
import json
import pathlib
import subprocess
import time
from collections.abc import Callable, Iterator

import numpy as np

from judge import Recording, beeps, flashes, skews
from stage import Publisher, Recorder, Stage
from verdict import Verdict, ms, worst

SKEW = 0.060
DURATION = 0.100
FRAME = 1 / 30


def load(recorder: Recorder, verdict: Verdict, codec: str = "vp8", frame: float = FRAME) -> Recording:
    """Decodes the finished file and checks what holds for every recording.

    Duration against wall clock: the recording begins at the date in the file (the moment of joining, to the
    microsecond; `clock` checks that date against the flashes) and ends when SIGINT was sent.
    """
    recording = Recording.load(str(recorder.path), codec)
    verdict.check(recorder.output[-1] == str(recorder.path), "standard output does not end with the file's path")
    verdict.check(recorder.started <= recording.zero <= recorder.ended, "the file's date is not that of the recording")
    if recorder.stopped_at is not None:
        error = recording.duration - (recorder.stopped_at - recording.zero)
        verdict.timely(abs(error) <= DURATION + frame / 2, f"{recorder.name}: the duration is {ms(error)} off the wall clock")
        verdict.figure(f"duration {recording.duration:.2f} s ({error * 1000:+.0f} ms)")
    continuous(recording, verdict, frame)
    progress = recorder.last_progress
    verdict.check(progress.get("decode_errors") == 0, f"{progress.get('decode_errors')} decode errors")
    return recording


def continuous(recording: Recording, verdict: Verdict, frame: float = FRAME) -> None:
    """No gap in sound or pictures, both from the beginning to the end."""
    # Times in WebM are whole milliseconds.
    verdict.check(recording.sound_gap <= 0.0011, f"gap of {ms(recording.sound_gap)} between sound packets")
    verdict.check(abs(recording.packets[0]) <= 0.010, f"the sound begins at {ms(recording.packets[0])}")
    verdict.check(abs(recording.sound_end - recording.duration) <= 2 * frame, "the sound ends before the recording")
    verdict.check(recording.times[0] <= 0.010, f"the pictures begin at {ms(recording.times[0])}")
    verdict.timely(recording.picture_gap <= frame + 0.002, f"gap of {ms(recording.picture_gap)} between pictures")


def in_step(recording: Recording, people: list[Publisher], start: float, end: float, verdict: Verdict,
            limit: float = SKEW) -> None:
    """Each flash is there each second, with its beep at the same time, for everybody; tells median and worst skew.

    Times are those of the recording. Everybody must have a tile with their colour from `start` to `end`.
    """
    end -= 0.25  # the beep of a flash must be there too
    wanted = sum(start <= second - recording.zero <= end - 0.1
                 for second in range(int(recording.zero), int(recording.zero + recording.duration) + 1))
    lateness: list[float] = []
    by_second: dict[int, list[float]] = {}
    # A flash hides the colour, and how late one may be is judged below: the second half of a second is without.
    phase = (recording.zero + start) % 1
    plain = start if phase >= 0.5 else start + 0.6 - phase
    for person in people:
        tile = recording.tile(person.colour, plain)
        if not verdict.check(tile is not None, f"{person.name}: no tile of their colour"):
            continue
        seen = flashes(recording, tile, start, end)
        heard = beeps(recording, person.pitch, start - 0.5, end + 0.5)
        found = skews(seen, heard)
        # What is missing though no picture was left out is no matter of time.
        (verdict.timely if recording.lacks_pictures else verdict.check)(
            len(seen) >= wanted, f"{person.name}: {len(seen)} flashes in {wanted} seconds")
        verdict.check(len(found) == len(seen), f"{person.name}: {len(seen)} flashes, but {len(found)} with a beep")
        verdict.timely(worst(found) <= limit, f"{person.name}: flash to beep {ms(worst(found))}")
        verdict.figure(f"{person.name} skew {np.median(found or [np.nan]) * 1000:+.0f} (max {ms(worst(found))})")
        for moment in seen:
            second = round(recording.zero + moment - 0.1)
            lateness.append(recording.zero + moment - second)
            by_second.setdefault(second, []).append(moment)
    # Everybody flashes at the same instant: shows how well publishers are aligned, and what the way through costs.
    spread = worst(max(moments) - min(moments) for moments in by_second.values() if len(moments) > 1)
    if len(people) > 1:
        verdict.figure(f"between people {ms(spread)}")
        verdict.timely(spread <= 0.15, f"the same instant of two people is shown {ms(spread)} apart")
    if lateness:
        verdict.figure(f"shown after {ms(float(np.median(lateness)))}")
        # A flash may be as early as it may be before its beep, which is where it was heard.
        verdict.timely(-limit <= min(lateness) and max(lateness) <= 0.4,
                       f"flashes are shown {ms(min(lateness))} to {ms(max(lateness))} after they were")


def concat(stage: Stage, path: pathlib.Path, parts: list[Recorder], verdict: Verdict) -> tuple[float, float, float] | None:
    """Joins two parts of a recording; gives where the gap between them begins and ends and how long all is, in seconds."""
    done = subprocess.run([stage.recbot, "concat", "--json", str(path), *(str(part.path) for part in parts)],
                          capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    if not verdict.check(done.returncode == 0, f"concat: {done.returncode} {done.stderr}"):
        return None
    summary = json.loads(done.stdout)
    [gap] = summary["gaps"]
    return gap["start"] / 1e6, gap["end"] / 1e6, summary["duration"] / 1e6


@contextlib.contextmanager
def small_disk(path: pathlib.Path, size: str) -> Iterator[pathlib.Path]:
    """A folder of its own file system, which is soon full."""
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", str(path)], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=False)


def goes_on(stage: Stage, recorder: Recorder, people: list[Publisher], failure: Callable[[dict], str | None], words: str,
            verdict: Verdict) -> float:
    """Waits until what is written beside the recording finds its disk full, by what `failure` finds in the progress: that is told once,
    the recording goes on and is whole, and the exit code says that it is not all. Gives the time in the recording."""
    end = time.time() + 40
    while not failure(recorder.last_progress) and time.time() < end:
        time.sleep(0.1)
    verdict.check("No space left on device" in (failure(recorder.last_progress) or ""), f"progress: {recorder.last_progress}")
    told = [line for line in recorder.errors.splitlines() if words in line]
    verdict.check(len(told) == 1, f"told: {told}")
    ended = recorder.last_progress["time_ms"] / 1000
    stage.until(time.time() + 4)
    recorder.stopped_at = recorder.send(2)
    verdict.check(recorder.exit(10) == 51 and "is whole" in recorder.errors, f"the end: {recorder.errors}")
    recording = load(recorder, verdict)
    verdict.check(recording.duration > ended + 3, "the recording did not go on")
    in_step(recording, people, 1.5, recording.duration, verdict)
    return ended
