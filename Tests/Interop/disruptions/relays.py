"""Networks from which nothing but TCP gets out: media goes through a TURN server (coturn)."""

import secrets

from disruptions import wiring
from disruptions.judging import load, longest_gap, present
from stage import Process, Stage
from verdict import Verdict, ms

TURN = "198.18.1.1"
PORT = 3478
# Until media that broke off flows again through a relay.
CHANGED = 8.0


def begin(stage: Stage) -> str:
    """Makes the far side, with a room server that names a relay; gives the relay's password."""
    password = secrets.token_hex(8)
    wiring.begin(stage, "--ice-server", f"turn:{TURN}:{PORT}?transport=tcp", "--ice-username", "u", "--ice-credential",
                 password)
    return password


def relay(stage: Stage, password: str) -> Process:
    """Starts the relay."""
    return stage.relay(TURN, PORT, password)


def allocations(coturn: Process) -> int:
    """How often the relay gave out an address."""
    return sum("ALLOCATE processed, success" in line for line in coturn.output)


def relays(stage: Stage, verdict: Verdict) -> None:
    """Relays on demand, from the beginning because nothing else is possible, and after a media failure."""
    coturn = relay(stage, begin(stage))
    person = stage.publisher("ann", "--size", "480x270", colour="green", display="Sophie").join()
    person.tell("talk", "talking")
    scripts = {"forced": "delay=20ms", "walled": "delay=20ms; 0s udp loss=100%", "cut": "delay=20ms"}
    wires = {name: wiring.wire(stage, number, script) for number, (name, script) in enumerate(scripts.items(), 1)}
    bots = {name: wiring.bot(stage, name, near, *(["--force-turn"] if name == "forced" else []))
            for name, near in wires.items()}
    began = max(bot.recording(30) for bot in bots.values())
    cut = wires["cut"].tell("udp loss=100%")["wall"] if stage.until(began + 8) else 0.0
    stage.until(began + 24)
    for bot in bots.values():
        bot.stop()
    recordings = {name: load(bot, verdict, errors=name != "cut") for name, bot in bots.items()}
    for name in ("forced", "walled"):
        shown = recordings[name].shown(person.colour, 0)
        total, _, _, both = present(recordings[name], person, shown + 0.5, recordings[name].duration - 1)
        verdict.check(shown < 4 and both == total > 10,
                      f"{name}: shown after {ms(shown)}, {both} of {total} seconds are whole")
        verdict.figure(f"{name} from {ms(shown)} on {both} of {total}")
    gap = longest_gap(recordings["cut"], person, cut - recordings["cut"].zero - 2, recordings["cut"].duration - 0.5)
    verdict.timely(gap <= CHANGED, f"cut: no picture for {ms(gap)}")
    verdict.figure(f"cut gap {ms(gap)}")
    used = allocations(coturn)
    verdict.check(used >= 3, f"the relay was asked for {used} allocations")
    for near in wires.values():
        near.close()
    sent = wires["forced"].statistics.get("up udp", {}).get("sent", 0)
    verdict.check(sent == 0, f"forced: {sent} datagrams went past the relay")
