"""People who are hidden: no picture of them is recorded as it came, and no word in their own voice."""

import json
import pathlib
import subprocess

import numpy as np

from judge import AUDIO_RATE, BATCH, Recording, run
from reading import card, read
from scenarios.common import continuous, load
from scenarios.control import Remote, start
from scenarios.tracks import REASONS
from stage import Stage
from verdict import Verdict, ms

HEIGHT, BAND = 360, 20
WIDTH = 640


def processors_long(stage: Stage, verdict: Verdict) -> None:
    """The same of 900 pictures of one person."""
    processors(stage, verdict, seconds=32, most=900)


def processors(stage: Stage, verdict: Verdict, seconds: float = 16, most: int = 400) -> None:
    """Of one person every picture is pixelated and every word is another voice, from coming to coming again, through layers and
    layouts; others are hidden by an attribute and by command, in a further file and in what is composed of the log too."""
    stage.server()
    bob, cleo = (stage.publisher(name, "--whole-flash", colour=colour).join() for name, colour in (("bob", "green"), ("cleo", "blue")))
    ann = stage.publisher("ann", "--size", "640x360", "--stripes", "16", "--simulcast", "--whole-flash", colour="red")
    log, upright = stage.folder / "session", stage.folder / "upright.webm"
    recorder, remote = start(
        stage, "hidden", "--processor", "ANN=pixelate,voice-mask", "--processor", "attribute:hide=yes=mask,silence",
        "--log", str(log), "--also", f"portrait:{upright}")
    began = recorder.recording()
    stage.until(began + 1)
    ann.join()
    # What is hidden stays hidden through all of this.
    for at, words in enumerate((("layout", "speaker"), ("spotlight", "ann"), ("spotlight", "bob"), ("layout", "grid"))):
        stage.until(began + 3 + at)
        remote(*words)
    cleo.tell("attribute=hide:yes", "attribute")
    remote("processor", "Bob=grayscale")
    stage.until(began + 8)
    ann.tell("mute-camera", "muted")
    ann.tell("name=Zoe", "named")
    stage.until(began + 9)
    ann.tell("unmute-camera", "unmuted")
    cleo.tell("attribute=hide:no", "attribute")
    remote("processor", "Bob=none")
    stage.until(began + 11)
    ann.tell("leave", "left")
    ann.tell("join", "complete")
    status = remote.status(lambda found: len(found["people"]) == 3, 3)
    stage.until(began + 15)
    complaint = remote("processor", "nobody=blur", refused=True)
    verdict.check("nobody" in complaint, f"a rule for nobody: {complaint}")
    complaint = remote("processor", "ann=smear", refused=True)
    verdict.check("smear" in complaint, f"a processor that is none: {complaint}")
    shown = stage.until(began + seconds)
    remote("processor", "ann=none")
    stage.until(shown + 4)
    recorder.stop()

    recording = load(recorder, verdict)
    verdict.check({person["identity"]: person.get("processors") for person in status["people"]}
                  == {"ann": ["pixelate", "voice-mask"], "bob": None, "cleo": None}, f"status: {status['people']}")
    told = remote.time("processors", participant="ann", processors=[])
    verdict.check(abs(recording.zero + told - shown) < 0.5, f"the command was given at {shown - recording.zero:.2f} and told at {told:.2f}")
    seen = stripes(recorder.path)
    striped(recording.times, seen, told, "the recording", verdict)
    pictures = (recording.times < told).sum() - (recording.times < 1).sum()
    verdict.check(pictures >= most, f"only {pictures} pictures were hidden")
    voices(recording, ann.pitch, told, verdict)
    for person, event, gone in ((cleo, "cleo", True), (bob, "bob", False)):
        entries = remote.entries("processors", participant=event)
        verdict.check(len(entries) == 2, f"{event}: {entries}")
        begin, end = (entry["time_ms"] / 1000 for entry in entries)
        areas = recording.areas(person.colour, begin + 0.001, end - 0.034)
        verdict.check(len(areas) > 30 and areas.max() < 0.002, f"{event}: the colour covers {areas.max():.3f} while it is hidden")
        back = recording.shown(person.colour, end - 0.05) - end
        verdict.timely(back < 0.1, f"{event}: the colour is back after {ms(back)}")
        if gone:
            # Half a second more than its beep is long, around the edges.
            part = recording.audio[int((begin + 0.3) * AUDIO_RATE):int((end - 0.3) * AUDIO_RATE)]
            own, loud = tone(part, person.pitch), tone(recording.audio, person.pitch)
            verdict.check(own < loud / 8, f"{event}: a beep of {own:.3f} in the silence, {loud:.3f} otherwise")
            tile = recording.full(recording.tile(person.colour, end + 0.5) or (0, 0, 0, 0))
            reason, likeness = read(recording.stills([begin + 1])[0], card(tile), REASONS)
            verdict.check(reason == "Hidden" and likeness > 0.7, f"{event}: the card says {reason} ({likeness:.2f})")

    # The same in another shape, and again from the log, where commands that are not followed hide all the same.
    further = Recording.load(str(upright))
    striped(further.times, stripes(upright), told, "the further file", verdict)
    again = stage.folder / "again.webm"
    done = subprocess.run([*BATCH, stage.recbot, "compose", str(log), "--ignore-commands", "--output", str(again), "--progress", "none"],
                          capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    if verdict.check(done.returncode == 0, f"compose: {done.stderr}"):
        composed = Recording.load(str(again))
        continuous(composed, verdict)
        striped(composed.times, stripes(again), told, "what was composed", verdict)
        voices(composed, ann.pitch, told, verdict)
    harder = stage.folder / "harder.webm"
    done = subprocess.run([*BATCH, stage.recbot, "compose", str(log), "--processor", "*=mask", "--to", "6s", "--output", str(harder),
                           "--progress", "none"], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
    if verdict.check(done.returncode == 0, f"compose: {done.stderr}"):
        masked = Recording.load(str(harder))
        most = max(masked.areas(person.colour, 0, 4.5).max() for person in (bob, cleo))
        verdict.check(most < 0.002, f"of people who are masked when composing {most:.3f} is seen")


def stripes(path: pathlib.Path) -> np.ndarray:
    """How many edges of upright stripes each picture has at most, side by side; letters are not as tall."""
    raw = run(["ffmpeg", "-v", "error", "-i", str(path), "-map", "0:v", "-fps_mode", "passthrough", "-vf",
               f"scale={WIDTH}:{HEIGHT}:flags=area,format=gray", "-f", "rawvideo", "-"])
    bands = np.frombuffer(raw, np.uint8).reshape(-1, HEIGHT // BAND, BAND, WIDTH).astype(np.int16)
    # All rows of a band must have the edge.
    steps = bands[..., 3:] - bands[..., :-3]
    edges = (np.abs(steps) > 90).all(axis=2)
    return (edges[..., 1:] & ~edges[..., :-1]).sum(axis=2).max(axis=1)


def striped(times: np.ndarray, edges: np.ndarray, told: float, what: str, verdict: Verdict) -> None:
    """No picture has stripes before they may be seen, and then they are."""
    before, after = edges[times < told - 0.001], edges[times > told + 0.5]
    verdict.check(before.max() < 6, f"{what}: {(before >= 6).sum()} of {len(before)} pictures are shown as they came")
    verdict.check(np.median(after) >= 10, f"{what}: the stripes are not seen at the end: {np.median(after)} edges")
    verdict.figure(f"{what}: {len(before)} pictures hidden, at most {before.max()} edges of {np.median(after):.0f}")


def tone(sound: np.ndarray, frequency: float) -> float:
    """The loudest that a pitch is, to 20 Hz, in 50 ms."""
    window = AUDIO_RATE // 20
    blocks = np.lib.stride_tricks.sliding_window_view(sound, window)[::480]
    wave = np.exp(-2j * np.pi * frequency * np.arange(window) / AUDIO_RATE) * np.hanning(window) * 4 / window
    return float(np.abs(blocks @ wave.astype(np.complex64)).max())


def voices(recording: Recording, pitch: float, told: float, verdict: Verdict) -> None:
    """The pitch of somebody's beeps is not heard before it may be, though something is."""
    edge = int(told * AUDIO_RATE)
    hidden, plain = tone(recording.audio[:edge], pitch), tone(recording.audio[edge + AUDIO_RATE // 10:], pitch)
    verdict.check(hidden < plain / 4, f"the own voice: {hidden:.3f} while it is masked, {plain:.3f} afterwards")
    verdict.figure(f"own pitch {20 * np.log10(max(hidden, 1e-5) / plain):.0f} dB")
