"""The room server fails, or ends the session."""

import signal
import time

from disruptions import wiring
from disruptions.judging import load
from reading import card, read
from scenarios.common import calm
from scenarios.tracks import REASONS
from stage import COLOURS, Stage
from verdict import Verdict, ms


def restart(stage: Stage, verdict: Verdict) -> None:
    """The server is killed, and started again 8 s later: pictures of somebody who joins then within 3 s, in one file."""
    server = wiring.begin(stage)
    person = stage.publisher("ann", "--size", "480x270", colour="green", display="Sophie").join()
    guest = stage.publisher("bob", "--size", "480x270", colour="blue", display="Matthew")
    guest.event("ready", timeout=30)
    recorder = wiring.bot(stage, "restarted", wiring.wire(stage, 1, "delay=20ms"))
    stage.until(recorder.recording() + 3)
    killed = server.send(signal.SIGKILL)
    server.exit(5)
    stage.until(killed + 8)
    port = stage.url.rsplit(":", 1)[1]
    stage.server(port, "--bind", "0.0.0.0")
    opened = time.time()
    guest.tell("join", "complete")
    joined = time.time()
    stage.until(opened + 7)
    recorder.stop()
    recording = load(recorder, verdict)
    back = recorder.lines[recorder.phase("recording", 1, after=recorder.phase("reconnecting", 1))][0] - opened
    shown = recording.zero + recording.shown(COLOURS["blue"], killed - recording.zero) - opened
    verdict.check(shown <= 3, f"a guest is shown {ms(shown)} after the server was back")
    verdict.figure(f"told {ms(back)}, guest joined {ms(joined - opened)}, shown {ms(shown)} after the server was back")
    tile = recording.tile(person.colour, calm(recording, killed - recording.zero - 0.5))
    [still] = recording.stills([killed - recording.zero + 6])
    if verdict.check(tile is not None, "no tile before the server was killed"):
        reason, likeness = read(still, card(recording.full(tile)), REASONS)
        verdict.check(reason == "Reconnecting…" and likeness > 0.7, f"meanwhile it says {reason} ({likeness:.2f})")
