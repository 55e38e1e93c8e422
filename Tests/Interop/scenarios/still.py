"""Rooms in which nothing moves for a while."""

import json
import os
import pathlib

import numpy as np

from browser import chromium
from judge import decodes, pictures_differ, run
from playing import plays
from scenarios.common import load
from stage import Recorder, Stage
from verdict import Verdict, ms

# Bytes of a frame that only shows the one before again, at most.
REPEATED = {"vp8": 80, "vp9": 1}
# Of a core: the aim is 0.02, and the machine has others to serve.
IDLE = 0.05


def spent(recorder: Recorder) -> float:
    """Seconds of processor time so far (proc(5), `stat`)."""
    words = pathlib.Path(f"/proc/{recorder.child.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def still(stage: Stage, verdict: Verdict) -> None:
    """Nobody is there; somebody comes, turns the camera off, and on again. What stands still costs nothing, is whole, and every change
    is seen at once: in VP8 and VP9."""
    stage.server()
    recorders = {codec: stage.recorder(codec, "--size", "640x360", "--codec", codec) for codec in REPEATED}
    began = max(recorder.recording() for recorder in recorders.values())
    stage.until(began + 3)
    before = {codec: spent(recorder) for codec, recorder in recorders.items()}
    stage.until(began + 8)
    idle = {codec: (spent(recorder) - before[codec]) / 5 for codec, recorder in recorders.items()}
    ann = stage.publisher("ann", "--size", "320x180", colour="red").join()
    came = ann.event("complete")["wall"]
    stage.until(came + 3)
    off = ann.tell("mute-camera", "muted")
    stage.until(off + 6)
    on = ann.tell("unmute-camera", "unmuted")
    stage.until(on + 3)
    for recorder in recorders.values():
        recorder.stop()
    for codec, recorder in recorders.items():
        recording = load(recorder, verdict, codec)
        at_came, at_off, at_on = (wall - recording.zero for wall in (came, off, on))
        shown = recording.shown(ann.colour, at_came - 1) - at_came
        gone = recording.gone(ann.colour, at_off - 1) - at_off
        back = recording.shown(ann.colour, at_on - 0.2) - at_on
        verdict.timely(max(shown, gone, back) <= 1.5, f"{codec}: seen after {ms(shown)}, gone after {ms(gone)}, back after {ms(back)}")
        frames = packets(recorder.path)
        repeated = np.mean([size <= REPEATED[codec] for _, size, _ in frames])
        verdict.check(repeated > 0.25, f"{codec}: {repeated:.0%} of the frames are repeated")
        keys = [time for time, _, is_key in frames if is_key]
        apart = max(np.diff([*keys, recording.duration]))
        verdict.check(apart <= 5.05, f"{codec}: keyframes {apart:.2f} s apart")
        verdict.check(not (complaint := decodes(str(recorder.path))), f"{codec}: ffmpeg: {complaint[:200]}")
        verdict.timely(idle[codec] <= IDLE, f"{codec}: an empty room takes {idle[codec]:.3f} of a core")
        verdict.figure(f"{codec}: idle {100 * idle[codec]:.1f} %, {repeated:.0%} repeated, shown {ms(shown)}, gone {ms(gone)}, back {ms(back)}")
        if chromium() is None:
            print("      skipped: no chromium to play it")
            continue
        # Chromium's own decoders, and each change after a stretch of repetition.
        plays(stage.folder, recorder.path, recording.duration,
              [("ann", at_came + 2, ann.colour, True), ("the card", at_off + 4, ann.colour, False), ("back", at_on + 2, ann.colour, True),
               ("nobody", at_came - 2, ann.colour, False)], verdict)
    difference = pictures_differ(str(recorders["vp8"].path))
    verdict.check(not difference, f"libvpx and FFmpeg show other pictures: {difference}")


def packets(path: pathlib.Path) -> list[tuple[float, int, bool]]:
    """Time, size and whether it is a keyframe, of each picture."""
    told = json.loads(run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts_time,size,flags", "-of", "json",
                           str(path)]))
    return [(float(packet["pts_time"]), int(packet["size"]), "K" in packet["flags"]) for packet in told["packets"]]
