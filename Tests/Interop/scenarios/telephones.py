"""People whose sound is that of telephones."""

from scenarios.common import calm, in_step, load
from stage import COLOURS, PITCHES, Client, Stage
from verdict import Verdict

PEOPLE = {"ann": ("red", "PCMU"), "bob": ("green", "PCMA"), "cleo": ("blue", "G722")}


class Caller(Client):
    """A participant of `publishers/telephone.py`."""

    def __init__(self, name: str, stage: Stage, codec: str, colour: str):
        self.colour, self.pitch = COLOURS[colour], PITCHES[colour]
        super().__init__(name, "telephone.py", stage.url, "test", stage.folder, "--identity", name, "--name",
                         name.capitalize(), "--codec", codec, "--colour", self.colour, "--frequency", str(self.pitch))


def telephones(stage: Stage, verdict: Verdict) -> None:
    """G.711 in both laws and G.722 in one room, from aiortc: each beep is heard with its flash."""
    stage.server()
    people = [stage.start(Caller(name, stage, codec, colour)) for name, (colour, codec) in PEOPLE.items()]
    for person in people:
        person.wait_for("connected", 30)
    recorder = stage.recorder("telephones", "--size", "960x540")
    began = recorder.recording()
    stage.until(began + 10)
    recorder.stop()

    recording = load(recorder, verdict)
    for person in people:
        sent = {told["mime"] for told in person.told if told["event"] == "published"}
        codec = PEOPLE[person.name][1]
        verdict.check(sent == {"video/VP8", f"audio/{codec}"}, f"{person.name} was to send {codec} and sent {sent}")
    tiles = {person.name: recording.tile(person.colour, calm(recording, 5)) for person in people}
    verdict.check(None not in tiles.values(), f"tiles by colour: {tiles}")
    in_step(recording, people, 3, recording.duration, verdict)
    verdict.figure(recorder.cost)
