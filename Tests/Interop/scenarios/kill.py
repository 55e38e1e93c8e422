"""Recorders that are killed."""

import json
import random
import signal
import subprocess

from judge import began, decodes, probe
from seeds import seed
from stage import Recorder, Stage
from verdict import Verdict, ms

ROUNDS, LONG_ROUNDS, AT_ONCE = 1, 20, 5
SEED = 20240607
LOST = 1.0  # seconds


def kill(stage: Stage, verdict: Verdict) -> None:
    """SIGKILL at 5 random moments: each file decodes without complaint and lacks at most the last second."""
    kill_often(stage, verdict, ROUNDS)


def kill_long(stage: Stage, verdict: Verdict) -> None:
    """As `kill`, at 100 moments."""
    kill_often(stage, verdict, LONG_ROUNDS)


def kill_often(stage: Stage, verdict: Verdict, rounds: int) -> None:
    """Kills so many rounds of recorders, each at a moment of its own."""
    stage.server()
    stage.publisher("ann", "--size", "320x180", colour="green").join()
    chance = random.Random(seed(SEED))
    lost: list[float] = []
    for turn in range(rounds):
        recorders = [stage.recorder(f"killed-{turn * AT_ONCE + n}", "--size", "640x360") for n in range(AT_ONCE)]
        # From the first line of a recording that has begun; that comes within half a second of the beginning.
        plan = sorted((recorder.recording() + chance.uniform(1.0, 4.5), n) for n, recorder in enumerate(recorders))
        killed = []
        for moment, n in plan:
            stage.until(moment)
            killed.append((recorders[n].send(signal.SIGKILL), recorders[n]))
        for at, recorder in killed:
            recorder.exit(5)
            lost.append(judge(recorder, at, stage.recbot, verdict))
    verdict.figure(f"{len(lost)} files, seed {seed(SEED)}, lost at the end: median {ms(sorted(lost)[len(lost) // 2])}, "
                   f"most {ms(max(lost))} (limit {ms(LOST)})")


def judge(recorder: Recorder, killed: float, recbot: str, verdict: Verdict) -> float:
    """Checks a killed recording; gives the seconds between its end and the moment of the kill."""
    path = str(recorder.path)
    complaint = decodes(path)
    verdict.check(not complaint, f"{recorder.name}: {complaint[:200]}")
    info = probe(path)
    zero = began(info)
    ends = {stream["codec_type"]: max((float(packet["pts_time"]) for packet in info["packets"]
                                       if packet["stream_index"] == stream["index"]), default=0.0)
            for stream in info["streams"]}
    missing = killed - zero - min(ends.values())
    verdict.check(missing <= LOST, f"{recorder.name}: killed after {killed - zero:.2f} s, "
                  f"sound until {ends['audio']:.2f} s, pictures until {ends['video']:.2f} s")
    report = json.loads(subprocess.run([recbot, "probe", "--json", path], capture_output=True, check=True).stdout)
    verdict.check(not report["endedCleanly"], f"{recorder.name}: probe says that it was ended cleanly")
    return missing
