"""Recordings that end by themselves."""

from judge import Recording
from scenarios.common import FRAME, continuous
from stage import Recorder, Stage
from verdict import Verdict, ms


def endings(stage: Stage, verdict: Verdict) -> None:
    """`--max-duration`, `--stop-when-empty`, the room's end, an eviction: the file is whole each time."""
    stage.server()
    person = stage.publisher("ann", "--size", "320x180", colour="green").join()
    limited = stage.recorder("limited", "--max-duration", "5s", "--size", "640x360")
    empty = stage.recorder("empty", "--stop-when-empty", "3s", "--size", "640x360")
    # The server closes a room 20 s after the last one has left who is no recorder.
    closed = stage.recorder("closed", "--size", "640x360")
    for recorder in (limited, empty, closed):
        recorder.recording()
    status = limited.exit(10)
    verdict.check(status == 0, f"--max-duration: exit code {status}")
    recording = finished(limited, verdict)
    verdict.check(abs(recording.duration - 5) <= 0.021, f"--max-duration 5s: {recording.duration:.3f} s")
    verdict.check(len(recording.times) == 150, f"--max-duration 5s: {len(recording.times)} pictures at 30 a second")
    verdict.figure(f"max-duration 5s: {recording.duration:.3f} s, {len(recording.times)} pictures")

    left = person.tell("leave", "left")
    status = empty.exit(10)
    verdict.check(status == 0, f"--stop-when-empty: exit code {status}")
    recording = finished(empty, verdict)
    waited = recording.zero + recording.duration - left
    verdict.timely(abs(waited - 3) <= 0.2, f"--stop-when-empty 3s ends {waited:.2f} s after the last one left")
    verdict.check(recording.area(person.colour, recording.duration - 2) < 0.002, "somebody who left is seen at the end")
    verdict.figure(f"empty 3s: after {waited:.2f} s")

    # The same identity joins again: the first gives way, with a whole file and a code that says why.
    first = stage.recorder("first", "--size", "640x360", identity="twin")
    first.recording()
    second = stage.recorder("second", "--size", "640x360", identity="twin")
    second.recording()
    status = first.exit(10)
    verdict.check(status == 33, f"evicted: exit code {status}: {first.tail()}")
    finished(first, verdict)
    second.stop()
    finished(second, verdict)

    status = closed.exit(40)
    verdict.check(status == 0, f"the room's end: exit code {status}: {closed.tail()}")
    recording = finished(closed, verdict)
    behind = closed.ended - (recording.zero + recording.duration)
    verdict.timely(-0.1 <= behind <= 2.5, f"the recording ends {ms(behind)} before the process")
    verdict.figure(f"room closed after {recording.zero + recording.duration - left:.1f} s")


def finished(recorder: Recorder, verdict: Verdict) -> Recording:
    """A file that nobody had to ask for."""
    recording = Recording.load(str(recorder.path))
    verdict.check(recorder.output[-1] == str(recorder.path), "standard output does not end with the file's path")
    continuous(recording, verdict)
    verdict.check(abs(recording.times[-1] + FRAME - recording.duration) <= 0.04, "the last picture is not at the end")
    return recording
