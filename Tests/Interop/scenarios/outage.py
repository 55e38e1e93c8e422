"""The room server dies and comes back while a recording runs."""

import signal

from reading import card, read
from scenarios.common import in_step, load
from scenarios.tracks import REASONS
from stage import Stage
from verdict import Verdict, ms


def outage(stage: Stage, verdict: Verdict) -> None:
    """The server is killed and started again: one file without a gap, a card in between, then the pictures again."""
    server = stage.server()
    person = stage.publisher("ann", "--size", "480x270", colour="green", display="Sophie").join()
    recorder = stage.recorder("outage", "--size", "1280x720")
    stage.until(recorder.recording() + 1.5)
    killed = server.send(signal.SIGKILL)
    server.exit(5)
    stage.until(killed + 7)
    stage.server(port=stage.url.rsplit(":", 1)[1])
    # Both try again after longer and longer times, each for itself.
    again = person.event("reconnected", timeout=30)["wall"]
    told = recorder.phase("recording", 30, after=recorder.phase("reconnecting", 1))
    back = max(again, recorder.lines[told][0])
    stage.until(back + 4.5)
    recorder.stop()

    recording = load(recorder, verdict)
    at = killed - recording.zero
    gone = recording.gone(person.colour, at - 0.3) - at
    verdict.timely(gone <= 3.2, f"the picture stays as if nothing had happened for {ms(gone)}")
    [still] = recording.stills([at + 6.5])
    tile = recording.tile(person.colour, at - 0.5)
    reason, likeness = read(still, card(recording.full(tile)), REASONS)
    verdict.check(reason == "Reconnecting…" and likeness > 0.7,
                  f"during the outage the tile says {reason} ({likeness:.2f})")
    shown = recording.shown(person.colour, at + 5) + recording.zero
    verdict.figure(f"picture gone after {ms(gone)}, again {ms(shown - again)} after the publisher was back")
    in_step(recording, [person], shown - recording.zero + 1.5, recording.duration, verdict)
