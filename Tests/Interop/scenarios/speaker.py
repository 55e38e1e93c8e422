"""Who is large in the speaker layout, and what a shared screen does to it."""

import numpy as np

from judge import Recording
from scenarios.common import load
from stage import SCREEN_COLOUR, Publisher, Stage
from verdict import Verdict, ms

LARGE = 0.4  # of the canvas


def speaker(stage: Stage, verdict: Verdict) -> None:
    """Whoever talks becomes large after the hold times; a cough does nothing; a shared screen has the large place."""
    stage.server()
    people = [stage.publisher(name, "--size", "480x270", colour=colour)
              for name, colour in (("ann", "red"), ("bob", "green"), ("cleo", "blue"))]
    ann, bob, cleo = (person.join() for person in people)
    recorder = stage.recorder("speaker", "--layout", "speaker", "--size", "1280x720")
    stage.until(recorder.recording() + 0.5)
    talks = {}
    talks["bob"] = bob.tell("talk", "talking")
    stage.until(talks["bob"] + 4)
    bob.tell("hush", "silent")
    talks["ann"] = ann.tell("talk", "talking")
    stage.until(talks["ann"] + 4)
    cough = cleo.tell("talk", "talking")  # into the other's words
    stage.until(cough + 0.3)
    cleo.tell("hush", "silent")
    stage.until(cough + 2.5)
    shared = cleo.tell("share-screen", "published")
    stage.until(shared + 3)
    ann.tell("hush", "silent")
    talks["bob while sharing"] = bob.tell("talk", "talking")
    stage.until(talks["bob while sharing"] + 3.5)
    ended = cleo.tell("unshare-screen", "unpublished")
    stage.until(ended + 2)
    recorder.stop()

    recording = load(recorder, verdict)
    moments, who = larges(recording, people)

    def taken(name: str, after: float) -> float:
        found = [moment for moment, large in zip(moments, who) if large == name and moment >= after]
        return found[0] - after if found else float("inf")

    # 0.4 s of talking, the room's word each 0.4 s, and the 2 s that the one before keeps the place.
    for name in ("bob", "ann"):
        delay = taken(name, talks[name] - recording.zero)
        verdict.timely(delay <= 2.6, f"{name} talks and is large after {ms(delay)}")
        verdict.figure(f"{name} large after {ms(delay)}")
    share, unshare = shared - recording.zero, ended - recording.zero
    delay = taken("screen", share - 0.2) - 0.2
    verdict.timely(delay <= 1.5, f"the shared screen is large after {ms(delay)}")
    verdict.figure(f"screen large after {ms(delay)}")
    while_shared = {large for moment, large in zip(moments, who) if share + 1.5 < moment < unshare - 0.1}
    verdict.check(while_shared == {"screen"}, f"while the screen is shared, large are {sorted(map(str, while_shared))}")
    delay = taken("bob", unshare - 0.2) - 0.2
    verdict.timely(delay <= 0.4, f"the talker has the place back {ms(delay)} after the sharing")
    verdict.figure(f"given back after {ms(delay)}")
    # Before anybody talks, the first whose picture is there has the place, until one who came before has one too.
    talking = [large for moment, large in zip(moments, who) if moment >= talks["bob"] - recording.zero]
    changes = [b for a, b in zip(talking, talking[1:]) if a != b]
    verdict.check(changes == ["bob", "ann", "screen", "bob"], f"large in turn: {[*talking[:1], *changes]}")
    # Nothing is stretched: the screen's black bars are straight and its shape is kept (16:9, whole).
    box = recording.tile(SCREEN_COLOUR, share + 2.5)
    if verdict.check(box is not None, "no tile of the screen's colour"):
        width, height = box[2] - box[0], box[3] - box[1]
        verdict.check(abs(width / height - 16 / 9) < 0.08, f"the screen is shown as {width}x{height}")
    # Those who are not large are all there, in the strip.
    for person in (ann, cleo):
        area = recording.area(person.colour, unshare - 0.45)
        verdict.check(0.005 < area < 0.1, f"{person.name} is not in the strip beside the screen ({area:.3f})")


def larges(recording: Recording, people: list[Publisher]) -> tuple[list[float], list[str]]:
    """The moments at which somebody's colour fills the large place (nobody's does in a flash), and who it is."""
    colours = {person.name: person.colour for person in people} | {"screen": SCREEN_COLOUR}
    areas = np.stack([recording.areas(colour) for colour in colours.values()])
    sure = areas.max(axis=0) >= LARGE
    names = list(colours)
    return list(recording.times[sure]), [names[i] for i in areas.argmax(axis=0)[sure]]
