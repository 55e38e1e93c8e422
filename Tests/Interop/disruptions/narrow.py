"""A line that carries only some of the videos for a while."""

import numpy as np

from disruptions import wiring
from disruptions.judging import load, present
from judge import beeps
from stage import Stage
from verdict import Verdict, ms

NARROW = 25  # seconds


def narrow(stage: Stage, verdict: Verdict) -> None:
    """Three videos on a line for one: an alert, the talker stays, the others get cards; sound goes on; later all."""
    wiring.begin(stage)
    camera = ("--size", "480x270", "--bitrate", "500000", "--noise")
    people = [stage.publisher(name, *camera, colour=colour, display=display)
              for name, colour, display in (("ann", "green", "Sophie"), ("bob", "blue", "Matthew"),
                                            ("cleo", "red", "Penelope"))]
    ann, bob, cleo = (person.join() for person in people)
    bob.tell("talk", "talking")
    near = wiring.wire(stage, 1, "delay=20ms")
    recorder = wiring.bot(stage, "narrow", near, "--layout", "grid")
    began = recorder.recording(30)
    stage.until(began + 8)
    rate = recorder.last_progress
    verdict.check(rate.get("bandwidth_alert") is None, f"an alert on a good line: {rate.get('bandwidth_alert')}")
    narrowed = near.tell("down rate=900kbit queue=250ms")["wall"]
    alert = recorder.happens("bandwidth-alert", 15, limited=True)
    stage.until(narrowed + NARROW)
    lines = len(recorder.lines)
    widened = near.tell("down rate=none")["wall"]
    recorder.happens("bandwidth-alert", 60, after=lines, limited=False)
    ended = stage.until(recorder.lines[-1][0] + 4)
    recorder.stop()

    recording = load(recorder, verdict, errors=False)
    start, end = narrowed - recording.zero, widened - recording.zero
    alerts = [(event["time_ms"] / 1000, event["number_of_videos"]) for event in recorder.happened("bandwidth-alert")]
    numbers = [number for _, number in alerts]
    told = alert["time_ms"] / 1000 - start
    verdict.timely(told < 8, f"the alert comes after {ms(told)}")
    verdict.check(0 <= alert["number_of_videos"] < 3, f"the alert says {alert}")
    verdict.figure(
        f"alert after {told:.1f} s: {alert['bandwidth']} kbit/s, {alert['stream_bandwidth']} each; {numbers}")
    # While one more video is tried there is too much again, until that is noticed and has drained; and when fewer were
    # still too many, until the next step down has helped.
    tries = [(at, next((end for end, fewer in alerts if end > at and fewer < more), at) + 2)
             for (_, before), (at, more) in zip(alerts, alerts[1:]) if more > before]
    tries += [(at, at + 3) for (_, before), (at, fewer) in zip(alerts, alerts[1:]) if fewer < before]

    def is_calm(moment: float) -> bool:
        return not any(began - 1 < moment < over for began, over in tries)

    # While it is narrow, after the queue has drained: the talker is seen, somebody else is not, everybody is heard.
    moments = [recording.calm(moment) for moment in np.arange(start + told + 5, end - 1, 0.5) if is_calm(moment)]
    verdict.check(len(moments) >= 5, f"only {len(moments)} moments without a try")
    counts = []
    for moment in moments:
        # On this line a flash may be shown later than `calm` expects; two looks are further apart than it lasts.
        seen = [person.name for person in people
                if max(recording.area(person.colour, moment + later) for later in (0, 0.2)) > 0.02]
        carried = [number for at, number in alerts if at < moment][-1]
        counts.append(len(seen))
        verdict.check(len(seen) < 3, f"all are seen on the narrow line at {moment:.1f} s")
        if carried > 0:
            verdict.check("bob" in seen, f"the talker is not among those who are seen at {moment:.1f} s: {seen}")
    verdict.figure(f"{min(counts, default=0)} to {max(counts, default=0)} seen at {len(counts)} moments")
    for person in people:
        span = range(int(recording.zero + start + told + 6) + 1, int(recording.zero + end - 1))
        heard = {round(recording.zero + moment - 0.1) for moment in beeps(recording, person.pitch, start, end)}
        quiet = [second for second in span if is_calm(second - recording.zero)]
        count, total = sum(second in heard for second in quiet), sum(second in heard for second in span)
        verdict.check(bool(quiet) and count >= 0.95 * len(quiet),
                      f"{person.name}: {count} beeps in {len(quiet)} narrow seconds without a try")
        verdict.check(total >= 0.7 * len(span), f"{person.name}: {total} beeps in {len(span)} narrow seconds")
        verdict.figure(f"{person.name} heard in {total} of {len(span)} s ({count} of {len(quiet)} without a try)")
    # In the end all are there again.
    for person in people:
        total, _, _, both = present(recording, person, recording.duration - 3, recording.duration - 1)
        verdict.check(both == total, f"{person.name}: {both} of the last {total} seconds are whole")
    verdict.figure(f"all back {ended - 4 - widened:.0f} s after the end")
