"""People who leave, come back, and come late; and the chapters that tell of it."""

import signal

import numpy as np

from scenarios.common import in_step, load
from scenarios.control import chapters
from stage import Stage
from verdict import Verdict, ms


def presence(stage: Stage, verdict: Verdict) -> None:
    """Somebody leaves and returns under the same identity, somebody comes late: tiles go and come, all in step; the file's
    chapters say so."""
    stage.server()
    stays = stage.publisher("stays", colour="blue").join()
    comes = stage.publisher("comes", colour="green").join()
    late = stage.publisher("late", colour="red")
    recorder = stage.recorder("presence", "--size", "1280x720", "--chapters", "people")
    began = recorder.recording()
    stage.until(began + 2)
    left = comes.tell("leave", "left")
    stage.until(left + 2.5)
    returned = comes.tell("join", "complete")
    stage.until(returned + 1)
    late.join()
    arrived = late.event("complete")["wall"]
    stage.until(arrived + 4)
    recorder.stop(signal.SIGTERM)

    recording = load(recorder, verdict)
    at_left, at_returned, at_arrived = (wall - recording.zero for wall in (left, returned, arrived))
    gone = recording.gone(comes.colour, at_left - 1.0) - at_left
    verdict.timely(gone <= 0.3, f"the one who left is seen for another {ms(gone)}")
    verdict.figure(f"gone after {ms(gone)}")
    # Alone in the room one has more of the canvas, and nothing is left of the other.
    moments = [recording.calm(moment) for moment in (at_left - 1.2, at_left + 1.2, at_arrived + 2.5)]
    two, one, three = (recording.area(stays.colour, moment) for moment in moments)
    verdict.check(one > 1.5 * two > 1.5 * three > 0,
                  f"shares of the canvas of two, one, three: {two:.2f} {one:.2f} {three:.2f}")
    rest = recording.areas(comes.colour, at_left + 0.3, at_returned - 1.0)
    verdict.check(rest.max(initial=0) < 0.002, "the one who left is seen again before they return")
    for person, when in ((comes, at_returned), (late, at_arrived)):
        shown = recording.shown(person.colour, when - 1.0) - when
        verdict.timely(shown <= 1.5, f"{person.name} is seen {ms(shown)} after they published")
        verdict.figure(f"{person.name} seen after {ms(shown)}")
    found = chapters(recorder.path)
    wanted = [(at_left, "comes left"), (at_returned, "comes joined"), (at_arrived, "late joined")]
    verdict.check([text.lower() for _, text in found] == [text for _, text in wanted], f"chapters: {found}")
    verdict.check(all(abs(at - when) < 1.5 for (at, _), (when, _) in zip(found, wanted)), f"chapters: {found}, {wanted}")
    # All three at the end have tiles of one size.
    areas = [recording.area(person.colour, moments[2]) for person in (stays, comes, late)]
    verdict.check(min(areas) > 0.9 * max(areas), f"tiles of three: {np.round(areas, 3)}")
    in_step(recording, [stays, comes, late], at_arrived + 1.5, recording.duration, verdict)
