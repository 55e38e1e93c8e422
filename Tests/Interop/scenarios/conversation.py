"""Three people, from the join to the end: tiles, names, lip sync, duration."""

from judge import same
from reading import label, read
from scenarios.common import in_step, load
from stage import Stage
from verdict import Verdict


def conversation(stage: Stage, verdict: Verdict) -> None:
    """Three people in a grid: colours tile by tile, names, flash to beep, no gap, duration against wall clock."""
    stage.server()
    # Sound as it comes: plain Opus, with redundancy (RFC 2198), and with pauses in which nothing is sent.
    people = [stage.publisher("ann", colour="red", display="Ann Arbor"),
              stage.publisher("bob", "--red", colour="green", display="Bob"),
              stage.publisher("cleo", "--dtx", colour="blue", display="Cleopatra")]
    for person in people:
        person.join()
    recorder = stage.recorder("conversation", "--size", "1280x720")
    began = recorder.recording()
    for turn in range(6):  # they talk in turns of two seconds
        stage.until(began + 2 * turn)
        people[turn % 3].tell("talk", "talking")
        people[turn % 3 - 1].tell("hush")
    stage.until(began + 12)
    recorder.stop()

    recording = load(recorder, verdict)
    middle = 8.5 - recording.zero % 1  # half a second after a flash
    tiles = [recording.tile(person.colour, middle) for person in people]
    if verdict.check(None not in tiles, f"tiles by colour: {tiles}"):
        # A grid of three in the order of joining: two above, the third below in the middle; all of one size.
        (a, b, c), width = tiles, recording.pictures.shape[2]
        verdict.check(abs(a[1] - b[1]) <= 2 and a[2] < b[0] and c[1] > a[3], f"places in the grid: {tiles}")
        verdict.check(abs((c[0] + c[2]) - width) <= 4, f"the third tile is not in the middle: {c}")
        sizes = [(tile[2] - tile[0], tile[3] - tile[1]) for tile in tiles]
        verdict.check(all(abs(w - sizes[0][0]) <= 3 and abs(h - sizes[0][1]) <= 3 for w, h in sizes),
                      f"sizes of the tiles: {sizes}")
        names = [person.display for person in people]
        [still] = recording.stills([middle])
        for person, tile in zip(people, tiles):
            name, likeness = read(still, label(recording.full(tile)), names)
            verdict.check(name == person.display and likeness > 0.6, f"{person.display}'s label reads {name} "
                          f"({likeness:.2f})")
        for person, tile in zip(people, tiles):
            end = recording.duration - 0.5
            moved = [t for t in range(4, int(end)) if not same(tile, recording.tile(
                person.colour, t + 0.5 - recording.zero % 1))]
            verdict.check(not moved, f"{person.name}'s tile is elsewhere at {moved} s")
    in_step(recording, people, 1.5 - recording.zero % 1 + 1, recording.duration, verdict)
    verdict.figure(recorder.cost)
