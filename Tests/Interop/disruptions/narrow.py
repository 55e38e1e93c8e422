"""A line that carries only some of the videos for a while."""

from disruptions import wiring
from disruptions.judging import load, present
from judge import beeps
from scenarios.common import calm
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
    verdict.check(told < 8, f"the alert comes after {ms(told)}")
    verdict.check(0 <= alert["number_of_videos"] < 3, f"the alert says {alert}")
    verdict.figure(f"alert after {told:.1f} s: {alert['bandwidth']} kbit/s, {alert['stream_bandwidth']} each; {numbers}")
    # While it is narrow, after the queue has drained: the talker is seen, somebody else is not, everybody is heard.
    moment = calm(recording, start + told + 5)
    seen = [person.name for person in (ann, bob, cleo) if recording.area(person.colour, moment) > 0.02]
    verdict.check(len(seen) < 3, f"all are seen on the narrow line: {seen}")
    if alert["number_of_videos"] > 0:
        verdict.check("bob" in seen, f"the talker is not among those who are seen: {seen}")
    # While one more video is tried there is too much again, until that is noticed and has drained.
    tries = [(at, next((end for end, fewer in alerts if end > at and fewer < more), at) + 2)
             for (_, before), (at, more) in zip(alerts, alerts[1:]) if more > before]
    for person in people:
        span = range(int(recording.zero + start + told + 6) + 1, int(recording.zero + end - 1))
        heard = {round(recording.zero + moment - 0.1) for moment in beeps(recording, person.pitch, start, end)}
        quiet = [second for second in span
                 if not any(began - 1 < second - recording.zero < over for began, over in tries)]
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
