"""The manifest of a recording, the report that is made of it, and the file of who talks when."""

import json
import math
import pathlib
import re
import struct

import numpy as np

from judge import Recording, mask, run
from scenarios.common import load
from stage import Stage
from verdict import Verdict

CUTS = 3
CUT = 1.2  # seconds; 60 packets of sound


def quality(stage: Stage, verdict: Verdict) -> None:
    """Three people; nothing of one of them gets through for 1.2 s, three times. The manifest tells that person's loss and
    nobody else's; so does `recbot probe --quality`; the talkers' file says who talked; composed again it is told alike."""
    stage.server("0", "--test-api")
    ann, bob, _ = people = [stage.publisher(name, colour=colour)
                               for name, colour in (("ann", "red"), ("bob", "green"), ("cleo", "blue"))]
    for person in people:
        person.join()
    manifest, talkers, log = (stage.folder / name for name in ("quality.json", "quality.vtt", "session"))
    poster, storyboard = stage.folder / "poster.png", stage.folder / "board.vtt"
    recorder = stage.recorder("quality", "--manifest", str(manifest), "--talkers", str(talkers), "--log", str(log),
                              "--poster", str(poster), "--storyboard", str(storyboard))
    began = recorder.recording()
    bob.tell("talk", "talking")
    for number in range(CUTS):
        stage.until(began + 3 + 3 * number)
        stage.verb("cut-media", identity="bob", **{"for": int(CUT * 1000)})
    stage.until(began + 12)
    bob.tell("hush")
    ann.tell("talk", "talking")
    stage.until(began + 16)
    verdict.check(not manifest.exists(), "the manifest is there before the recording is over")
    recorder.stop()
    recording = load(recorder, verdict)
    # Bob is white while nothing of him gets through.
    pictured(poster, storyboard, recording, [person.colour for person in people if person is not bob], verdict)
    image = storyboard.with_suffix(".png")
    verdict.check(recorder.output[-4:] == [str(path) for path in (poster, image, storyboard, recorder.path)],
                  f"at the end: {recorder.output[-4:]}")

    told = json.loads(manifest.read_text())
    verdict.check(told["version"] == 1 and told["room"] == "test", f"version {told['version']}, room {told['room']}")
    verdict.check(abs(told["length_ms"] / 1000 - recording.duration) < 0.05, f"the length is {told['length_ms']} ms")
    verdict.check(told["file"]["bytes"] == recorder.path.stat().st_size, f"the file has {told['file']['bytes']} bytes")
    verdict.check([person["identity"] for person in told["people"]] == ["ann", "bob", "cleo"], f"people: {told['people']}")
    verdict.check(manifest.stat().st_mode & 0o777 == 0o600, "others may read the manifest")
    faults = {}
    for track in told["tracks"]:
        found = track["quality"]
        faults[track["participant"], track["kind"]] = (
            found["packets_lost"], found.get("freezes", 0), found.get("concealed_ms", 0))
        verdict.check(found["packets_expected"] > 300, f"{track['participant']}: {found['packets_expected']} packets")
    clean = {key: fault for key, fault in faults.items() if key[0] != "bob"}
    verdict.check(len(faults) == 6 and not any(map(any, clean.values())), f"others lost something: {clean}")
    lost, _, concealed = faults["bob", "audio"]
    verdict.check(lost > 120 and concealed > 2400, f"bob's sound: {lost} packets lost, {concealed} ms concealed")
    lost, freezes, _ = faults["bob", "video"]
    # A picture that came after a cut may have to wait for the next keyframe.
    verdict.check(CUTS <= freezes <= 4 * CUTS, f"bob's pictures: {lost} packets lost, {freezes} freezes")
    talked = {person["identity"]: person["talked_ms"] for person in told["people"]}
    verdict.check(talked["bob"] > 5000 and talked["ann"] > 2500 and talked["cleo"] < 1000, f"talked: {talked}")

    report = stage.run("probe", "probe", "--quality", str(recorder.path))
    verdict.check(report.exit(10) == 0, f"probe: {report.tail()}")
    lines = [line.split() for line in report.output if re.match(r"(ann|bob|cleo) +(camera|microphone) ", line)]
    verdict.check([line[0] for line in lines[:2]] == ["bob", "bob"], f"the worst are not the first: {lines}")
    verdict.check(all(line[-1] == "clean" for line in lines[2:]) and len(lines) == 6, f"not clean: {lines[2:]}")

    text = talkers.read_text()
    cues = re.findall(r"(?m)^(\d\d):(\d\d):([\d.]+) --> \S+\n<v (\w+)>\w+$", text)
    begins = [int(hours) * 3600 + int(minutes) * 60 + float(seconds) for hours, minutes, seconds, _ in cues]
    verdict.check(text.startswith("WEBVTT\n") and begins == sorted(begins), "the talkers' file is no WebVTT in order")
    verdict.check({"Ann", "Bob"} <= {name for *_, name in cues}, f"who talked: {cues}")

    again = stage.folder / "again.json"
    process = stage.run("compose", "compose", str(log), "--as-live", "--output", str(stage.folder / "again.webm"),
                        "--manifest", str(again))
    verdict.check(process.exit(120) == 0, f"compose: {process.tail()}")
    composed = json.loads(again.read_text())
    for name in ("room", "title", "start", "people", "layouts", "gaps", "pauses", "markers"):
        verdict.check(composed[name] == told[name], f"{name}: live {told[name]}, composed {composed[name]}")
    for live, track in zip(told["tracks"], composed["tracks"]):
        live, track = live["quality"], track["quality"]
        verdict.check("packets_lost" not in track, "a log cannot know of packets")
        verdict.check(track.get("concealed_ms") == live.get("concealed_ms"), f"concealed: live {live}, composed {track}")
        # Which pictures are decoded together is not the same.
        verdict.check(abs(track.get("freezes", 0) - live.get("freezes", 0)) <= 1, f"freezes: live {live}, composed {track}")
    verdict.figure(f"bob: {faults['bob', 'audio']}, {faults['bob', 'video']} (lost, freezes, concealed ms); {talked}")


def pictured(poster: pathlib.Path, storyboard: pathlib.Path, recording: Recording, colours: list, verdict: Verdict) -> None:
    """The poster, and the storyboard's small pictures from the third second on, show people by their colours."""
    whole, board = pixels(poster), pixels(storyboard.with_suffix(".png"))
    verdict.check(whole.shape == (720, 1280, 3) and all(mask(whole, colour).mean() > 0.03 for colour in colours),
                  f"the poster: {whole.shape}, {[round(float(mask(whole, colour).mean()), 3) for colour in colours]}")
    cues = re.findall(r"(?m)^(\S+) --> \S+\n(\S+)#xywh=(\d+),(\d+),160,90$", storyboard.read_text())
    verdict.check(len(cues) == math.ceil(recording.duration) and {image for _, image, *_ in cues} == {"board.png"},
                  f"the storyboard: {cues}")
    for at, _, x, y in cues[3:]:
        small = board[int(y):int(y) + 90, int(x):int(x) + 160]
        verdict.check(all(mask(small, colour).mean() > 0.02 for colour in colours), f"somebody is missing at {at}")


def pixels(path: pathlib.Path) -> np.ndarray:
    """The pixels of an image."""
    width, height = struct.unpack(">II", path.read_bytes()[16:24])
    raw = run(["ffmpeg", "-v", "warning", "-xerror", "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"])
    return np.frombuffer(raw, np.uint8).reshape(height, width, 3)
