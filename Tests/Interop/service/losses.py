"""Workers, recordings and backends that die, freeze or leave while something is recorded. Nothing of it is lost twice,
and the job is completed once."""

import hashlib
import os
import pathlib
import signal
import stat
import time

from judge import Recording, decodes
from scenarios.control import chapters
from service.desk import Service
from stage import Process, Publisher, Stage
from verdict import Verdict

# A lease is 15 s long, and another worker must be in the room 20 s after the loss.
TAKEOVER = 20.0
SETTINGS = ("--size", "640x360")


def begin(service: Service, room: str = "room", *options: str) -> tuple[Publisher, str]:
    """Somebody in a room, and a job that records it; returns when it does."""
    ann = service.stage.publisher("ann", "--size", "320x180", colour="red", room=room)
    ann.event("ready", timeout=30)
    ann.join()
    job = service.ask("jobs", "submit", room, *SETTINGS, "--webhook", service.receiver.url, *options)
    service.reaches(job, {"running"})
    return ann, job


def holder(service: Service, job: str) -> str:
    """The worker that has the job; empty when none has."""
    return service.job(job).get("worker", "")


def process(service: Service, name: str) -> Process:
    """A worker's process."""
    return next(worker for worker in service.workers if worker.name == name)


def finish(service: Service, job: str, verdict: Verdict, parts: int, gaps: range | None = None) -> Recording | None:
    """Stops the job; gives its one file, checked. Between two parts is a gap, unless `gaps` says how many may be."""
    service.ask("jobs", "control", job, "stop")
    done = service.reaches(job, {"completed", "failed", "cancelled"}, 40)
    if not verdict.check(done["state"] == "completed", f"{done['state']}: {done.get('error')}"):
        return None
    verdict.check(len(done["parts"]) == parts, f"{len(done['parts'])} parts instead of {parts}: {done['parts']}")
    verdict.check("error" not in done, f"completed with an error: {done.get('error')}")
    if not verdict.check(len(done["files"]) == 1, f"{len(done['files'])} files: {done['files']}"):
        return None
    path = pathlib.Path(done["files"][0]["location"])
    data = path.read_bytes()
    verdict.check(hashlib.sha256(data).hexdigest() == done["files"][0]["sha256"], "the checksum is another one")
    trouble = decodes(str(path))
    verdict.check(not trouble, f"the file does not decode: {trouble}")
    marks = chapters(path)
    shown = [text for _, text in marks if text == "Recording interrupted"]
    verdict.check(len(shown) in (gaps or [parts - 1]), f"{len(shown)} gaps are shown: {marks}")
    service.wait(lambda: "job.completed" in service.receiver.told(job),
                 lambda: f"no webhook of the end: {service.receiver.told(job)}")
    told = service.receiver.told(job)
    verdict.check(told.count("job.completed") == 1, f"webhooks: {told}")
    verdict.check(not service.receiver.faults, f"webhooks: {service.receiver.faults}")
    left = [str(file) for file in (service.data / "worker").rglob("*.webm")]
    verdict.check(not left, f"parts are left: {left}")
    return Recording.load(str(path))


def is_shown_late(recording: Recording, colour: str) -> bool:
    """Whether somebody is on the last pictures, at a moment in which nobody flashes."""
    return max(recording.area(colour, recording.duration - before) for before in (0.6, 0.9, 1.2, 1.5)) > 0.05


def killed_worker(stage: Stage, verdict: Verdict) -> None:
    """SIGKILL of a worker: its recording ends within a second or two, another worker goes on within 20 s."""
    service = Service(stage)
    try:
        service.worker()
        ann, job = begin(service)
        service.worker()
        stage.until(time.time() + 4.0)
        first = process(service, holder(service, job))
        children = service.processes(first)
        killed = first.send(signal.SIGKILL)
        service.wait(lambda: not any(pathlib.Path(f"/proc/{child}").exists() for child in children),
                     "the recording outlives its worker", timeout=6)
        verdict.figure(f"recording over {time.time() - killed:.1f} s after its worker")
        service.wait(lambda: holder(service, job) not in ("", first.name), "nobody took the job", timeout=30)
        service.reaches(job, {"running"}, 10)
        took = time.time() - killed
        verdict.check(took <= TAKEOVER, f"another worker records only after {took:.1f} s")
        verdict.figure(f"taken over after {took:.1f} s")
        stopped = stage.until(time.time() + 4.0)
        recording = finish(service, job, verdict, parts=2)
        if recording:
            wanted = stopped - recording.zero
            verdict.figure(f"file {recording.duration:.1f} s")
            # The first of the two cost a process's start and the way of a command, no more.
            verdict.timely(abs(recording.duration - wanted) <= 3, f"{recording.duration:.1f} s instead of {wanted:.1f}")
            verdict.check(is_shown_late(recording, ann.colour), "the second part is not shown")
    finally:
        service.close()


def crashed_recording(stage: Stage, verdict: Verdict) -> None:
    """SIGSEGV of the recording's process alone: the same worker goes on at once, a second of it is missing, and who was hidden is
    hidden in the second part too."""
    service = Service(stage)
    try:
        worker = service.worker()
        ann, job = begin(service, "room", "--layout", "grid")
        service.ask("jobs", "control", job, "layout", "speaker")
        service.wait(lambda: service.job(job)["steering"].get("layout") == "speaker", "the layout was not confirmed")
        service.ask("jobs", "control", job, "processor", "Ann=grayscale")
        service.wait(lambda: service.job(job)["steering"].get("processors") == ["Ann=grayscale"], "the processor was not confirmed")
        refused = service.ask("jobs", "control", job, "processor", "nobody=blur", status=46)
        verdict.check("nobody called 'nobody'" in refused, f"a processor for nobody: {refused}")
        stage.until(time.time() + 3.0)
        [child] = service.processes(worker)
        os.kill(child, signal.SIGSEGV)
        crashed = time.time()
        service.wait(lambda: any(other != child for other in service.processes(worker)), "no new process", timeout=10)
        service.wait(lambda: len(service.job(job)["parts"]) == 2, "no second part", timeout=15)
        verdict.figure(f"second part {time.time() - crashed:.1f} s after the crash")
        verdict.check(service.job(job)["attempt"] == 1, "the lease was lost")
        stage.until(time.time() + 3.0)
        service.ask("jobs", "control", job, "processor", "Ann=none")
        stage.until(time.time() + 2.5)
        recording = finish(service, job, verdict, parts=2)
        if recording:
            verdict.check(is_shown_late(recording, ann.colour), "the second part is not shown")
            hidden = recording.gone(ann.colour, 0)
            shown = recording.shown(ann.colour, hidden + 0.1)
            verdict.check(shown - hidden > 6, f"hidden from {hidden:.2f} s to {shown:.2f} s")
            verdict.figure(f"file {recording.duration:.1f} s")
    finally:
        service.close()


def logged(stage: Stage, verdict: Verdict) -> None:
    """A job with `--log` that hides somebody: each part has a session log, a crash leaves a whole one, both are composed and hide
    them too, old ones are pruned."""
    service = Service(stage)
    logs = service.data / "logs"
    try:
        worker = service.worker()
        ann, job = begin(service, "room", "--log", "--processor", "Ann=grayscale")
        stage.until(time.time() + 4.0)
        [shown] = service.job(job)["parts"]
        busy = service.recbot("log", "erase", shown["log"], "--participant", "ann", status=42)
        verdict.check("is being written" in busy, f"erased while it is written: {busy}")
        for child in service.processes(worker):
            service.kill(child)
        service.wait(lambda: len(service.job(job)["parts"]) == 2, "no second part", timeout=15)
        stage.until(time.time() + 4.0)
        recording = finish(service, job, verdict, parts=2)
        verdict.check(not recording or recording.shown(ann.colour, 0) == float("inf"), "who is to be hidden is shown")
        done = service.job(job)
        for number, part in enumerate(done["parts"]):
            folder = pathlib.Path(part.get("log", "-"))
            if not verdict.check(folder.is_dir() and folder.parent == logs, f"no log of part {number}: {part}"):
                continue
            verdict.check(stat.S_IMODE(folder.stat().st_mode) == 0o700, f"{folder} is open to others")
            file = stage.folder / f"part-{number}.webm"
            service.recbot("compose", str(folder), "--layout", "speaker", "--output", str(file))
            composed = Recording.load(str(file))
            seconds = composed.duration
            verdict.check(composed.shown(ann.colour, 0) == float("inf"), f"who is to be hidden is shown in part {number}")
            verdict.check(3.0 < seconds < part["duration_seconds"] + 1.0, f"part {number} composed: {seconds:.1f} s")
            verdict.figure(f"part {number} {part['duration_seconds']:.1f} s, composed {seconds:.1f} s")
        told = service.ask("jobs", "show", job)
        verdict.check(str(logs) in told and "Ann=grayscale" in told, f"show: {told}")
        # Another job wants none; and a worker that starts prunes what is over.
        plain = service.ask("jobs", "submit", "room", *SETTINGS)
        service.reaches(plain, {"running"})
        service.ask("jobs", "control", plain, "stop")
        verdict.check(all("log" not in part for part in service.reaches(plain, {"completed"}, 40)["parts"]), "a log unasked")
        verdict.check(len(list(logs.iterdir())) == 2, f"logs: {list(logs.iterdir())}")
        service.common["RECBOT_LOG_KEEP"] = "1s"
        service.worker()
        worker.send(signal.SIGTERM)
        brief = service.ask("jobs", "submit", "room", *SETTINGS, "--log")
        service.reaches(brief, {"running"})
        stage.until(time.time() + 1.0)
        service.ask("jobs", "control", brief, "stop")
        service.reaches(brief, {"completed"}, 40)
        verdict.check(len(list(logs.iterdir())) == 3, f"logs: {list(logs.iterdir())}")
        service.worker()
        service.wait(lambda: len(list(logs.iterdir())) == 2, lambda: f"not pruned: {list(logs.iterdir())}")
        verdict.check(all(pathlib.Path(part["log"]).is_dir() for part in done["parts"]), "logs of a week were pruned")
    finally:
        service.close()


def frozen_worker(stage: Stage, verdict: Verdict) -> None:
    """SIGSTOP of a worker for 30 s: another one has the job by then, and the one that wakes changes nothing."""
    service = Service(stage)
    try:
        service.worker()
        _, job = begin(service)
        service.worker()
        first = process(service, holder(service, job))
        stopped = first.send(signal.SIGSTOP)
        service.wait(lambda: holder(service, job) not in ("", first.name), "nobody took the job", timeout=30)
        second = holder(service, job)
        stage.until(stopped + 30.0)
        before = service.job(job)
        first.send(signal.SIGCONT)
        stage.until(time.time() + 6.0)
        after = service.job(job)
        verdict.check(not service.processes(first), "the worker that woke goes on with the job")
        verdict.check(holder(service, job) == second and after["attempt"] == before["attempt"], "the job changed hands")
        verdict.check(after["parts"][0] == before["parts"][0], f"the old part was changed: {after['parts']}")
        # The frozen worker's recording went on until the other one took its place: nothing is missing.
        finish(service, job, verdict, parts=2, gaps=range(1))
        verdict.check(service.drained(first) == 0, f"the worker ended with {first.status}")
    finally:
        service.close()


def absent_backend(stage: Stage, verdict: Verdict) -> None:
    """The backend is killed for 20 s, longer than a lease: the recording goes on as if nothing had been."""
    service = Service(stage)
    try:
        worker = service.worker()
        _, job = begin(service)
        stage.until(time.time() + 2.0)
        service.backends[0].send(signal.SIGKILL)
        [child] = service.processes(worker)
        stage.until(time.time() + 20.0)
        service.backends[0] = service.backend(0)
        stage.until(time.time() + 4.0)
        verdict.check(service.processes(worker) == [child], "the recording did not go on")
        verdict.check(service.job(job)["attempt"] == 1, "the job was queued again")
        recording = finish(service, job, verdict, parts=1)
        if recording:
            verdict.check(recording.duration >= 24, f"only {recording.duration:.1f} s are recorded")
            verdict.figure(f"file {recording.duration:.1f} s")
    finally:
        service.close()


def drained_worker(stage: Stage, verdict: Verdict) -> None:
    """SIGTERM with a drain time of 3 s: what still runs then is handed over at once, to another worker's next part."""
    service = Service(stage)
    try:
        service.worker("--drain-timeout", "3s")
        _, job = begin(service)
        second = service.worker()
        stage.until(time.time() + 2.0)
        first = process(service, holder(service, job))
        asked = first.send(signal.SIGTERM)
        service.wait(lambda: holder(service, job) == second.name, "nobody took the job", timeout=15)
        verdict.check(time.time() - asked >= 2.5, "it was handed over before the drain time was over")
        service.reaches(job, {"running"})
        verdict.figure(f"goes on elsewhere {time.time() - asked - 3:.1f} s after the drain time")
        verdict.check(first.exit(10) == 0, f"the worker ended with {first.status}: {first.tail()}")
        stage.until(time.time() + 2.0)
        # A gap of some pictures is none.
        finish(service, job, verdict, parts=2, gaps=range(2))
    finally:
        service.close()


def restarted_worker(stage: Stage, verdict: Verdict) -> None:
    """The backend and the worker die together, and come back: what was recorded is found and finished."""
    service = Service(stage)
    try:
        worker = service.worker()
        _, job = begin(service)
        stage.until(time.time() + 3.0)
        service.backends[0].send(signal.SIGKILL)
        worker.send(signal.SIGKILL)
        stage.until(time.time() + 3.0)
        service.backends[0] = service.backend(0)
        service.worker()
        service.wait(lambda: service.job(job)["attempt"] == 2 and service.job(job)["state"] == "running",
                     lambda: f"nobody goes on: {service.job(job)}", timeout=25)
        verdict.check(service.job(job)["parts"][0]["duration_seconds"] > 1.5, "the first part's length is not known")
        stage.until(time.time() + 3.0)
        finish(service, job, verdict, parts=2)
    finally:
        service.close()
