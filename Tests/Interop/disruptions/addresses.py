"""The bot's address changes: at the NAT before it, or its own."""

from disruptions import wiring
from disruptions.codes import Row, numbers
from disruptions.judging import load, longest_gap, longest_silence
from stage import Stage
from verdict import Verdict, ms

REBINDING, READDRESSING = 2.0, 5.0


def addresses(stage: Stage, verdict: Verdict) -> None:
    """The NAT forgets the bot; the bot's network gives it another address: a gap, then everything as before."""
    wiring.begin(stage)
    person = stage.publisher("ann", "--size", "480x270", colour="green", display="Sophie").join()
    person.tell("talk", "talking")
    wires = [wiring.wire(stage, number, "delay=20ms") for number in (1, 2)]
    rebound, moved = (wiring.bot(stage, name, wire) for name, wire in zip(("rebound", "moved"), wires))
    began = max(rebound.recording(), moved.recording())
    stage.until(began + 4)
    wires[0].tell("rebind", "rebind")
    near = wires[1].near
    device = next(line.split()[1].rstrip(":") for line in wiring.inside(near, "ip", "-o", "-4", "addr").splitlines()
                  if "10.45." in line)
    wiring.inside(near, "ip", "addr", "del", "10.45.2.2/32", "dev", device)
    wiring.inside(near, "ip", "addr", "add", "10.45.2.77/32", "dev", device)
    # Gone with the address that it had as its source.
    wiring.inside(near, "ip", "route", "replace", "default", "dev", device)
    stage.until(began + 18)
    numbers(Row("networkChanged", 0, {"enablex": 5073}), moved.output, verdict)
    for recorder, limit in ((rebound, REBINDING), (moved, READDRESSING)):
        recorder.stop()
        recording = load(recorder, verdict)
        gap = longest_gap(recording, person, 1.2, recording.duration - 0.4)
        silence = longest_silence(recording, 1.2, recording.duration - 0.4)
        verdict.timely(max(gap, silence) <= limit, f"{recorder.name}: no picture for {ms(gap)}, no sound for {ms(silence)}")
        verdict.figure(f"{recorder.name} gap {ms(max(gap, silence))}")
        verdict.check(recorder.last_progress["phase"] == "finished", f"{recorder.name}: {recorder.last_progress}")
