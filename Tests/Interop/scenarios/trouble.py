"""A machine in trouble: no room for the file, no time for the process."""

import signal

from judge import decodes, probe
from scenarios.common import FRAME, in_step, load
from stage import Stage
from verdict import Verdict, ms

ODD_NAME = "Ἀλέξανδρος \U0001f469‍\U0001f4bb שלום <b>x</b> \u202egnp\u0007"


def trouble(stage: Stage, verdict: Verdict) -> None:
    """The disk fills up: one clear line, and what there is plays. The recorder is frozen: it comes back in step."""
    stage.server()
    # Every second some 500 kB; with a name that no terminal and no font likes.
    person = stage.publisher("ann", "--size", "640x360", "--stripes", "3", colour="green", display=ODD_NAME).join()
    full = stage.recorder("full", "--video-bitrate", "8M", "--size", "640x360", "--progress", "none",
                          largest_file=600_000)
    frozen = stage.recorder("frozen", "--size", "640x360")
    began = frozen.recording()
    stage.until(began + 2)
    stopped = frozen.send(signal.SIGSTOP)
    stage.until(stopped + 3)
    woken = frozen.send(signal.SIGCONT)
    status = full.exit(30)
    verdict.check(status == 41, f"full disk: exit code {status}")
    lines = [line for line in full.errors.splitlines() if line.startswith("recbot: ")]
    verdict.check(len(lines) == 1 and "no space" in lines[0], f"full disk: {full.errors[:300]}")
    complaint = decodes(str(full.path))
    verdict.check(not complaint, f"full disk: the file does not play: {complaint[:200]}")
    length = max(float(packet["pts_time"]) for packet in probe(str(full.path))["packets"])
    verdict.figure(f"full at {full.path.stat().st_size} bytes, {length:.1f} s play")
    stage.until(woken + 4)
    frozen.stop()

    # Nothing can have been drawn while it stood still; the sound is made up for, and so is the duration.
    checks = Verdict()
    recording = load(frozen, checks)
    verdict.take(checks, "frozen", but="between pictures")
    verdict.figures += checks.figures
    verdict.check(recording.picture_gap <= 3.2, f"frozen: gap of {ms(recording.picture_gap)} in the pictures")
    verdict.figure(f"frozen for 3 s: pictures miss {ms(recording.picture_gap - FRAME)}")
    in_step(recording, [person], woken - recording.zero + 1.2, recording.duration, verdict)
