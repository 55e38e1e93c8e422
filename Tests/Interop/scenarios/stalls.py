"""A microphone whose capture stops for a while, without a mute, and goes on: its clock is behind from then on."""

import math

from judge import beeps, flashes
from scenarios.common import SKEW, load
from stage import Stage
from verdict import Verdict, ms, worst

STALLS = (0.4, 1.0, 2.0, 5.0)
PAUSE = 3.5


def stalls(stage: Stage, verdict: Verdict) -> None:
    """Every beep that was captured is heard, and a second after each stall it is in step with its flash again."""
    stage.server()
    person = stage.publisher("ann", "--size", "320x180", colour="red").join()
    recorder = stage.recorder("stalls", "--size", "640x360")
    begin = math.ceil(recorder.recording()) + 3
    spans: list[tuple[float, float]] = []
    moment = begin + 0.45
    for stall in STALLS:
        stage.until(moment)
        began = person.tell(f"stall={stall}", "stalled")
        spans.append((began, began + stall))
        moment = math.ceil(began + stall + PAUSE) + 0.45
    stage.until(moment)
    recorder.stop()

    recording = load(recorder, verdict)
    tile = recording.tile(person.colour, begin - recording.zero)
    if not verdict.check(tile is not None, "there is no tile of their colour"):
        return
    seen = flashes(recording, tile, 0.0, recording.duration)
    heard = beeps(recording, person.pitch, 0.0, recording.duration)
    missing: list[int] = []
    settled: list[float] = []
    unsettled: list[float] = []
    for second in range(begin, math.floor(moment - 0.6)):
        # A beep of which the stall took a part need not be there.
        if any(start - 0.1 < second < end + 0.05 for start, end in spans):
            continue
        flash = min(seen, key=lambda at: abs(at - 0.1 - (second - recording.zero)), default=math.inf)
        if not verdict.check(abs(flash - 0.1 - (second - recording.zero)) < 0.4, f"no flash in second {second - begin}"):
            continue
        beep = min(heard, key=lambda at: abs(at - flash), default=math.inf)
        if abs(beep - flash) >= 0.45:
            missing.append(second - begin)
            continue
        is_settling = any(end <= second <= end + 1 for _, end in spans)
        (unsettled if is_settling else settled).append(beep - flash)
    verdict.check(not missing, f"beeps that were captured are not heard, in the seconds {missing}")
    verdict.timely(worst(settled) <= SKEW, f"flash to beep {ms(worst(settled))}")
    late = recorder.last_progress.get("late_sound_ms")
    # Less than a packet: what a correction of a clock covers.
    verdict.check(late is not None and late < 20, f"{late} ms of sound came too late")
    verdict.figure(f"{len(settled) + len(unsettled)} beeps, skew at most {ms(worst(settled))}")
    verdict.figure(f"within a second of a stall {ms(worst(unsettled))}")
