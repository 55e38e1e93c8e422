"""Rooms with thousands of people, and servers that never stop talking of them. What a recorder does follows what it
shows, and nothing holds up its end."""

import pathlib
import signal
import time

import attackers
from crowding_proxy import CrowdingProxy, phantom, rtc, models, update
from judge import Recording
from scenarios.common import continuous, in_step
from stage import Recorder, Stage
from verdict import Verdict, ms

CROWD = 3000
FEW = 30
WATCHED = 6  # seconds in which the cost is measured
MORE_PROCESSOR = 0.02  # of a core
MORE_MEMORY = 60  # MiB
OBEYED = 1.0  # seconds


def recorder(stage: Stage, name: str, proxy: CrowdingProxy, *options: str) -> Recorder:
    """A recorder that joins through a proxy."""
    return stage.start(Recorder(name, stage.recbot, proxy.url, "test", stage.folder, "--log-level", stage.log_level,
                                *options))


def processor(process: Recorder) -> float:
    """Seconds of processor time of all threads so far, to the nanosecond (proc(5), schedstat)."""
    total = 0
    for task in pathlib.Path(f"/proc/{process.child.pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except (FileNotFoundError, ProcessLookupError):
            continue  # a thread that has just ended
    return total / 1e9


def resident(process: Recorder) -> float:
    """MiB that it has at most had."""
    status = pathlib.Path(f"/proc/{process.child.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def crowds_cost_what_is_shown(stage: Stage, verdict: Verdict) -> None:
    """Three thousand people cost hardly more than thirty; whoever really is there is seen and heard."""
    stage.server()
    ann = stage.publisher("ann", "--size", "640x360", colour="red").join()
    sizes = (FEW, 600, 1000, CROWD) if attackers.LONG else (FEW, CROWD)
    costs: dict[int, float] = {}
    memory: dict[int, float] = {}
    for size in sizes:
        with CrowdingProxy(stage.url, size) as proxy:
            recording = recorder(stage, f"crowd{size}", proxy, "--max-duration", "10s")
            began = recording.recording()
            stage.until(began + 2)
            start, used = time.monotonic(), processor(recording)
            stage.until(began + 2 + WATCHED)
            costs[size] = (processor(recording) - used) / (time.monotonic() - start)
            memory[size] = resident(recording)
            status = recording.exit(15)
            verdict.check(status == 0, f"{size} people: the recorder ended with {status}: {recording.tail()}")
            late = recording.ended - began - 10
            verdict.check(late <= OBEYED, f"{size} people: ended {ms(late)} after its longest duration")
            progress = recording.last_progress
            verdict.check(progress.get("participants") == size + 1, f"{progress.get('participants')} people of {size + 1}")
            verdict.check(progress.get("dropped_frames") == 0, f"{size} people: {progress.get('dropped_frames')} dropped")
            seen = Recording.load(str(recording.path))
            continuous(seen, verdict)
            in_step(seen, [ann], 2.5, seen.duration, verdict)
            verdict.figure(f"{size}: {costs[size]:.3f} core, {memory[size]:.0f} MiB, end {late * 1000:+.0f} ms, "
                           f"{proxy.asked} asked for, {proxy.refused} not wanted")
    more = costs[CROWD] - costs[FEW]
    # What is measured of a loaded machine varies by some tenths of itself.
    verdict.check(more <= max(MORE_PROCESSOR, 0.15 * costs[FEW]), f"{CROWD} people cost {more:.3f} core more than {FEW}")
    verdict.check(memory[CROWD] - memory[FEW] <= MORE_MEMORY,
                  f"{CROWD} people take {memory[CROWD] - memory[FEW]:.0f} MiB more than {FEW}")


def restless(people: int) -> list[bytes]:
    """Messages about everybody: they mute and unmute, are renamed, leave and return, and all talk at once."""
    messages = []
    for version in range(2, 6):
        for first in range(0, people, 100):
            some = range(first, min(first + 100, people))
            messages.append(update(*(phantom(number, version << 20, muted=version % 2 == 0, metadata="m" * 100)
                                     for number in some)))
            messages.append(rtc.SignalResponse(speakers_changed=rtc.SpeakersChanged(speakers=[
                models.SpeakerInfo(sid=f"PA_phantom{number}", level=0.5, active=version % 2 == 1)
                for number in some])).SerializeToString())
    # Each life of a room has new sessions: those of before never come back.
    for life in range(3):
        for first in range(0, people, 100):
            strangers = [phantom(people + life * people + number) for number in range(first, min(first + 100, people))]
            messages.append(update(*strangers))
            for stranger in strangers:
                stranger.state = models.ParticipantInfo.DISCONNECTED
                stranger.version += 1
            messages.append(update(*strangers))
    return messages


def floods_do_not_hold_up_the_end(stage: Stage, verdict: Verdict) -> None:
    """However fast a server talks, SIGTERM and the longest duration are obeyed within a second, and memory is bounded."""
    stage.server()
    stage.publisher("ann", "--size", "320x180", "--fps", "15", colour="red").join()
    with CrowdingProxy(stage.url, CROWD, flood=restless(CROWD)) as proxy:
        for name, options in (("stopped", ()), ("limited", ("--max-duration", "6s"))):
            recording = recorder(stage, name, proxy, *options)
            began = recording.recording(30)
            proxy.pour()
            stage.until(began + 5)
            used = resident(recording)
            if name == "stopped":
                due = recording.send(signal.SIGTERM)
            else:
                due = began + 6
            status = recording.exit(20)
            verdict.check(status == 0, f"{name}: ended with {status}: {recording.tail()}")
            late = recording.ended - due
            verdict.check(late <= OBEYED + 0.2, f"{name}: ended {ms(late)} after it was due")
            verdict.check(used <= 500, f"{name}: {used:.0f} MiB")
            seen = Recording.load(str(recording.path))
            verdict.check(seen.duration >= 4, f"{name}: {seen.duration:.1f} s were recorded")
            verdict.figure(f"{name}: end after {ms(late)}, {seen.duration:.1f} s, {used:.0f} MiB, "
                           f"{recording.last_progress.get('dropped_frames')} dropped")
    verdict.figure(f"{proxy.poured} messages")


ATTACKS = [crowds_cost_what_is_shown, floods_do_not_hold_up_the_end]
