"""What is received: as much as the tile shows, and as much as the connection carries."""

import json

import numpy as np

from judge import Recording
from reading import card, read
from scenarios.common import in_step, load
from scenarios.control import start, turn
from scenarios.tracks import REASONS
from stage import Stage
from verdict import Verdict, ms


def layers(stage: Stage, verdict: Verdict) -> None:
    """`--receive for-layout` takes the smallest layer that fills the tile, without a gap in the picture; `best` all."""
    stage.server()
    person = stage.publisher("ann", "--size", "1280x720", "--simulcast", "--bitrate", "2500000", colour="green")
    sizes = {"for-layout": "640x360", "best": "640x360"}
    bots = {mode: stage.recorder(mode, "--receive", mode, "--size", size, "--layout", "speaker")
            for mode, size in sizes.items()}
    for bot in bots.values():
        bot.recording()
    began = person.join().event("complete")["wall"]
    stage.until(began + 14)
    for bot in bots.values():
        bot.stop()

    seen = {mode: [(event["width"], event["height"]) for event in bot.happened("resolution")]
            for mode, bot in bots.items()}
    verdict.figure(", ".join(f"{mode} {' '.join(f'{w}x{h}' for w, h in found)}" for mode, found in seen.items()))
    verdict.check(bool(seen["best"]) and seen["best"][-1] == (1280, 720), f"best receives {seen['best']}")
    verdict.check(bool(seen["for-layout"]) and seen["for-layout"][-1] == (640, 360),
                  f"for-layout receives {seen['for-layout']}")
    verdict.check((1280, 720) not in seen["for-layout"][2:], f"for-layout receives {seen['for-layout']}")
    verdict.figure(", ".join(f"{mode} {bot.cost}" for mode, bot in bots.items()))
    recording = load(bots["for-layout"], verdict)
    first = recording.shown(person.colour, 0)
    steady(recording, person.colour, first, verdict)
    in_step(recording, [person], first + 1.2, recording.duration, verdict)


def cards(stage: Stage, verdict: Verdict) -> None:
    """In a layout without pictures none is received, unless a log keeps them; when another layout shows them, they come."""
    stage.server()
    people = [stage.publisher(name, "--size", "480x270", colour=colour).join()
              for name, colour in (("ann", "green"), ("bob", "blue"))]
    manifests = {name: stage.folder / f"{name}.json" for name in ("cards", "kept")}
    log = ("--log", str(stage.folder / "session"))
    bots = {name: start(stage, name, "--layout", "audio-only", "--manifest", str(path), *(log if name == "kept" else ()))
            for name, path in manifests.items()}
    began = max(recorder.recording() for recorder, _ in bots.values())
    # One after the other: a publisher makes a keyframe for both no more than twice a second.
    for wait, (_, remote) in zip((5, 6), bots.values()):
        stage.until(began + wait)
        remote("layout", "grid")
    stage.until(began + 9)
    for recorder, _ in bots.values():
        recorder.stop()

    packets = {}
    for name, (recorder, remote) in bots.items():
        cameras = [track["quality"] for track in json.loads(manifests[name].read_text())["tracks"] if track["kind"] == "video"]
        packets[name] = sum(camera["packets_expected"] for camera in cameras)
        verdict.check(len(cameras) == 2 and not any(camera["freezes"] for camera in cameras), f"{name}: {cameras}")
        told = remote.time("layout", layout="grid")
        recording = load(recorder, verdict)
        seen = [turn(recording, person.colour, told, 0.1, True) - told for person in people]
        verdict.timely(-0.001 <= min(seen) and max(seen) <= 0.7, f"{name}: seen after {', '.join(map(ms, seen))}")
        verdict.figure(f"{name} seen after {', '.join(map(ms, seen))}")
        in_step(recording, people, told + 1.5, recording.duration, verdict)
    verdict.check(packets["cards"] < 0.6 * packets["kept"], f"packets of pictures: {packets}")
    verdict.figure(f"packets {packets['cards']} of {packets['kept']}")


def steady(recording: Recording, colour: str, since: float, verdict: Verdict) -> None:
    """From a moment on the colour fills its tile in every picture, but for the flashes."""
    areas = recording.areas(colour, since)
    flashing = ((recording.zero + recording.times[recording.times >= since] + 0.1) % 1) < 0.35
    damaged = np.flatnonzero((areas < 0.9 * np.median(areas)) & ~flashing)
    verdict.check(damaged.size == 0, f"{damaged.size} pictures without the person, the first at "
                  f"{since + damaged[0] / 30 if damaged.size else 0:.2f} s")


def bandwidth(stage: Stage, verdict: Verdict) -> None:
    """The server pauses a video: an alert, a card that says why, sound that goes on; then the picture is back."""
    stage.server("0", "--test-api")
    people = [stage.publisher(name, "--size", "480x270", colour=colour, display=display).join()
              for name, colour, display in (("ann", "red", "Sophie"), ("bob", "green", "Matthew"),
                                            ("cleo", "blue", "Penelope"))]
    ann, bob, cleo = people
    for person in people:
        person.tell("talk", "talking")
    recorder = stage.recorder("bandwidth", "--size", "1280x720")
    began = recorder.recording()
    stage.until(began + 3)
    camera = bob.events("published")[0]["track"]
    paused = stage.verb("pause-streams", identity="bandwidth", tracks=[camera], paused=True)
    alert = recorder.happens("bandwidth-alert", 5, limited=True)
    stage.until(paused + 4)
    lines = len(recorder.lines)
    resumed = stage.verb("pause-streams", identity="bandwidth", tracks=[camera], paused=False)
    restored = recorder.happens("bandwidth-alert", 5, after=lines, limited=False)
    stage.until(resumed + 4)
    recorder.stop()

    verdict.check(alert["number_of_videos"] == 2 and restored["number_of_videos"] == 3,
                  f"alerts: {alert['number_of_videos']} then {restored['number_of_videos']} videos")
    verdict.check(alert["bandwidth"] > 0 and alert["stream_bandwidth"] > 0, f"the alert's rates: {alert}")
    recording = load(recorder, verdict)
    off, on = paused - recording.zero, resumed - recording.zero
    low_card(recording, bob, off, on, 1.2, verdict)
    shown = recording.shown(bob.colour, on - 0.05) - on
    verdict.timely(shown <= 1.5, f"the picture is back after {ms(shown)}")
    verdict.figure(f"back after {ms(shown)}")
    in_step(recording, [ann, cleo], 1.5, recording.duration, verdict)
    in_step(recording, [bob], on + 2, recording.duration, verdict)


def low_card(recording: Recording, person, off: float, on: float, limit: float, verdict: Verdict) -> None:
    """From `off` to `on` the person has a card that says "Low bandwidth", and is heard."""
    before = recording.tile(person.colour, off - 0.6)
    if not verdict.check(before is not None, f"no tile of {person.name}'s colour before"):
        return
    gone = recording.gone(person.colour, off - 0.1) - off
    verdict.timely(gone <= limit, f"{person.name}: the old picture is gone after {ms(gone)}")
    verdict.figure(f"card after {ms(gone)}")
    still = recording.stills([recording.calm((off + limit + on) / 2)])[0]
    reason, likeness = read(still, card(recording.full(before)), [*REASONS, "Low bandwidth"])
    verdict.check(reason == "Low bandwidth" and likeness > 0.7, f"{person.name}: the card says {reason} ({likeness:.2f})")
