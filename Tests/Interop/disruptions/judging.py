"""What is looked at in recordings of disturbed rooms."""

import json

import numpy as np

from judge import AUDIO_RATE, Recording, beeps, flashes, rgb, run
from reading import card, read
from scenarios.common import continuous
from scenarios.tracks import REASONS
from stage import COLOURS, Publisher, Recorder
from verdict import Verdict, ms

DURATION = 0.040
CHAPTER = 0.2
# How long after the last packet the recording may show the picture as if nothing had happened.
NOTICE = 1.6
# The longest silence of somebody who talks: before and after the beep of each second.
PAUSE = 0.1


def load(recorder: Recorder, verdict: Verdict, errors: bool = True) -> Recording:
    """Decodes a finished file: one file, no gap in it, as long as the time that has passed."""
    recording = Recording.load(str(recorder.path))
    files = sorted(path.name for path in recorder.path.parent.glob(f"{recorder.path.stem}[!0-9]*webm*"))
    verdict.check(files == [recorder.path.name], f"{recorder.name}: the recording is {files}")
    if recorder.stopped_at is not None:
        error = recording.duration - (recorder.stopped_at - recording.zero)
        verdict.timely(abs(error) <= DURATION, f"{recorder.name}: the duration is {ms(error)} off the wall clock")
        verdict.figure(f"{recorder.name} duration {error * 1000:+.0f} ms")
    faults = Verdict()
    continuous(recording, faults)
    verdict.take(faults, recorder.name)
    wrong = recorder.last_progress.get("decode_errors")
    verdict.check(not errors or wrong == 0, f"{recorder.name}: {wrong} decode errors")
    return recording


def chapters(recorder: Recorder) -> list[tuple[float, str]]:
    """The file's chapters: begin in seconds, title."""
    found = json.loads(run(["ffprobe", "-v", "warning", "-show_chapters", "-of", "json", str(recorder.path)]))
    return [(float(chapter["start_time"]), chapter["tags"]["title"]) for chapter in found["chapters"]]


def came_back(recorder: Recorder, recording: Recording, person: Publisher, fresh: str, began: float, ended: float,
              limit: float, verdict: Verdict, silent: bool = True) -> None:
    """What holds for each loss of the media from `began` to `ended` (wall clock), while the person's colour changed.

    Then: last picture, dimmed, then a slate; silence; chapters at both edges; and a picture of the colour `fresh` not
    later than `limit` seconds after the end, in the place of the old one.
    """
    name = recorder.name
    start, end = began - recording.zero, ended - recording.zero
    shown = recording.shown(COLOURS[fresh], start) - end
    verdict.timely(shown <= limit, f"{name}: the first fresh picture comes {ms(shown)} after the outage")
    verdict.figure(f"{name} {ms(shown)} (limit {ms(limit)})")
    before = recording.tile(person.colour, start - 0.5)
    if not verdict.check(before is not None, f"{name}: no tile before the outage"):
        return
    told = dimmed(recording, person.colour, before, start) - start
    verdict.timely(0 <= told <= NOTICE, f"{name}: the picture stays as if nothing had happened for {ms(told)}")
    if end - start >= 4.5:
        gone = recording.gone(person.colour, start) - start
        looks(name, recording, person, before, {"dimmed": start + told + 1, "slate": min(start + told + 3.3, end - 0.1)},
              verdict)
        verdict.timely(gone < 4.8, f"{name}: the old picture is gone after {ms(gone)}")
    if silent:
        sound = recording.audio[int((start + 0.6) * AUDIO_RATE):int((end - 0.05) * AUDIO_RATE)]
        verdict.check(np.abs(sound).max() < 0.003, f"{name}: a peak of {np.abs(sound).max():.3f} during the outage")
    marks = chapters(recorder)
    for title, moment in (("Connection lost", start + told), ("Connection restored", end + shown)):
        near = [at for at, text in marks if text == title and abs(at - moment) <= max(CHAPTER, limit)]
        verdict.check(bool(near), f"{name}: no chapter '{title}' near {moment:.2f} s: {marks}")
    if shown <= limit + 3:
        after = recording.tile(COLOURS[fresh], end + shown + 1.0)
        good = after is not None and max(abs(a - b) for a, b in zip(after, before)) <= 2
        verdict.check(good, f"{name}: the tile was at {before} and is at {after}")


def dimmed(recording: Recording, colour: str, tile: tuple[int, int, int, int], after: float) -> float:
    """When a tile is no longer of its colour in full brightness (for longer than a flash); infinite if never."""
    left, top, right, bottom = tile
    middle = recording.pictures[:, top + 4: top + (bottom - top) // 3, left + 4: right - 4].mean(axis=(1, 2))
    away = np.abs(middle - rgb(colour)).max(axis=1) > 40
    for index in range(int(np.searchsorted(recording.times, after)), len(recording.times) - 10):
        if away[index:index + 10].all():
            return float(recording.times[index])
    return float("inf")


def looks(name: str, recording: Recording, person: Publisher, tile: tuple[int, int, int, int],
          moments: dict[str, float], verdict: Verdict) -> None:
    """While dimmed the tile has the hue of the last picture, but is darker; on the slate nothing of it; both say why."""
    stills = dict(zip(moments, recording.stills(list(moments.values()))))
    left, top, right, bottom = recording.full(tile)
    original = rgb(person.colour).astype(float)
    for what, still in stills.items():
        reason, likeness = read(still, card((left, top, right, bottom)), REASONS)
        verdict.check(reason == "Reconnecting…" and likeness > 0.7, f"{name}: {what}: it says {reason} ({likeness:.2f})")
        # A quarter of the tile without text.
        part = still[top + 8:top + (bottom - top) // 4, left + 8:right - 8].reshape(-1, 3).mean(axis=0)
        hue = float(np.dot(part - part.mean(), original - original.mean()) / np.dot(
            original - original.mean(), original - original.mean()))
        if what == "dimmed":
            verdict.check(0.15 < hue < 0.85, f"{name}: dimmed: {hue:.2f} of the last picture's colour")
        else:
            # A card of its own hue may be on the other side of grey.
            verdict.check(hue < 0.1, f"{name}: slate: {hue:.2f} of the last picture's colour")


def present(recording: Recording, person: Publisher, start: float, end: float) -> tuple[int, int, int, int]:
    """Of the whole seconds in a span (of the recording): how many; with the flash; with the beep; with both."""
    # Where pictures stand still because of losses they may do so in a flash: there is no colour to be seen then.
    tile = next((found for moment in np.arange(start + 0.5, end, 0.5)
                 if (found := recording.tile(person.colour, moment))), None)
    seconds = [second for second in range(int(recording.zero + start) + 1, int(recording.zero + end))]
    if tile is None:
        return len(seconds), 0, 0, 0
    seen = {round(recording.zero + t - 0.1) for t in flashes(recording, tile, start, end + 0.9)}
    heard = {round(recording.zero + t - 0.1) for t in beeps(recording, person.pitch, start, end + 0.9)}
    return (len(seconds), sum(s in seen for s in seconds), sum(s in heard for s in seconds),
            sum(s in seen and s in heard for s in seconds))


def longest_silence(recording: Recording, start: float, end: float) -> float:
    """The longest time without a sound in a span, while somebody talks; what is more than a talker's own pauses."""
    block = AUDIO_RATE // 100
    sound = recording.audio[int(start * AUDIO_RATE):int(end * AUDIO_RATE)]
    loud = np.abs(sound[:len(sound) // block * block].reshape(-1, block)).max(axis=1) > 0.01
    edges = np.flatnonzero(np.concatenate(([True], loud, [True])))
    return max(0.0, (int(np.diff(edges).max()) - 1) / 100 - PAUSE)


def longest_gap(recording: Recording, person: Publisher, start: float, end: float) -> float:
    """The longest distance between flashes in a span, less the second that is between them anyway."""
    tile = recording.tile(person.colour, start)
    found = flashes(recording, tile, start, end) if tile is not None else []
    return max(np.diff([start, *found, end])) - 1
