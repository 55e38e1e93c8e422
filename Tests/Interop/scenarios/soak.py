"""A recording that takes long: it stays in step, and does not grow."""

from scenarios.common import in_step, load
from stage import Stage
from verdict import Verdict

LENGTH = 600.0  # seconds
SETTLED = 60.0  # seconds until everything is allocated that stays
GROWTH = 24  # MB of resident memory that may come to it afterwards


def soak(stage: Stage, verdict: Verdict) -> None:
    """Three people for ten minutes: no gap, in step in the last minute as in the first, no growing memory."""
    stage.server()
    people = [stage.publisher(name, "--size", "320x180", colour=colour)
              for name, colour in (("ann", "red"), ("bob", "green"), ("cleo", "blue"))]
    for person in people:
        person.join().tell("talk", "talking")
    recorder = stage.recorder("soak", "--size", "640x360")
    began = recorder.recording()
    stage.until(began + SETTLED)
    settled = recorder.memory() // 1024
    stage.until(began + LENGTH)
    growth = recorder.memory() // 1024 - settled
    recorder.stop()
    verdict.check(growth <= GROWTH, f"the resident memory grew by {growth} MB after the first {SETTLED:.0f} s")
    verdict.figure(f"{settled} MB, {growth:+d} MB afterwards (limit {GROWTH})")

    recording = load(recorder, verdict)
    for start in (3.0, recording.duration - 60):
        in_step(recording, people, max(3.0, start) + 1 - recording.zero % 1, min(start + 57, recording.duration), verdict)
    verdict.figure(recorder.cost)
