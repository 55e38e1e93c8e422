"""Recordings whose pictures are written in VP9."""

import json
import re
import signal
import subprocess

from browser import chromium
from judge import decodes, run
from playing import plays
from scenarios.common import concat, in_step, load
from stage import Recorder, Stage
from verdict import Verdict

FEATURES = re.compile(r"vp09\.00\.(\d\d)\.08\.01\.01\.01\.06\.00")  # of any level


def written(stage: Stage, verdict: Verdict) -> None:
    """One room in VP8 and in VP9 (--codec): judged alike; a VP9 recording that was killed and its sequel become one file."""
    stage.server()
    people = [stage.publisher("ann", "--size", "320x180", colour="red").join(),
              stage.publisher("bob", "--size", "320x180", "--codec", "VP9", colour="green").join()]
    recorders = {codec: stage.recorder(codec, "--size", "640x360", "--codec", codec) for codec in ("vp8", "vp9")}
    stage.until(max(recorder.recording() for recorder in recorders.values()) + 10)
    for codec, recorder in recorders.items():
        recorder.stop()
        recording = load(recorder, verdict, codec)
        in_step(recording, people, 3, recording.duration, verdict)
        rate = recorder.path.stat().st_size * 8 / recording.duration / 1000
        verdict.figure(f"{codec} {recorder.cost} {rate:.0f} kbit/s")
    levels(stage, recorders["vp9"], verdict)

    first = stage.recorder("first", "--size", "640x360", "--codec", "vp9")
    stage.until(first.recording() + 4)
    killed = first.send(signal.SIGKILL)
    first.exit(5)
    verdict.check(not (complaint := decodes(str(first.path))), f"ffmpeg, of what was killed: {complaint[:200]}")
    stage.until(killed + 2)
    second = stage.recorder("second", "--size", "640x360", "--codec", "vp9")
    stage.until(second.recording() + 4)
    second.stop()
    join(stage, [first, second], people[0].colour, verdict)
    mixed = stage.folder / "mixed.webm"
    done = subprocess.run([stage.recbot, "concat", str(mixed), str(recorders["vp8"].path), str(second.path)],
                          capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    verdict.check(done.returncode == 42 and "VP9, not VP8" in done.stderr, f"two codecs: {done.returncode} {done.stderr}")


def levels(stage: Stage, recorder: Recorder, verdict: Verdict) -> None:
    """What the file says of itself, by our probe and by ffmpeg's."""
    told = json.loads(run([stage.recbot, "probe", "--json", str(recorder.path)]))
    codec = next(track["codecString"] for track in told["tracks"] if track["kind"] == "video")
    found = FEATURES.fullmatch(codec or "")
    verdict.check(found is not None and found[1] == "21", f"the codec string of 640x360 is {codec}")
    # The matrix of BT.601 has two numbers in H.273: the container has 6 (smpte170m); VP9 has one word for both, which ffmpeg
    # takes for 5 (bt470bg).
    entries = "stream=codec_name,profile,pix_fmt,color_range,color_space,color_transfer,color_primaries"
    seen = run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", entries, "-of", "json",
                str(recorder.path)])
    stream = json.loads(seen)["streams"][0]
    wanted = {"codec_name": "vp9", "profile": "Profile 0", "pix_fmt": "yuv420p", "color_range": "tv",
              "color_space": "bt470bg", "color_transfer": "bt709", "color_primaries": "bt709"}
    verdict.check(stream == wanted, f"ffprobe: {stream}")


def join(stage: Stage, parts: list[Recorder], colour: str, verdict: Verdict) -> None:
    """Joins parts; looks at the file and plays it."""
    path = stage.folder / "whole.webm"
    if not (joined := concat(stage, path, parts, verdict)):
        return
    start, end, length = joined
    verdict.check(not (complaint := decodes(str(path))), f"ffmpeg, of what was joined: {complaint[:200]}")
    if chromium() is None:
        print("      skipped: no chromium to play it")
        return
    plays(stage.folder, path, length, [
        ("before", start - 1.5, colour, True), ("after", end + 1.5, colour, True),
        ("gap", (start + end) / 2 - 0.3, colour, False), ("begin", 1.0, colour, True)], verdict)
