"""The room server fails, or ends the session."""

import json
import signal
import sys
import time

from disruptions import wiring
from disruptions.codes import admin, rooms
from disruptions.judging import chapters, load
from reading import card, read
from scenarios.tracks import REASONS
from stage import COLOURS, Failed, Stage, make_token
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
    verdict.timely(shown <= 3, f"a guest is shown {ms(shown)} after the server was back")
    verdict.figure(f"told {ms(back)}, guest joined {ms(joined - opened)}, shown {ms(shown)} after the server was back")
    tile = recording.tile(person.colour, killed - recording.zero - 0.5)
    [still] = recording.stills([killed - recording.zero + 6])
    if verdict.check(tile is not None, "no tile before the server was killed"):
        reason, likeness = read(still, card(recording.full(tile)), REASONS)
        verdict.check(reason == "Reconnecting…" and likeness > 0.7, f"meanwhile it says {reason} ({likeness:.2f})")


# Run on the far side, where the server can be reached.
CALL = """
import sys, urllib.request
url, token, body = sys.argv[1:]
request = urllib.request.Request(url, body.encode(), {"Authorization": "Bearer " + token,
                                                      "Content-Type": "application/json"})
print(urllib.request.urlopen(request, timeout=5).read().decode())
"""


def call(stage: Stage, path: str, **body) -> None:
    """Calls the server's test API or a service of it."""
    url = stage.url.replace("ws://", "http://") + "/" + path
    wiring.inside(stage.namespace, sys.executable, "-c", CALL, url, admin(**rooms(body)), json.dumps(body))


def meanwhile(stage: Stage, verdict: Verdict) -> None:
    """Without network for 8 s, in which the room ends, or the token expires: complete, back with a new one, or said."""
    wiring.begin(stage, "--test-api", "--no-auto-create")
    for room in ("test", "short"):
        call(stage, "twirp/livekit.RoomService/CreateRoom", name=room)
    person = stage.publisher("ann", "--size", "480x270", colour="green", display="Sophie").join()
    stage.publisher("bob", "--size", "480x270", colour="blue", room="short").join()
    wires = [wiring.wire(stage, number, "delay=20ms") for number in (1, 2, 3)]
    ended = wiring.bot(stage, "ended", wires[0], room="short")
    renewed = wiring.bot(stage, "renewed", wires[1])
    expired = wiring.bot(stage, "expired", wires[2], "--token", make_token("expired", "test"))
    began = max(bot.recording() for bot in (ended, renewed, expired))
    stage.until(began + 3)
    edges = [wire.outage(8) for wire in wires]
    stage.until(began + 5)
    call(stage, "test/end-room", room="short")
    for identity in ("renewed", "expired"):
        call(stage, "test/expire-token", room="test", identity=identity)
    person.tell("colour=" + COLOURS["red"], "colour")
    stage.until(edges[1][1] + 4)
    renewed.stop()
    for bot, wanted in ((ended, 0), (expired, 21)):
        try:
            status = bot.exit(8)
        except Failed as error:
            verdict.check(False, f"{bot.name}: {error}")
            continue
        verdict.check(status == wanted, f"{bot.name}: exit code {status}, not {wanted}: {bot.tail()}")
        recording = load(bot, verdict)
        known = recording.zero + recording.duration - edges[0][1]
        verdict.timely(-0.1 <= known <= 3, f"{bot.name}: the recording ends {ms(known)} after the outage")
        verdict.check("Connection lost" in [title for _, title in chapters(bot)], f"{bot.name}: {chapters(bot)}")
        verdict.figure(f"{bot.name} known after {ms(known)}")
    recording = load(renewed, verdict)
    shown = recording.zero + recording.shown(COLOURS["red"], 0) - edges[1][1]
    verdict.timely(shown <= 2, f"renewed: the first fresh picture comes {ms(shown)} after the outage")
    verdict.figure(f"renewed {ms(shown)}")
