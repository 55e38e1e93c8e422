"""Recordings whose pictures are written in VP9 and AV1."""

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

# The codec string of 640x360, and what ffprobe says of such files. The matrix of BT.601 has two numbers in H.273: the container
# and AV1 have 6 (smpte170m); VP9 has one word for both, which ffmpeg takes for 5 (bt470bg).
FORMS = {"vp9": (r"vp09\.00\.21\.08\.01\.01\.01\.06\.00", {"codec_name": "vp9", "profile": "Profile 0", "color_space": "bt470bg"}),
         "av1": (r"av01\.0\.01M\.08", {"codec_name": "av1", "profile": "Main", "color_space": "smpte170m"})}


def written(stage: Stage, verdict: Verdict) -> None:
    """One room in VP8, VP9 and AV1 (--codec): judged alike; one in VP9 or AV1 that was killed and its sequel become one file."""
    stage.server()
    people = [stage.publisher("ann", "--size", "320x180", colour="red").join(),
              stage.publisher("bob", "--size", "320x180", "--codec", "VP9", colour="green").join()]
    recorders = {codec: stage.recorder(codec, "--size", "640x360", "--codec", codec) for codec in ("vp8", *FORMS)}
    stage.until(max(recorder.recording() for recorder in recorders.values()) + 10)
    for codec, recorder in recorders.items():
        recorder.stop()
        recording = load(recorder, verdict, codec)
        in_step(recording, people, 3, recording.duration, verdict)
        rate = recorder.path.stat().st_size * 8 / recording.duration / 1000
        verdict.figure(f"{codec} {recorder.cost} {rate:.0f} kbit/s")
    for codec in FORMS:
        form(stage, codec, recorders[codec], verdict)

    first = begin(stage, "first")
    killed = max(recorder.send(signal.SIGKILL) for recorder in first.values())
    for recorder in first.values():
        recorder.exit(5)
        verdict.check(not (complaint := decodes(str(recorder.path))), f"ffmpeg, of what was killed: {complaint[:200]}")
    stage.until(killed + 2)
    second = begin(stage, "second")
    for recorder in second.values():
        recorder.stop()
    for codec, recorder in second.items():
        join(stage, codec, [first[codec], recorder], people[0].colour, verdict)
        mixed = stage.folder / "mixed.webm"
        done = subprocess.run([stage.recbot, "concat", str(mixed), str(recorders["vp8"].path), str(recorder.path)],
                              capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        verdict.check(done.returncode == 42 and f"{codec.upper()}, not VP8" in done.stderr,
                      f"two codecs: {done.returncode} {done.stderr}")


def begin(stage: Stage, name: str) -> dict[str, Recorder]:
    """Records for four seconds in each codec, and goes on."""
    recorders = {codec: stage.recorder(f"{name}-{codec}", "--size", "640x360", "--codec", codec) for codec in FORMS}
    stage.until(max(recorder.recording() for recorder in recorders.values()) + 4)
    return recorders


def form(stage: Stage, codec: str, recorder: Recorder, verdict: Verdict) -> None:
    """What the file says of itself, by our probe and by ffmpeg's."""
    told = json.loads(run([stage.recbot, "probe", "--json", str(recorder.path)]))
    string = next(track["codecString"] for track in told["tracks"] if track["kind"] == "video")
    wanted, words = FORMS[codec]
    verdict.check(re.fullmatch(wanted, string or "") is not None, f"the codec string of 640x360 is {string}")
    entries = "stream=codec_name,profile,pix_fmt,color_range,color_space,color_transfer,color_primaries"
    seen = run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", entries, "-of", "json",
                str(recorder.path)])
    stream = json.loads(seen)["streams"][0]
    all_words = words | {"pix_fmt": "yuv420p", "color_range": "tv", "color_transfer": "bt709", "color_primaries": "bt709"}
    verdict.check(stream == all_words, f"ffprobe: {stream}")


def join(stage: Stage, codec: str, parts: list[Recorder], colour: str, verdict: Verdict) -> None:
    """Joins parts; looks at the file and plays it."""
    path = stage.folder / f"whole-{codec}.webm"
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
