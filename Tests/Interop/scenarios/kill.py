"""Recorders that are killed."""

import json
import os
import pathlib
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
# How the field tells survival: lengths of recordings in seconds, and how many of a hundred are killed at one.
LENGTHS = (("under 2 minutes", 1, 120, 60), ("2 to 30 minutes", 120, 1800, 30), ("over 30 minutes", 1800, 3600, 10))


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


def survival(stage: Stage, verdict: Verdict) -> None:
    """SIGKILL at 100 moments of recordings of up to an hour, which a writer writes without pause: all play, and lack at most the last second."""
    kill_writers(stage, verdict, 1)


def survival_long(stage: Stage, verdict: Verdict) -> None:
    """As `survival`, at 1,000 moments."""
    kill_writers(stage, verdict, 10)


def kill_writers(stage: Stage, verdict: Verdict, times: int) -> None:
    """Kills so many hundred writers."""
    clip, file = stage.folder / "clip.webm", stage.folder / "killed.webm"
    subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=30", "-f", "lavfi", "-i", "sine=sample_rate=48000",
                    "-ac", "2", "-t", "4", "-c:v", "libvpx", "-deadline", "realtime", "-cpu-used", "-8", "-b:v", "60k", "-g", "60",
                    "-c:a", "libopus", "-b:a", "24k", str(clip)], check=True, stdin=subprocess.DEVNULL)
    chance = random.Random(seed(SEED))
    for name, shortest, longest, count in LENGTHS:
        lost = []
        for _ in range(count * times):
            taken = kill_writer(stage, clip, file, chance.uniform(shortest, longest))
            lost.append(taken - written(stage, file, verdict))
            file.unlink()
        survived = sum(seconds <= LOST for seconds in lost)
        verdict.check(survived == len(lost), f"{name}: {survived} of {len(lost)} lack at most {ms(LOST)}; most {max(lost):.2f} s")
        verdict.figure(f"{name}: {survived} of {len(lost)}, most {ms(max(lost))} lost")
    verdict.figure(f"seed {seed(SEED)}, limit {ms(LOST)}")


def kill_writer(stage: Stage, clip: pathlib.Path, file: pathlib.Path, length: float) -> float:
    """Lets a writer write until so many seconds are in its file, and kills it; gives how many it had taken."""
    with subprocess.Popen([stage.tool("webm-writer-loop"), str(clip), str(file)], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL) as writer:
        said = b""
        while (more := os.read(writer.stdout.fileno(), 65536)) and last(said := (said + more)[-65536:]) < length:
            pass
        writer.kill()
        while more := os.read(writer.stdout.fileno(), 65536):
            said = (said + more)[-65536:]
    return last(said)


def last(said: bytes) -> float:
    """The last whole line, which is milliseconds, in seconds."""
    lines = said.split(b"\n")
    return int(lines[-2]) / 1000 if len(lines) > 2 else 0.0


def written(stage: Stage, file: pathlib.Path, verdict: Verdict) -> float:
    """How many seconds of a killed file play."""
    report = json.loads(subprocess.run([stage.recbot, "probe", "--json", str(file)], capture_output=True, check=True).stdout)
    verdict.check(not report["endedCleanly"] and not report["gaps"] and not report["problems"], f"{file}: {report}")
    # What is decoded is the same four seconds again and again.
    complaint = decodes(str(file)) if report["durationMs"] < 20_000 else subprocess.run(
        ["ffmpeg", "-v", "warning", "-xerror", "-i", str(file), "-map", "0", "-c", "copy", "-f", "null", "-"],
        capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL).stderr
    verdict.check(not complaint, f"{file}, {report['durationMs']} ms: {complaint[:200]}")
    return report["durationMs"] / 1000
