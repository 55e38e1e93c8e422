"""Jobs that wait for their rooms."""

import random

from judge import Recording
from scenarios.common import continuous
from service.desk import Service
from stage import Stage
from verdict import Verdict, ms

# How much of a room's beginning is missed.
LIMIT = 0.5
ROUNDS = 3


def awaited(stage: Stage, verdict: Verdict) -> None:
    """Rooms that begin at random moments while jobs wait for them: the room server's webhook wakes the recordings."""
    service = Service(stage, room_options=("--no-auto-create",))
    try:
        service.worker()
        chance = random.Random(20261122)
        waits = []
        for number in range(1, ROUNDS + 1):
            room = f"lesson-{number}"
            job = service.ask("jobs", "submit", room, "--wait-for-room", "60s", "--size", "320x180")
            service.reaches(job, {"waiting"})
            stage.until(stage.until(0) + chance.uniform(4.0, 5.5))
            begun = stage.service("CreateRoom", name=room)
            service.reaches(job, {"running"})
            stage.until(begun + 3)
            service.ask("jobs", "control", job, "stop")
            done = service.reaches(job, {"completed", "failed"})
            if not verdict.check(done["state"] == "completed", f"{room}: {done.get('error')}"):
                continue
            recording = Recording.load(done["files"][0]["location"])
            continuous(recording, verdict)
            waits.append(recording.zero - begun)
        verdict.check(max(waits, default=0) <= LIMIT, f"the recordings begin {', '.join(map(ms, waits))} after the rooms")
        verdict.figure(f"after {', '.join(map(ms, waits))}")
    finally:
        service.close()
