"""People whose clients send what browsers seldom do."""

import json

from scenarios.common import in_step, load
from scenarios.composed import exported
from stage import COLOURS, PITCHES, Client, Stage
from verdict import Verdict


class Caller(Client):
    """A participant of `publishers/rare.py`."""

    def __init__(self, name: str, stage: Stage, colour: str, *options: str):
        self.colour, self.pitch = COLOURS[colour], PITCHES[colour]
        super().__init__(name, "rare.py", stage.url, "test", stage.folder, "--identity", name, "--name",
                         name.capitalize(), "--colour", self.colour, "--frequency", str(self.pitch), *options)

    @property
    def sent(self) -> set[str]:
        """The codecs that the room says it sends."""
        return {told["mime"].lower() for told in self.told if told["event"] == "published"}


def meet(stage: Stage, people: list[Caller], name: str, *options: str):
    """Records ten seconds of people who have joined."""
    for person in people:
        person.wait_for("connected", 30)
    recorder = stage.recorder(name, "--size", "960x540", *options)
    began = recorder.recording()
    stage.until(began + 10)
    recorder.stop()
    return recorder


def telephones(stage: Stage, verdict: Verdict) -> None:
    """G.711 in both laws and G.722 in one room, from aiortc: each beep is heard with its flash."""
    stage.server()
    sounds = {"ann": ("red", "PCMU"), "bob": ("green", "PCMA"), "cleo": ("blue", "G722")}
    people = [stage.start(Caller(name, stage, colour, "--sound", sound)) for name, (colour, sound) in sounds.items()]
    log = stage.folder / "session"
    recorder = meet(stage, people, "telephones", "--log", str(log))

    recording = load(recorder, verdict)
    exported(stage, verdict, log, recording, people, {name: ("VP8", sound) for name, (_, sound) in sounds.items()})
    for person in people:
        wanted = {"video/vp8", f"audio/{sounds[person.name][1]}".lower()}
        verdict.check(person.sent == wanted, f"{person.name} was to send {wanted} and sent {person.sent}")
    in_step(recording, people, 3, recording.duration, verdict)
    verdict.figure(recorder.cost)


def high_efficiency(stage: Stage, verdict: Verdict) -> None:
    """H.265 and H.264 from aiortc: seen and heard; H.265 in 10 bits is a card, a warning and an entry of the timeline."""
    stage.server()
    people = [stage.start(Caller("ann", stage, "red", "--pictures", "H265")),
              stage.start(Caller("bob", stage, "green", "--pictures", "H264")),
              stage.start(Caller("cleo", stage, "blue", "--pictures", "H265", "--pixels", "yuv420p10le"))]
    timeline = stage.folder / "timeline.jsonl"
    log = stage.folder / "session"
    recorder = meet(stage, people, "high", "--timeline", str(timeline), "--log", str(log))

    recording = load(recorder, verdict)
    codecs = {"ann": ("H265", "opus"), "bob": ("H264", "opus"), "cleo": ("H265", "opus")}
    exported(stage, verdict, log, recording, people, codecs)
    for person, codec in zip(people, ("h265", "h264", "h265")):
        wanted = {f"video/{codec}", "audio/opus"}
        verdict.check(person.sent == wanted, f"{person.name} was to send {wanted} and sent {person.sent}")
    in_step(recording, people[:2], 3, recording.duration, verdict)
    verdict.check(recording.tile(people[2].colour, 6) is None, "10 bits are shown as pictures")
    form = "H.265 (10 bits 4:2:0)"
    entries = [entry for entry in map(json.loads, timeline.read_text().splitlines()) if entry["event"] == "unsupported-codec"]
    verdict.check([(entry["participant"], entry["codec"]) for entry in entries] == [("cleo", form)], f"timeline: {entries}")
    warned = [line for line in recorder.errors.splitlines() if "cannot be shown" in line]
    verdict.check(len(warned) == 1 and form in warned[0] and "cleo" in warned[0], f"the log warns: {warned}")
    verdict.figure(recorder.cost)
