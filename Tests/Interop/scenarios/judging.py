"""The judge itself: a recording that is wrong must be found wrong."""

import pathlib
import random
import subprocess

import numpy as np

from judge import AUDIO_RATE, Recording, Unplayable, decodes, rgb
from scenarios.common import continuous, in_step
from stage import Stage
from verdict import Verdict

COLOUR, PITCH, RATE, SECONDS = "20c020", 2300.0, 30, 5
SIZE = (320, 180)
DATE = "2024-01-01T00:00:00.000000Z"  # a whole second: flashes come at whole seconds of the recording


class Forger:
    """Stands for a publisher in the checks; makes recordings of it with ffmpeg, with faults on purpose."""

    name, colour, pitch = "forger", COLOUR, PITCH

    def make(self, path: pathlib.Path, skew: float = 0.0, without: tuple[int, ...] = (),
             mute: float = -1.0) -> Recording:
        """A file whose beeps come `skew` seconds late, without some pictures, and without the beep of second `mute`."""
        width, height = SIZE
        plain = np.broadcast_to(rgb(COLOUR).astype(np.uint8), (height, width, 3))
        white = np.full((height, width, 3), 255, np.uint8)
        pictures = b"".join((white if n % RATE < 2 else plain).tobytes() for n in range(RATE * SECONDS))
        at = np.arange(AUDIO_RATE * SECONDS) / AUDIO_RATE - skew
        on = (at % 1 < 0.06) & (np.floor(at) != mute)
        sound = (np.sin(2 * np.pi * PITCH * at) * on * 0.5).astype(np.float32)
        wave = path.with_suffix(".f32")
        wave.write_bytes(sound.tobytes())
        dropped = "*".join(f"not(eq(n,{n}))" for n in without) or "1"
        subprocess.run(
            ["ffmpeg", "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r",
             str(RATE), "-i", "-", "-f", "f32le", "-ar", str(AUDIO_RATE), "-ac", "1", "-i", str(wave), "-vf",
             f"select='{dropped}'", "-fps_mode", "passthrough", "-c:v", "libvpx", "-b:v", "1M", "-deadline", "realtime",
             "-cpu-used", "8", "-c:a", "libopus", "-ac", "2", "-metadata", f"creation_time={DATE}", str(path)],
            input=pictures, check=True)
        return Recording.load(str(path))


def judging(stage: Stage, verdict: Verdict) -> None:
    """Forged recordings: a good one passes; skew, missing beeps, gaps and damage are found."""
    forger = Forger()

    def faults(name: str, **wrong) -> list[str]:
        found = Verdict()
        recording = forger.make(stage.folder / f"{name}.webm", **wrong)
        continuous(recording, found)
        in_step(recording, [forger], 0.5, recording.duration, found)
        verdict.figures.extend(f"{name}: {figure}" for figure in found.figures if "skew" in figure)
        return found.faults

    good = faults("good")
    verdict.check(not good, f"a good recording is found wrong: {good}")
    for name, wrong, says in (
            ("late", {"skew": 0.09}, "flash to beep 90 ms"), ("early", {"skew": -0.08}, "flash to beep 80 ms"),
            ("gap", {"without": (70, 71)}, "between pictures"), ("silent", {"mute": 3.0}, "with a beep")):
        found = faults(name, **wrong)
        verdict.check(any(near(fault, says) for fault in found), f"{name}: found only {found}")
    whole = (stage.folder / "good.webm").read_bytes()
    damaged = stage.folder / "damaged.webm"
    half = len(whole) // 2
    damaged.write_bytes(whole[:half] + random.Random(1).randbytes(4000) + whole[half + 4000:])
    verdict.check(bool(decodes(str(damaged))), "a damaged file is taken for a good one")
    try:
        Recording.load(str(damaged))
        verdict.check(False, "a damaged file is loaded")
    except Unplayable:
        pass


def near(fault: str, says: str) -> bool:
    """True when a fault says this, with its milliseconds within 10 (measured ones are whole hops of 5)."""
    words, numbers = says.split(), [int(word) for word in says.split() if word.isdigit()]
    if not numbers:
        return says in fault
    found = [int(word) for word in fault.split() if word.isdigit()]
    return all(word in fault for word in words if not word.isdigit()) and any(abs(n - numbers[0]) <= 10 for n in found)
