"""A recording that was killed, and one that was damaged, after `recbot repair`."""

import json
import pathlib
import signal
import subprocess

import av
import numpy as np

from judge import accepted
from playing import plays
from scenarios.control import chapters, start
from scenarios.still import packets
from stage import Stage
from verdict import Verdict

HEAD = 4096  # bytes before the media
HOLE = 4096
CLUSTER = bytes.fromhex("1f43b675")
KEYFRAMES = 5.0  # seconds between two


def repaired(stage: Stage, verdict: Verdict) -> None:
    """SIGKILL, and a hole in the disk: `recbot repair` gives length, index and chapters; both sides play."""
    stage.server()
    ann = stage.publisher("ann", "--size", "320x180", colour="green").join()
    recorder, remote = start(stage, "killed")
    begun = recorder.recording()
    refused = subprocess.run([stage.recbot, "repair", recorder.path], capture_output=True, text=True)
    verdict.check(refused.returncode == 42 and "is being written" in refused.stderr, f"while it records: {refused}")
    stage.until(begun + 2.0)
    remote("marker", "Here")
    stage.until(begun + 12.0)
    recorder.send(signal.SIGKILL)
    recorder.exit(5)
    killed = recorder.path.read_bytes()
    report = repair(stage, recorder.path, "--timeline", str(remote.timeline))
    verdict.check(not report["holes"] and report["duration"] >= 11e6, f"repair says {report}")
    whole = recorder.path.read_bytes()
    verdict.check(whole[HEAD:len(whole) - HOLE // 2].startswith(killed[HEAD:len(whole) // 2]), "the media were changed")
    marks = [at for at, text in chapters(recorder.path) if text == "Here"]
    verdict.check(len(marks) == 1, f"the marker is no chapter: {chapters(recorder.path)}")
    verdict.check(not (complaint := accepted(str(recorder.path))), complaint)
    seeks(stage, recorder.path, report, verdict)
    plays(stage.folder, recorder.path, report["duration"] / 1e6,
          [("start", 1.0, ann.colour, True), *(("mark", at, ann.colour, True) for at in marks)], verdict)

    damaged = stage.folder / "damaged.webm"
    middle = whole.index(CLUSTER, len(whole) // 2) - HOLE // 2
    damaged.write_bytes(whole[:middle] + bytes(HOLE) + whole[middle + HOLE:])
    report = repair(stage, damaged)
    verdict.check(len(report["holes"]) == 1, f"repair says {report}")
    seeks(stage, damaged, report, verdict)
    again = repair(stage, damaged)
    verdict.check(not again["needs_repair"] and again["repaired"] is None, f"once more: {again}")
    [hole] = report["holes"] or [{"start": 0, "end": 0}]
    lost = (hole["end"] - hole["start"]) // 1000
    verdict.figure(f"{report['duration'] / 1e6:.1f} s, {report['cues']} cues, hole of {lost} ms")


def repair(stage: Stage, path: pathlib.Path, *options: str) -> dict:
    """Repairs a file; gives what was said of it."""
    done = subprocess.run([stage.recbot, "repair", "--json", path, *options], capture_output=True, check=True,
                          timeout=20)
    return json.loads(done.stdout)


def seeks(stage: Stage, path: pathlib.Path, report: dict, verdict: Verdict) -> None:
    """The file is whole to libwebm; and a player that seeks in it finds the keyframe before."""
    told = json.loads(subprocess.run([stage.recbot, "probe", "--json", path], capture_output=True, check=True).stdout)
    verdict.check(told["endedCleanly"] and not told["problems"], f"{path.name}: {told['problems']}")
    verdict.check(told["cues"] == report["cues"] >= 2, f"{path.name}: {told['cues']} cues")
    with av.open(str(path)) as file:
        length = file.duration / av.time_base
        verdict.check(abs(length - report["duration"] / 1e6) < 0.1, f"{path.name}: PyAV says {length:.2f} s")
        keyframes = [at for at, _, is_key in packets(path) if is_key]
        # A hole may have taken one.
        apart = float(np.diff([*keyframes, length]).max())
        verdict.check(apart <= KEYFRAMES * (1 + len(report["holes"])) + 0.1, f"{path.name}: keyframes are {apart:.1f} s apart")
        for moment in (length - 1, 1.5, length / 2 + 1, 0):
            file.seek(int(moment * av.time_base))
            frame = next(file.decode(video=0))
            before = max(at for at in keyframes if at <= moment)
            verdict.check(abs(frame.time - before) < 0.002,
                          f"{path.name}: sought {moment:.2f}, found {frame.time:.2f}, though there is a keyframe at {before:.2f}")
