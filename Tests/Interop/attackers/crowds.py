"""Rooms with thousands of people, and servers that never stop talking of them. What a recorder does follows what it
shows, and nothing holds up its end."""

import dataclasses
import pathlib
import signal
import time

import attackers
from crowding_proxy import CrowdingProxy, phantom, rtc, models, update
from judge import Recording
from scenarios.common import continuous, in_step
from stage import Failed, Publisher, Recorder, Stage
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


def peak(stage: Stage, process: Recorder, until: float) -> float:
    """MiB that it has at most had until a time, or until it ended before."""
    most = 0
    while time.time() < until:
        try:
            most = process.memory("VmHWM")
        except Failed:
            break
        stage.until(min(until, time.time() + 0.1))
    return most / 1024


def crowds_cost_what_is_shown(stage: Stage, verdict: Verdict) -> None:
    """Three thousand people cost hardly more than thirty; whoever really is there is seen and heard."""
    stage.server()
    ann = stage.publisher("ann", "--size", "640x360", colour="red").join()
    for size in (600, 1000, CROWD) if attackers.LONG else (CROWD,):
        compare(stage, ann, size, verdict)


def compare(stage: Stage, ann: Publisher, size: int, verdict: Verdict) -> None:
    """Records a few people and a crowd at the same time: what the machine itself does meanwhile, it does to both."""
    with CrowdingProxy(stage.url, FEW) as few, CrowdingProxy(stage.url, size) as crowd:
        sides = [Side(people, proxy, recorder(stage, f"crowd{people}of{size}", proxy, "--max-duration", "10s"))
                 for people, proxy in ((FEW, few), (size, crowd))]
        began = max(side.process.recording() for side in sides)
        stage.until(began + 2)
        start, used = time.monotonic(), [processor(side.process) for side in sides]
        stage.until(began + 2 + WATCHED)
        costs = [(processor(side.process) - before) / (time.monotonic() - start) for side, before in zip(sides, used)]
        memory = [side.process.memory("VmHWM") / 1024 for side in sides]
        for side, cost, most in zip(sides, costs, memory):
            side.judge(ann, verdict)
            verdict.figure(f"{side.people}: {cost:.3f} core, {most:.0f} MiB, {side.proxy.asked} asked for, "
                           f"{side.proxy.refused} not wanted")
    more = costs[1] - costs[0]
    verdict.check(more <= MORE_PROCESSOR, f"{size} people cost {more:.3f} core more than {FEW}")
    verdict.check(memory[1] - memory[0] <= MORE_MEMORY,
                  f"{size} people take {memory[1] - memory[0]:.0f} MiB more than {FEW}")


@dataclasses.dataclass
class Side:
    """One of two recordings at the same time, and the people that its proxy adds."""

    people: int
    proxy: CrowdingProxy
    process: Recorder

    def judge(self, ann: Publisher, verdict: Verdict) -> None:
        """Waits for its end, and checks that it ended in time, told everybody, and shows who really is there."""
        began = self.process.recording()
        status = self.process.exit(15)
        verdict.check(status == 0, f"{self.people} people: the recorder ended with {status}: {self.process.tail()}")
        late = self.process.ended - began - 10
        verdict.timely(late <= OBEYED, f"{self.people} people: ended {ms(late)} after its longest duration")
        progress = self.process.last_progress
        told, dropped = progress.get("participants"), progress.get("dropped_frames")
        verdict.check(told == self.people + 1, f"{told} people of {self.people + 1}")
        verdict.check(dropped == 0, f"{self.people} people: {dropped} dropped")
        seen = Recording.load(str(self.process.path))
        continuous(seen, verdict)
        in_step(seen, [ann], 2.5, seen.duration, verdict)
        verdict.figure(f"end {late * 1000:+.0f} ms")


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
            used = peak(stage, recording, began + 5)
            if name == "stopped":
                due = recording.send(signal.SIGTERM)
            else:
                due = began + 6
            status = recording.exit(20)
            verdict.check(status == 0, f"{name}: ended with {status}: {recording.tail()}")
            late = recording.ended - due
            verdict.timely(late <= OBEYED + 0.2, f"{name}: ended {ms(late)} after it was due")
            verdict.check(used <= 500, f"{name}: {used:.0f} MiB")
            seen = Recording.load(str(recording.path))
            verdict.check(seen.duration >= 4, f"{name}: {seen.duration:.1f} s were recorded")
            verdict.figure(f"{name}: end after {ms(late)}, {seen.duration:.1f} s, {used:.0f} MiB, "
                           f"{recording.last_progress.get('dropped_frames')} dropped")
    verdict.figure(f"{proxy.poured} messages")


ATTACKS = [crowds_cost_what_is_shown, floods_do_not_hold_up_the_end]
