"""Commands to a running recording, and what the file shows of them and of the room, at which time."""

import json
import math
import pathlib
import subprocess
import time
from collections.abc import Callable

import numpy as np

from judge import Recording, run
from scenarios.common import FRAME, continuous, load
from stage import SCREEN_COLOUR, Failed, Recorder, Stage
from verdict import Verdict, ms

LARGE = 0.4  # of the canvas
TOLERANCE = 2 * FRAME + 0.001  # times in both files are whole milliseconds


class Remote:
    """`recbot control` for one job."""

    def __init__(self, stage: Stage, recorder: Recorder, timeline: pathlib.Path):
        self.recbot, self.job, self.timeline = stage.recbot, recorder.name, timeline

    def __call__(self, *words: str, refused: bool = False) -> str:
        """Gives a command; gives what it said."""
        done = subprocess.run([self.recbot, "control", self.job, *words], capture_output=True, text=True, timeout=15)
        if (done.returncode != 0) != refused:
            raise Failed(f"control {' '.join(words)}: {done.returncode} {done.stderr.strip()}")
        return done.stderr.strip() if refused else done.stdout

    def status(self, wanted: Callable[[dict], bool], patience: float = 1.0) -> dict:
        """The status once it is as wanted, or the last one: a command is carried out in its turn among what comes from
        the room, half a second later than it is given."""
        end = time.monotonic() + patience
        while not wanted(found := json.loads(self("status"))) and time.monotonic() < end:
            time.sleep(0.05)
        return found

    def entries(self, event: str, **fields) -> list[dict]:
        """Entries of the timeline with these fields."""
        lines = [json.loads(line) for line in self.timeline.read_text().splitlines()]
        return [line for line in lines if line["event"] == event
                and all(line.get(key) == value for key, value in fields.items())]

    def time(self, event: str, number: int = -1, **fields) -> float:
        """Time in the file, in seconds, of an event."""
        found = self.entries(event, **fields)
        if not found:
            raise Failed(f"the timeline has no {event} {fields}")
        return found[number]["time_ms"] / 1000


def chapters(path: pathlib.Path) -> list[tuple[float, str]]:
    """Begin and title of each chapter."""
    found = json.loads(run(["ffprobe", "-v", "warning", "-show_chapters", "-of", "json", str(path)]))["chapters"]
    return [(float(chapter["start_time"]), chapter["tags"]["title"]) for chapter in found]


def title(path: pathlib.Path) -> str:
    """The file's title. ffprobe spells it as the tag does, where a file has both."""
    shown = json.loads(run(["ffprobe", "-v", "warning", "-show_format", "-of", "json", str(path)]))
    return next((text for name, text in shown["format"]["tags"].items() if name.lower() == "title"), "")


def start(stage: Stage, name: str, *options: str, **others) -> tuple[Recorder, Remote]:
    """Starts a recording with a timeline, and its remote control."""
    timeline = stage.folder / f"{name}.jsonl"
    recorder = stage.recorder(name, "--size", "1280x720", "--job", name, "--timeline", str(timeline), *options,
                              **others)
    return recorder, Remote(stage, recorder, timeline)


def turn(recording: Recording, colour: str, after: float, share: float, rises: bool) -> float:
    """When the share of a colour gets above a limit, or below it for a quarter of a second (a flash is shorter), from
    a little before a moment on."""
    areas = recording.areas(colour)
    if rises:
        return recording.turns(areas > share, after - 0.2, lasting=0.0)
    return recording.turns(areas < share, after - 0.2, lasting=0.25)


def moment(earliest: float, phase: float) -> float:
    """Waits for the next moment with this fraction of a second: between the flashes, which come at whole seconds."""
    wall = math.floor(earliest - phase) + 1 + phase
    return Stage.until(wall)


def control(stage: Stage, verdict: Verdict) -> None:
    """The talker changes, a camera is muted, a screen is shared, the layout is changed by command, somebody is pinned
    and has the spotlight: each is seen within two pictures of its entry in the timeline."""
    stage.server()
    people = [stage.publisher(name, "--size", "480x270", colour=colour)
              for name, colour in (("ann", "red"), ("bob", "green"), ("cleo", "blue"))]
    ann, bob, cleo = (person.join() for person in people)
    recorder, remote = start(stage, "control", "--layout", "speaker")
    began = recorder.recording()
    listener = stage.run("listener", "control", "control", "events")
    now = moment(began + 0.5, 0.95)
    bob.tell("talk", "talking")  # is large half a second later
    now = moment(now + 3.0, 0.95)
    bob.tell("hush", "silent")
    ann.tell("talk", "talking")
    now = moment(now + 3.0, 0.4)
    ann.tell("mute-camera", "muted")
    now = moment(now + 1.5, 0.4)
    ann.tell("unmute-camera", "unmuted")
    for words in (("layout", "grid"), ("layout", "speaker"), ("layout", "audio-only"), ("layout", "speaker"),
                  ("spotlight", "Cleo"), ("spotlight",)):
        now = moment(now + 1.5, 0.4)
        remote(*words)
    now = moment(now + 1.5, 0.3)
    cleo.tell("share-screen", "published")
    now = moment(now + 2.5, 0.4)
    cleo.tell("unshare-screen", "unpublished")
    stage.until(now + 1.5)
    remote("pin", "bob")
    remote("title", "The talk")
    remote("marker", "Here")
    status = remote.status(lambda found: found["pinned"] == ["bob"] and found["title"] == "The talk")
    for words, says in ((("layout", "gird"), "gird"), (("pin", "nobody"), "nobody"), (("pause", "slowly"), "slowly")):
        complaint = remote(*words, refused=True)
        verdict.check(says in complaint, f"control {' '.join(words)}: {complaint}")
    stage.until(now + 3.0)
    remote("stop")
    recorder.stopped_at = None
    verdict.check(recorder.exit(10) == 0, "the command stop does not end the recording well")

    verdict.check(status["layout"] == "speaker" and status["pinned"] == ["bob"] and status["talker"] == "Ann"
                  and [person["name"] for person in status["people"]] == ["Ann", "Bob", "Cleo"], f"status: {status}")
    recording = load(recorder, verdict)
    delays = {}

    def shows(what: str, told: float, seen: float) -> None:
        delays[what] = seen - told
        verdict.timely(-0.001 <= seen - told <= TOLERANCE, f"{what}: told at {told:.3f}, seen {ms(seen - told)} later")

    for name, person in (("bob", bob), ("ann", ann)):
        told = remote.time("talker", 0, participant=name)
        shows(f"talker {name}", told, turn(recording, person.colour, told, LARGE, True))
    told = remote.time("muted", source="camera")
    # What a client sends when its camera goes off is black, and may come before the word of it: it is the card that
    # is neither of their colour nor black. (The canvas counts as black, but is small.)
    dark = recording.areas(ann.colour) + recording.areas("000000")
    card = recording.turns(dark < LARGE, told - 0.2, lasting=0.25)
    shows("camera off", told, card)
    verdict.check(recording.gone(ann.colour, told - 0.2) <= card, "the muted camera is still seen beside its card")
    told = remote.time("layout", layout="grid")
    shows("grid", told, turn(recording, ann.colour, told, LARGE, False))
    told = remote.time("layout", -2, layout="speaker")
    shows("speaker", told, turn(recording, ann.colour, told, LARGE, True))
    told = remote.time("layout", layout="audio-only")
    shows("cards", told, turn(recording, ann.colour, told, 0.01, False))
    # Nothing was decoded meanwhile: each camera begins with a keyframe.
    told = remote.time("layout", -1, layout="speaker")
    back = turn(recording, ann.colour, told, LARGE, True) - told
    verdict.timely(back <= 0.7, f"pictures are back {ms(back)} after cards")
    verdict.figure(f"back after {ms(back)}")
    told = remote.time("spotlight", 0)
    shows("spotlight", told, turn(recording, cleo.colour, told, LARGE, True))
    told = remote.time("spotlight", 1)
    shows("spotlight off", told, turn(recording, ann.colour, told, LARGE, True))
    # A shared screen has its place from its announcement on, and a picture when the first one has come.
    told = remote.time("published", source="screen-share")
    shows("screen's place", told, turn(recording, ann.colour, told, LARGE, False))
    seen = turn(recording, SCREEN_COLOUR, told, LARGE, True)
    verdict.timely(seen - told <= 1.5, f"the screen is seen {ms(seen - told)} after it was published")
    told = remote.time("unpublished", source="screen-share")
    shows("screen gone", told, turn(recording, SCREEN_COLOUR, told, 0.002, False))
    verdict.figure("seen after " + ", ".join(f"{what} {ms(delay)}" for what, delay in delays.items()))

    verdict.check(title(recorder.path) == "The talk", f"the title is {title(recorder.path)!r}")
    here = remote.time("marker")
    verdict.check(any(abs(at - here) < 0.002 and text == "Here" for at, text in chapters(recorder.path)),
                  f"chapters: {chapters(recorder.path)}")
    # Listeners were told the same as the timeline has, from the moment on at which they began to listen.
    listener.exit(5)
    told = [json.loads(line)["event"] for line in listener.output if line.startswith('{"event"')]
    lines = [json.loads(line) for line in remote.timeline.read_text().splitlines()]
    verdict.check(bool(told) and told == lines[-len(told):], f"{len(told)} of {len(lines)} entries were told")
    order = [line["session_ms"] for line in lines]
    verdict.check(order == sorted(order), "the timeline is not in order")


def pauses(stage: Stage, verdict: Verdict) -> None:
    """A recording is paused in all three ways: slate, redaction, cut. Nothing of these times is seen or heard."""
    stage.server()
    ann = stage.publisher("ann", colour="green").join()
    bob = stage.publisher("bob", colour="blue").join()
    recorder, remote = start(stage, "pauses")
    now = moment(recorder.recording() + 2.0, 0.4)
    for policy in ("slate", "redact", "cut"):
        remote("pause", policy)
        now = stage.until(now + 0.5)
        ann.tell("colour=d02020", "colour")
        bob.tell("talk", "talking")
        now = moment(now + 2.0, 0.9)
        ann.tell(f"colour={ann.colour}", "colour")
        bob.tell("hush", "silent")
        now = stage.until(now + 0.5)
        remote("resume")
        now = moment(now + 2.5, 0.4)
    stopped = recorder.stop()

    recording = Recording.load(str(recorder.path))
    continuous(recording, verdict)
    secret = recording.areas("d02020")
    verdict.check(secret.max() < 0.002, f"the colour of the pauses covers {secret.max():.3f} of a picture")
    edges = [(remote.time("paused", policy=policy), remote.time("resumed", number))
             for number, policy in enumerate(("slate", "redact", "cut"))]
    found = chapters(recorder.path)
    wanted = [(at, text) for (begin, end), name in zip(edges, ("Paused", "Redacted", "Paused"))
              for at, text in ((begin, name), (end, "Resumed"))]
    verdict.check(len(found) == 6 and all(abs(a - b) < 0.002 and text == title
                                          for (a, text), (b, title) in zip(found, wanted)), f"chapters: {found}")
    cut = remote.entries("resumed")[-1]["session_ms"] - remote.entries("paused")[-1]["session_ms"]
    error = recording.duration - (stopped - recording.zero - cut / 1000)
    verdict.timely(abs(error) <= 0.1, f"the duration is {ms(error)} off the wall clock without the cut")
    for (begin, end), policy in zip(edges, ("slate", "redact", "cut")):
        gone = turn(recording, ann.colour, begin, 0.01, False) if end > begin + 0.1 else begin
        verdict.timely(-0.001 <= gone - begin <= TOLERANCE, f"{policy}: the picture is there for {ms(gone - begin)} more")
        back = recording.shown(ann.colour, max(end - 0.02, 0)) - end
        limit = 1.0 if policy == "redact" else TOLERANCE
        verdict.timely(back <= limit, f"{policy}: the picture is back after {ms(back)}")
        verdict.figure(f"{policy}: gone after {ms(gone - begin)}, back after {ms(back)}")
        if end > begin + 0.1:
            first, last = (int(at * 48_000) for at in (begin, end))
            loudest = float(np.abs(recording.audio[first + 480:last - 480]).max())
            verdict.check(loudest < 0.001, f"{policy}: sound of {loudest:.3f} in the pause")
