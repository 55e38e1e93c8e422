"""Pictures that are compared with the publisher's own: nothing torn, nothing made of what is not there."""

import time

import numpy as np

from disruptions import wiring
from disruptions.judging import load
from judge import run
from publishers import pattern
from scenarios.control import start
from stage import Stage
from verdict import Verdict

# Each sends its pictures in another codec, in streams of several sizes or in layers of one.
PEOPLE = {"ann": ("VP8", "960x540", ["--simulcast"]), "bob": ("VP9", "640x360", ["--scalability", "L3T3_KEY"]),
          "cleo": ("H264", "960x540", ["--simulcast"])}
# Their tiles in a recording of 1280x720, looked at in half its size: left, top, right, bottom. A picture on its side fills
# the height of its tile, in the middle.
TILES = {"ann": (6, 6, 317, 177), "bob": (323, 6, 634, 177), "cleo": (164, 183, 475, 354)}
SIZE = (640, 360)
# A row of tiles for which a smaller layer is enough, and where they are.
ROW = """
summary: Everybody in small tiles in a row.
scenes:
  - name: row
    regions: [{name: row, x: 0, y: 0, width: 60%, height: 20%, show: everyone, max-rows: 1, gap: 0, shape: "16:9", radius: 0}]
"""
SMALL = {"ann": (1, 1, 127, 71), "bob": (129, 1, 255, 71), "cleo": (257, 1, 383, 71)}
# dB; whole ones have 30 and more, small ones 27 and more, a picture of another moment 15.
NEAR = {"upright": 27.0, "on the side": 27.0, "small": 24.0, "large again": 27.0}
PATH = "delay=20ms loss=5%"
FPS = "10"  # three clients that encode layers of more leave two processors no time for the recording
SHOWN = 8.0  # seconds within which everybody is shown; what is lost of TCP's first packets costs some


def torn(stage: Stage, verdict: Verdict) -> None:
    """5 % loss, cameras on their side and upright again, tiles that shrink and grow, so that layers fall and rise: each
    picture is one of the publisher's."""
    wiring.begin(stage)
    people = [stage.publisher(name, "--size", size, "--fps", FPS, "--codec", codec, "--pattern", *options, colour=colour).join()
              for (name, (codec, size, options)), colour in zip(PEOPLE.items(), ("red", "green", "blue"))]
    wire = wiring.wire(stage, 1, PATH)
    recorder, remote = start(stage, "torn", "--receive", "for-layout", namespace=wire.near)
    began = recorder.recording(30)
    stage.until(began + 10)
    turned = max(person.tell("rotate=90", "rotated") for person in people)
    stage.until(turned + 5)
    back = max(person.tell("rotate=0", "rotated") for person in people)
    stage.until(back + 5)
    row = stage.folder / "row.yaml"
    row.write_text(ROW)
    remote("layout", str(row))
    fallen = time.time()
    stage.until(fallen + 10)  # a smaller layer is asked for when five seconds have shown that it is enough
    remote("layout", "grid")
    risen = time.time()
    stage.until(risen + 6)
    recorder.stop()
    for person in people:
        person.close()

    recording = load(recorder, verdict, errors=False)
    raw = run(["ffmpeg", "-v", "warning", "-i", str(recorder.path), "-map", "0:v", "-fps_mode", "passthrough", "-vf",
               f"scale={SIZE[0]}:{SIZE[1]}:flags=area,format=gray", "-f", "rawvideo", "-"])
    pictures = np.frombuffer(raw, np.uint8).reshape(-1, SIZE[1], SIZE[0])
    turned, back, fallen, risen = (moment - recording.zero for moment in (turned, back, fallen, risen))
    for name, tile in TILES.items():
        early = compare(recording.times, pictures, tile, [(0.0, SHOWN)], 0)
        first = next((time for time, value in zip(recording.times, early) if value is not None), SHOWN)
        verdict.check(first < SHOWN, f"{name} is not shown within {SHOWN:.0f} s")
        upright = compare(recording.times, pictures, tile, [(first, turned - 0.2), (back + 1.0, fallen - 0.2)], 0)
        aside = compare(recording.times, pictures, tile, [(turned + 1.0, back - 0.2)], 90)
        small = compare(recording.times, pictures, SMALL[name], [(fallen + 1.0, risen - 0.2)], 0)
        again = compare(recording.times, pictures, tile, [(risen + 1.0, recording.duration)], 0)
        # Streams in layers pass the room server whole; of those in several sizes it passes on the one that is asked for.
        widths = [entry["width"] for entry in remote.entries("resolution", participant=name)
                  if entry["time_ms"] / 1000 > fallen]
        wanted = [320, 640] if "--simulcast" in PEOPLE[name][2] else []
        verdict.check(widths == wanted, f"{name}: after the row the pictures were {widths} wide, not {wanted}")
        for what, found in (("upright", upright), ("on the side", aside), ("small", small), ("large again", again)):
            unread = sum(value is None for value in found)
            near = [value for value in found if value is not None]
            verdict.check(bool(near) and unread == 0, f"{name} {what}: {unread} of {len(found)} pictures have no number")
            verdict.check(min(near, default=0) >= NEAR[what], f"{name} {what}: a picture has {min(near, default=0):.1f} dB")
            verdict.figure(f"{name} {what} {min(near, default=0):.1f} to {max(near, default=0):.1f} dB, {len(found)} pictures")


def compare(times: np.ndarray, pictures: np.ndarray, tile: tuple[int, ...], spans: list[tuple[float, float]],
            degrees: int) -> list[float | None]:
    """How near each picture of a tile in these spans is to the one of its number; None for those without one."""
    left, top, right, bottom = tile
    if degrees == 90:
        width = (bottom - top) * 9 / 16
        left, right = round((left + right - width) / 2), round((left + right + width) / 2)
    found: list[float | None] = []
    for time, picture in zip(times, pictures):
        if any(start <= time <= end for start, end in spans):
            seen = np.rot90(picture[top:bottom, left:right], degrees // 90)
            index = pattern.read(seen)
            found.append(None if index is None else pattern.psnr(seen, index))
    return found
