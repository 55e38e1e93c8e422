"""Speakers whose microphones are not alike."""

import math
import re
import subprocess

import numpy as np

from judge import AUDIO_RATE, Recording
from scenarios.common import load
from scenarios.composed import compose
from scenarios.rare import Caller
from stage import Stage
from verdict import Verdict

TARGET = -16  # LUFS
# Who talks from one second to another of each so many, and by which factor it is quieter.
PERIOD = 8
HISS = 60  # of 32768: what Ann's microphone adds, so that pauses are not silent
PEOPLE = {"ann": ("red", 0, 3, 0.15), "bob": ("green", 4, 7, 0.95)}


def loudness(stage: Stage, verdict: Verdict) -> None:
    """One who is hardly heard and one who is loud, in turns: as loud as each other with --loudness, live and composed; and
    without the noise of a microphone."""
    stage.server()
    people = [stage.start(Caller(name, stage, colour, "--volume", str(volume), "--talk", str(PERIOD), str(begin), str(end),
                                 *(["--hiss", str(HISS)] if name == "ann" else [])))
              for name, (colour, begin, end, volume) in PEOPLE.items()]
    for person in people:
        person.wait_for("connected", 30)
    log = stage.folder / "session"
    recorder = stage.recorder("live", "--size", "320x180", "--fps", "10", "--loudness", "--log", str(log))
    # The first whole period, in which it is learned how loud they are, and two that are judged.
    first = math.ceil(recorder.recording() / PERIOD) * PERIOD
    stage.until(first + 3 * PERIOD)
    recorder.stop()

    live = load(recorder, verdict, frame=0.1)
    shape = ("--size", "320x180", "--fps", "10")
    plain = compose(stage, verdict, log, "plain", *shape, frame=0.1)
    again = compose(stage, verdict, log, "again", *shape, "--loudness", frame=0.1)
    for what, recording, is_normalized in (("live", live, True), ("composed", again, True), ("as it came", plain, False)):
        found = {name: [measured(recording, first + period * PERIOD + begin - recording.zero, end - begin) for period in (1, 2)]
                 for name, (_, begin, end, _) in PEOPLE.items()}
        quiet, loud = (sum(values) / len(values) for values in found.values())
        verdict.figure(f"{what} {quiet:.1f} and {loud:.1f} LUFS")
        if is_normalized:
            for name, values in found.items():
                for value in values:
                    verdict.check(abs(value - TARGET) <= 2.5, f"{what}: {name} speaks with {value:.1f} LUFS")
        else:
            verdict.check(loud - quiet > 15, f"{what}: {quiet:.1f} and {loud:.1f} LUFS")

    # Less noise of one person, who talks as before.
    clean = compose(stage, verdict, log, "clean", *shape, "--processor", "ann=denoise", frame=0.1)
    for period in (1, 2):
        turn = first + period * PERIOD - plain.zero
        end = turn + PEOPLE["ann"][2]
        voices = [measured(recording, turn, end - turn) for recording in (plain, clean)]
        hisses = [decibels(recording, end + 0.4, end + 0.9) for recording in (plain, clean)]
        verdict.check(abs(voices[1] - voices[0]) <= 2.5, f"ann speaks with {voices[1]:.1f} instead of {voices[0]:.1f} LUFS")
        verdict.check(hisses[1] <= hisses[0] - 10, f"ann's microphone hisses with {hisses[1]:.0f} instead of {hisses[0]:.0f} dBFS")
        verdict.figure(f"hiss {hisses[0]:.0f} to {hisses[1]:.0f} dBFS, voice {voices[0]:.1f} to {voices[1]:.1f} LUFS")


def decibels(recording: Recording, begin: float, end: float) -> float:
    """How loud a part is, dB of full scale."""
    part = recording.audio[round(begin * AUDIO_RATE):round(end * AUDIO_RATE)].astype(np.float64)
    return float(10 * np.log10(max(np.mean(part ** 2), 1e-12)))


def measured(recording: Recording, began: float, seconds: float) -> float:
    """The loudness of a turn by EBU R 128, as ffmpeg measures it, LUFS."""
    said = subprocess.run(
        ["ffmpeg", "-hide_banner", "-nostats", "-ss", f"{began + 0.5:.3f}", "-t", f"{seconds - 0.7:.3f}", "-i", recording.path,
         "-vn", "-af", "ebur128=framelog=verbose", "-f", "null", "-"], capture_output=True, text=True, check=True).stderr
    return float(re.findall(r"I:\s+(-?[\d.]+) LUFS", said)[-1])
