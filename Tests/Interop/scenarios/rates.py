"""Recordings of few and of many pictures a second."""

import numpy as np

from judge import AUDIO_RATE, Recording, beeps
from scenarios.common import load
from scenarios.composed import compose
from stage import Publisher, Stage
from verdict import Verdict

RATES = (5, 15, 60)
SIZE = ("--size", "320x180")


def rates(stage: Stage, verdict: Verdict) -> None:
    """A room at 5, 15 and 60 pictures a second, and one of them composed again at others: the sound is the same, and all there."""
    stage.server()
    people = [stage.publisher(name, "--size", "320x180", colour=colour).join() for name, colour in
              (("ann", "red"), ("bob", "blue"))]
    log = stage.folder / "session"
    recorders = {rate: stage.recorder(f"at-{rate}", *SIZE, "--fps", str(rate), *(["--log", str(log)] if rate == 15 else []))
                 for rate in RATES}
    began = max(recorder.recording() for recorder in recorders.values())
    for person in people:
        person.tell("talk", "talking")
    stage.until(began + 9)
    for rate, recorder in recorders.items():
        recorder.stop()
        recording = load(recorder, verdict, frame=1 / rate)
        verdict.check(abs(len(recording.times) - recording.duration * rate) <= 1,
                      f"{len(recording.times)} pictures in {recording.duration:.2f} s at {rate} a second")
        heard(recording, people, recording.zero, f"at {rate}", verdict)
        if rate == 15:
            live = recording
    for rate in (1, 15, 30):
        again = compose(stage, verdict, log, f"again-{rate}", "--fps", str(rate), frame=1 / rate)
        heard(again, people, live.zero, f"composed at {rate}", verdict)
        # Second by second; live the last one may not be whole.
        loud = [np.sqrt(np.mean(recording.audio[: len(recording.audio) // AUDIO_RATE * AUDIO_RATE]
                                .reshape(-1, AUDIO_RATE) ** 2, axis=1))[1:8] for recording in (live, again)]
        difference = np.abs(20 * np.log10(loud[1] / loud[0])).max()
        verdict.check(difference < 0.5, f"composed at {rate}: the sound is {difference:.1f} dB off")


def heard(recording: Recording, people: list[Publisher], zero: float, what: str, verdict: Verdict) -> None:
    """Everybody beeps at each whole second."""
    late: list[float] = []
    for person in people:
        found = beeps(recording, person.pitch, 2, recording.duration - 0.5)
        wanted = [second for second in range(int(zero) + 1, int(zero + recording.duration) + 1)
                  if 2.3 <= second - zero <= recording.duration - 0.7]
        near = {second: min((zero + beep - second for beep in found), key=abs, default=9.0) for second in wanted}
        missing = [round(second - zero, 1) for second, distance in near.items() if abs(distance) > 0.2]
        verdict.check(not missing, f"{what}: {person.name} is not heard at {missing} s")
        late += [distance for distance in near.values() if abs(distance) <= 0.2]
    verdict.figure(f"{what} heard after {np.median(late or [np.nan]) * 1000:.0f} ms")
