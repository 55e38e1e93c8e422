"""Pictures that are compared with the publisher's own: nothing torn, nothing made of what is not there."""

import numpy as np

from disruptions import wiring
from disruptions.judging import load
from judge import run
from publishers import pattern
from stage import Stage
from verdict import Verdict

# Each sends its pictures in another codec, in streams of several sizes or in layers of one.
PEOPLE = {"ann": ("VP8", ["--simulcast"]), "bob": ("VP9", ["--scalability", "L3T3_KEY"]), "cleo": ("H264", ["--simulcast"])}
# Their tiles in a recording of 1280x720, looked at in half its size: left, top, right, bottom. A picture on its side fills
# the height of its tile, in the middle.
TILES = {"ann": (6, 6, 317, 177), "bob": (323, 6, 634, 177), "cleo": (164, 183, 475, 354)}
SIZE = (640, 360)
NEAR = 27.0  # dB; whole ones have 30 and more, a picture of another moment 15
PATH = "delay=20ms loss=5%"
SHOWN = 8.0  # seconds within which everybody is shown; what is lost of TCP's first packets costs some


def torn(stage: Stage, verdict: Verdict) -> None:
    """5 % loss, layers that rise, cameras on their side and upright again: each picture is one of the publisher's."""
    wiring.begin(stage)
    people = [stage.publisher(name, "--size", "640x360", "--codec", codec, "--pattern", *options, colour=colour).join()
              for (name, (codec, options)), colour in zip(PEOPLE.items(), ("red", "green", "blue"))]
    wire = wiring.wire(stage, 1, PATH)
    recorder = stage.recorder("torn", "--size", "1280x720", namespace=wire.near)
    began = recorder.recording(30)
    stage.until(began + 10)
    turned = max(person.tell("rotate=90", "rotated") for person in people)
    stage.until(turned + 5)
    back = max(person.tell("rotate=0", "rotated") for person in people)
    stage.until(back + 5)
    recorder.stop()

    recording = load(recorder, verdict, errors=False)
    raw = run(["ffmpeg", "-v", "warning", "-i", str(recorder.path), "-map", "0:v", "-fps_mode", "passthrough", "-vf",
               f"scale={SIZE[0]}:{SIZE[1]}:flags=area,format=gray", "-f", "rawvideo", "-"])
    pictures = np.frombuffer(raw, np.uint8).reshape(-1, SIZE[1], SIZE[0])
    turned, back = turned - recording.zero, back - recording.zero
    for name, tile in TILES.items():
        early = compare(recording.times, pictures, tile, [(0.0, SHOWN)], 0)
        first = next((time for time, value in zip(recording.times, early) if value is not None), SHOWN)
        verdict.check(first < SHOWN, f"{name} is not shown within {SHOWN:.0f} s")
        upright = compare(recording.times, pictures, tile, [(first, turned - 0.2), (back + 1.0, recording.duration)], 0)
        aside = compare(recording.times, pictures, tile, [(turned + 1.0, back - 0.2)], 90)
        for what, found in (("upright", upright), ("on the side", aside)):
            unread = sum(value is None for value in found)
            near = [value for value in found if value is not None]
            verdict.check(bool(near) and unread == 0, f"{name} {what}: {unread} of {len(found)} pictures have no number")
            verdict.check(min(near, default=0) >= NEAR, f"{name} {what}: a picture has {min(near, default=0):.1f} dB")
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
