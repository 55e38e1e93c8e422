"""The bot's way to the server is cut: wholly, or for media or signalling only."""

from disruptions import wiring
from disruptions.judging import came_back, chapters, load, longest_gap, longest_silence
from scenarios.common import in_step
from stage import COLOURS, Stage
from verdict import Verdict, ms

PATH = "delay=20ms jitter=5ms"
BEFORE = 3.0
AFTER = 4.5


def outages(stage: Stage, verdict: Verdict) -> None:
    """5 s and 30 s without network, 5 s without media, 20 s without signalling: back at once, in one file each."""
    wiring.begin(stage)
    person = stage.publisher("ann", "--size", "480x270", "--fps", "30", colour="green", display="Sophie").join()
    person.tell("talk", "talking")
    bots = {name: (wire := wiring.wire(stage, number, PATH), wiring.bot(stage, name, wire))
            for number, name in enumerate(("five", "thirty", "media", "signal"), 1)}
    began = max(recorder.recording() for _, recorder in bots.values())
    stage.between_flashes(began + BEFORE)
    edges = {name: bots[name][0].outage(seconds, scope) for name, seconds, scope in (
        ("five", 5, ""), ("thirty", 30, ""), ("media", 5, "udp"), ("signal", 20, "tcp"))}
    start = edges["five"][0]
    # What is seen in blue was sent after the outage began.
    stage.until(start + 2.5)
    changed = person.tell("colour=" + COLOURS["blue"], "colour")
    for name in ("five", "media", "signal", "thirty"):
        stage.until(edges[name][1] + AFTER)
        bots[name][1].stop()

    for name, limit in (("five", 0.5), ("media", 2.0), ("thirty", 2.0)):
        recorder = bots[name][1]
        recording = load(recorder, verdict)
        came_back(recorder, recording, person, "blue", *edges[name], limit, verdict)
        steady(recording, person, edges[name][1] - recording.zero + limit + 0.5, verdict)
    recorder = bots["signal"][1]
    recording = load(recorder, verdict)
    shown = recording.zero + recording.shown(COLOURS["blue"], 0) - changed
    verdict.timely(shown <= 0.5, f"signal: media stop without signalling: blue is shown {ms(shown)} late")
    gap = max(longest_gap(recording, person, 1.2, recording.duration - 0.4),
              longest_silence(recording, 1.2, recording.duration - 0.4))
    verdict.timely(gap <= 0.1, f"signal: a gap of {ms(gap)} in the media")
    verdict.figure(f"signal gap {ms(gap)}")
    verdict.check(not any("Connection" in title for _, title in chapters(recorder)),
                  f"signal: a loss is told that nobody can see: {chapters(recorder)}")


def steady(recording, person, start: float, verdict: Verdict) -> None:
    """From `start` on everything is as before the outage."""
    after = Verdict()
    person_now = type("Person", (), {"name": person.name, "colour": COLOURS["blue"], "pitch": person.pitch})
    in_step(recording, [person_now], start, recording.duration, after)
    verdict.take(after, "after the outage")
    verdict.figures.extend(f"then {figure}" for figure in after.figures if figure.startswith("shown after"))


def outage_120(stage: Stage, verdict: Verdict) -> None:
    """Two minutes without network: back within 3 s, in the same file."""
    wiring.begin(stage)
    person = stage.publisher("ann", "--size", "480x270", colour="green", display="Sophie").join()
    wire = wiring.wire(stage, 1, PATH)
    recorder = wiring.bot(stage, "long", wire)
    stage.between_flashes(recorder.recording() + BEFORE)
    edges = wire.outage(120)
    stage.until(edges[0] + 60)
    person.tell("colour=" + COLOURS["blue"], "colour")
    stage.until(edges[1] + AFTER + 1)
    recorder.stop()
    recording = load(recorder, verdict)
    came_back(recorder, recording, person, "blue", *edges, 3.0, verdict)
    steady(recording, person, edges[1] - recording.zero + 3.5, verdict)
