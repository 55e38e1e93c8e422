"""Publications that come and go so often that m-lines are used again."""

import random

from reading import label, read
from scenarios.common import in_step, load
from seeds import seed
from stage import Stage
from verdict import Verdict

SEED, ROUNDS = 7, 5


def churn(stage: Stage, verdict: Verdict) -> None:
    """Four people publish, unpublish, leave, return at random: in the end each name is on its own colour, in step."""
    stage.server()
    people = [stage.publisher(name.lower(), "--size", "320x180", colour=colour, display=name)
              for name, colour in (("Ann", "red"), ("Bob", "green"), ("Cleopatra", "blue"), ("Dev", "yellow"))]
    for person in people[:2]:
        person.join()
    recorder = stage.recorder("churn", "--size", "1280x720")
    recorder.recording()
    for person in people[2:]:
        person.join()
    chance = random.Random(seed(SEED))
    for turn in range(ROUNDS):
        # Two at once, so that removals and additions meet in one offer.
        pair = chance.sample(people, 2)
        ways = [chance.choice((("unpublish-camera", "unpublished"), ("unpublish-microphone", "unpublished"),
                               ("leave", "left"))) for _ in pair]
        for person, (action, event) in zip(pair, ways):
            person.tell(action)
        for person, (action, event) in zip(pair, ways):
            person.event(event)
        for person, (action, _) in zip(reversed(pair), reversed(ways)):
            person.tell("join" if action == "leave" else action.removeprefix("un"))
        if turn % 2:
            stage.until(chance.uniform(0.1, 0.5) + recorder.lines[-1][0])
    verdict.figure(f"seed {seed(SEED)}")
    settled = max(person.tell("name=" + person.display, "named") for person in people)
    stage.until(settled + 5)
    recorder.stop()

    recording = load(recorder, verdict)
    start = recording.calm(settled - recording.zero + 1.8)
    [still] = recording.stills([start])
    for person in people:
        tile = recording.tile(person.colour, start)
        if not verdict.check(tile is not None, f"{person.display}: no tile of their colour"):
            continue
        name, likeness = read(still, label(recording.full(tile)), [other.display for other in people])
        verdict.check(name == person.display, f"{person.display}'s picture has the label {name} ({likeness:.2f})")
    # Sound has just been published, by busy processes: libwebrtc's first sender reports of it are as late as its encoder
    # was at that moment, and the next ones come after 5 s.
    in_step(recording, people, start, recording.duration, verdict, limit=0.1)
