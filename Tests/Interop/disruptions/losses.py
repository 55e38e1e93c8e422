"""Networks that lose, delay, shuffle, copy and damage packets all the time."""

import os
from concurrent.futures import ThreadPoolExecutor

from disruptions import wiring
from disruptions.judging import load, present
from stage import Stage
from verdict import Verdict

# Lost packets in percent, both ways, and in how many percent of the seconds the markers must be there.
LEVELS = {1: 99.8, 5: 99.5, 10: 99.0, 30: 95.0}
PATH = "delay=20ms"
# Within how many seconds everybody is shown. At 30 % TCP alone needs many for the messages of a join: each loss in a
# row doubles its wait, and after a lost SYN that begins with three seconds (RFC 6298 section 5.7).
SHOWN = {30: 20}


def losses(stage: Stage, verdict: Verdict) -> None:
    """5 and 30 % of all packets are lost both ways: how many seconds have everybody's flash and beep."""
    lose(stage, verdict, 30, [5, 30])


def losses_long(stage: Stage, verdict: Verdict) -> None:
    """As `losses`, with 1, 5, 10 and 30 %, for five minutes."""
    lose(stage, verdict, 300, list(LEVELS))


def lose(stage: Stage, verdict: Verdict, length: float, levels: list[int]) -> None:
    """Records so many seconds at each level of loss."""
    wiring.begin(stage)
    people = [stage.publisher("ann", "--size", "480x270", colour="green", display="Sophie"),
              stage.publisher("bob", "--size", "480x270", colour="blue", display="Matthew")]
    for person in people:
        person.join()
        person.tell("talk", "talking")
    bots = {percent: (wire := wiring.wire(stage, number, f"{PATH} loss={percent}%"),
                      wiring.bot(stage, f"loss{percent}", wire))
            for number, percent in enumerate(levels, 1)}
    began = max(recorder.recording(30) for _, recorder in bots.values())
    stage.until(began + length)
    for _, recorder in bots.values():
        recorder.stop()
    parts = [Verdict() for _ in levels]
    # Reading minutes of pictures takes as long as recording them did.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda percent, part: markers(bots[percent][1], people, LEVELS[percent], part, SHOWN.get(percent, 10)),
                      levels, parts))
    for part in parts:
        verdict.take(part)
        verdict.figures += part.figures


def markers(recorder, people, wanted: float, verdict: Verdict, patience: float = 10) -> None:
    """Checks in how many seconds the markers are there, and that nothing is decoded that shouldn't be."""
    recording = load(recorder, verdict, errors=False)
    shown = max(recording.shown(person.colour, 0) for person in people)
    if not verdict.check(shown < patience, f"{recorder.name}: not everybody is shown at {shown:.1f} s"):
        return
    counts = [present(recording, person, shown + 0.5, recording.duration - 1) for person in people]
    total, seen, heard, both = (sum(column) for column in zip(*counts))
    verdict.timely(both >= total * wanted / 100, f"{recorder.name}: flash and beep in {both} of {total} seconds, "
                   f"{wanted} % wanted ({seen} flashes, {heard} beeps)")
    verdict.figure(f"{recorder.name} {100 * both / total:.1f}% of {total} (limit {wanted}%; {seen} seen, {heard} heard)")


def weather(stage: Stage, verdict: Verdict) -> None:
    """Jitter, reordering, copies, damaged packets, bursts of loss, and a bottleneck for a while."""
    wiring.begin(stage)
    person = stage.publisher("ann", "--size", "480x270", colour="green", display="Sophie").join()
    person.tell("talk", "talking")
    scripts = {
        "jitter": "delay=60ms jitter=100ms", "shuffled": "delay=20ms reorder=10%/30ms duplicate=10% corrupt=1%",
        "bursts": "delay=20ms burst=5%/6", "narrow": "delay=20ms; 10s down rate=300kbit queue=300ms; 18s down rate=none"}
    bots = {name: (wire := wiring.wire(stage, number, script), wiring.bot(stage, name, wire))
            for number, (name, script) in enumerate(scripts.items(), 1)}
    began = max(recorder.recording(30) for _, recorder in bots.values())
    stage.until(began + 30)
    for _, recorder in bots.values():
        recorder.stop()
    for name, wanted in (("jitter", 99.0), ("shuffled", 99.0), ("bursts", 96.0)):
        markers(bots[name][1], [person], wanted, verdict)
    # Sound has its place even where pictures have not; afterwards all is well again.
    recorder = bots["narrow"][1]
    recording = load(recorder, verdict, errors=False)
    total, _, heard, _ = present(recording, person, 1, recording.duration - 1)
    verdict.check(heard >= 0.9 * total, f"narrow: {heard} beeps in {total} seconds")
    ended = bots["narrow"][0].event("changed", after=1)
    total, _, _, both = present(recording, person, recording.duration - 6, recording.duration - 1)
    verdict.check(both == total, f"narrow: {both} of the last {total} seconds are whole")
    verdict.figure(f"narrow {heard} heard, event {ended['text']}")
