"""An ordinary day: recordings on demand, by a schedule, and because a room begins; the layout is changed from outside."""

import datetime
import hashlib
import pathlib
import time
import urllib.request

import boto3

from judge import Recording
from scenarios.common import continuous, in_step
from scenarios.control import chapters, title
from service.desk import Service
from service.postgres import Postgres
from stage import SECRET, Process, Stage
from verdict import Verdict, ms

LARGE = 0.35  # of the canvas


def single(stage: Stage, verdict: Verdict) -> None:
    """One backend on SQLite, two workers, files in a folder."""
    service = Service(stage)
    try:
        day(service, verdict)
        verdict.check(all(pathlib.Path(file).is_relative_to(service.data) for file in locations(service)),
                      "a file is not in the data folder")
    finally:
        service.close()


def shared(stage: Stage, verdict: Verdict) -> None:
    """Two backends that share PostgreSQL, a worker at each, files in an S3 store while they grow."""
    _, endpoint = stage.store()
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/recordings", method="PUT"), timeout=5).close()
    settings = {"RECBOT_UPLOAD": "live", "RECBOT_S3_ENDPOINT": endpoint, "RECBOT_S3_BUCKET": "recordings",
                "RECBOT_S3_PATH_STYLE": "true", "RECBOT_S3_PREFIX": "talks", "AWS_ACCESS_KEY_ID": "interop",
                "AWS_SECRET_ACCESS_KEY": "interop-secret", "AWS_REGION": "us-east-1"}
    with Postgres() as postgres:
        service = Service(stage, postgres.address, settings, backends=2)
        try:
            day(service, verdict, endpoint)
        finally:
            service.close()
            # Before the database goes.
            for process in [*service.workers, *service.backends]:
                process.close()


def locations(service: Service) -> list[str]:
    """Where the finished files are."""
    return [file["location"] for job in service.jobs() for file in job["files"]]


def day(service: Service, verdict: Verdict, endpoint: str = "") -> None:
    """Three recordings at the same time, and what is told of them."""
    stage = service.stage
    ann = stage.publisher("ann", "--size", "320x180", colour="red", room="demand")
    bob = stage.publisher("bob", "--size", "320x180", colour="green", room="demand")
    dan = stage.publisher("dan", "--size", "320x180", colour="yellow", room="planned")
    cleo = stage.publisher("cleo", "--size", "320x180", colour="blue", room="lesson-1")
    service.worker()
    service.worker()
    for person in (ann, bob, dan, cleo):
        person.event("ready", timeout=30)
    last = len(service.ports) - 1

    # By a schedule: from a little before the time on, for six seconds after it.
    fire = int(time.time()) + 9
    moment = datetime.datetime.fromtimestamp(fire, datetime.UTC).isoformat()
    planned = service.ask("schedule", "add", "planned", "--at", moment, "--lead-time", "3s", "--length", "6s", "--size",
                          "640x360", "--webhook", service.receiver.url)
    verdict.check(service.ask("schedule", "next", planned, backend=last) == moment.replace("+00:00", "Z"),
                  "the schedule's next time is not the one that was given")
    # Because a room begins.
    rule = service.ask("schedule", "add", "--when-room", "lesson-*", "--stop-when-empty", "2s", "--size", "640x360",
                       "--webhook", service.receiver.url)
    dan.join()
    # On demand; the same key makes no second job, and another request under the same key is refused.
    ann.join()
    bob.join()
    ann.tell("talk")
    words = ["jobs", "submit", "demand", "--layout", "grid", "--size", "640x360", "--key", "first", "--metadata",
             "ticket=42", "--webhook", service.receiver.url]
    demand = service.ask(*words)
    verdict.check(service.ask(*words, backend=last) == demand, "the same key made a second job")
    complaint = service.ask(*[*words, "--max-duration", "1h"], status=46)
    verdict.check("Idempotency-Key" in complaint, f"the same key with another request: {complaint}")
    watch = stage.start(Process("watch", [stage.recbot, "jobs", "watch", demand], stage.folder, service.caller(last)))
    cleo.join()
    began = time.time()
    service.reaches(demand, {"running"})
    verdict.figure(f"on demand recorded after {time.time() - began:.1f} s")
    for worker in service.workers:
        for process in service.processes(worker):
            shown = service.secrets_shown(process, [SECRET, service.common["RECBOT_WORKER_SECRET"], service.key,
                                                    "interop-secret"])
            verdict.check(not shown, f"the process {process} of {worker.name} shows {len(shown)} secrets")
    now = stage.until(time.time() + 3.0)
    told = command(service, demand, "layout", "speaker", backend=last)
    now = stage.until(time.time() + 2.5)
    command(service, demand, "marker", "Here")
    command(service, demand, "title", "The talk")
    refused = service.ask("jobs", "control", demand, "gird", status=64)
    verdict.check("there is no command" in refused, f"an unknown command: {refused}")
    stage.until(time.time() + 1.0)
    stopped = time.time()
    service.ask("jobs", "control", demand, "stop")

    # The room that began by itself is over when nobody is left in it.
    [lesson] = service.wait(lambda: service.jobs("--room", "lesson-1"), "no job was made for the room that began")
    verdict.check(lesson["origin"]["schedule"] == rule, f"the lesson's origin is {lesson['origin']}")
    service.reaches(lesson["id"], {"running", "reconnecting"})
    stage.until(max(time.time(), fire + 2.0))
    cleo.tell("leave", "left")
    [fired] = service.wait(lambda: service.jobs("--room", "planned"), "the schedule made no job")
    done = {}
    for name, job in (("demand", demand), ("lesson", lesson["id"]), ("planned", fired["id"])):
        done[name] = service.reaches(job, {"completed", "failed", "cancelled"}, 30)
        verdict.check(done[name]["state"] == "completed", f"{name}: {done[name]['state']} {done[name].get('error')}")
    verdict.check(watch.exit(5) == 0, f"watch ended with {watch.status}: {watch.tail()}")
    if any(not job["files"] for job in done.values()):
        return
    verdict.check(watch.output[-1] == done["demand"]["files"][0]["location"], "watch does not end with the file")

    files = {name: fetch(service, job, endpoint, verdict) for name, job in done.items()}
    judge_demand(files["demand"], (ann, bob), told, stopped, verdict)
    recording = Recording.load(str(files["planned"]))
    continuous(recording, verdict)
    verdict.timely(recording.zero <= fire, f"the scheduled recording begins {ms(recording.zero - fire)} late")
    verdict.check(abs(recording.zero + recording.duration - fire - 6) <= 1.5, "the scheduled recording is over "
                  f"{recording.zero + recording.duration - fire:.1f} s after its time instead of 6")
    in_step(recording, [dan], 1.5 - recording.zero % 1 + 1, recording.duration - 0.5, verdict)
    recording = Recording.load(str(files["lesson"]))
    continuous(recording, verdict)
    verdict.check(recording.areas(cleo.colour).max() > 0.3, "the lesson does not show who was there")
    verdict.figure(f"lesson {recording.duration:.1f} s")
    told_of(service, done, verdict)


def command(service: Service, job: str, verb: str, argument: str, backend: int = 0) -> float:
    """Commands a recording; gives the time at which it was told."""
    told = time.time()
    service.ask("jobs", "control", job, verb, argument, backend=backend)
    return told


def fetch(service: Service, job: dict, endpoint: str, verdict: Verdict) -> pathlib.Path:
    """The finished file, of the size and with the checksum that the backend tells."""
    [file] = job["files"]
    path = pathlib.Path(file["location"])
    if endpoint:
        where = file["location"]
        key = where.partition("/recordings/")[2] if "://" in where else where
        verdict.check(key.startswith("talks/"), f"{where} is not under the prefix")
        path = service.stage.folder / f"{job['id']}.webm"
        store = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", aws_access_key_id="interop",
                             aws_secret_access_key="interop-secret")
        store.download_file("recordings", key, str(path))
    data = path.read_bytes()
    verdict.check(len(data) == file["size"], f"{path}: {len(data)} bytes instead of {file['size']}")
    if file.get("sha256"):
        verdict.check(hashlib.sha256(data).hexdigest() == file["sha256"], f"{path}: the checksum is another one")
    return path


def judge_demand(path: pathlib.Path, people: tuple, told: float, stopped: float, verdict: Verdict) -> None:
    """Grid until the command, the talker large after it, the chapter, the title, the length."""
    ann, bob = people
    recording = Recording.load(str(path))
    continuous(recording, verdict)
    change = told - recording.zero
    in_step(recording, list(people), 1.5 - recording.zero % 1, change - 0.3, verdict)
    before = recording.areas(ann.colour, 1.0, change - 0.2)
    verdict.check(before.size > 0 and alike(before, recording.areas(bob.colour, 1.0, change - 0.2)),
                  "the tiles of the grid are not of one size")
    ratio = recording.areas(ann.colour) > 2.0 * recording.areas(bob.colour)
    seen = recording.turns(ratio, change - 0.2, lasting=0.5) - change
    verdict.timely(-0.1 <= seen <= 2.5, f"the layout is another one {ms(seen)} after the command")
    verdict.figure(f"layout changed after {ms(seen)}")
    verdict.check(any(text == "Here" for _, text in chapters(path)), f"chapters: {chapters(path)}")
    verdict.check(title(path) == "The talk", f"the title is {title(path)!r}")
    late = recording.zero + recording.duration - stopped
    verdict.timely(-0.2 <= late <= 3.0, f"the recording ends {late:.1f} s after it was stopped")
    verdict.figure(f"stopped after {late:.1f} s")


def alike(one, other) -> bool:
    """True when two colours cover about the same share of the pictures, flashes aside."""
    return abs(sorted(one)[len(one) // 2] - sorted(other)[len(other) // 2]) < 0.05


def told_of(service: Service, done: dict[str, dict], verdict: Verdict) -> None:
    """What webhooks, lists and metrics say of the jobs."""
    receiver = service.receiver
    for name, job in done.items():
        service.wait(lambda job=job: "job.completed" in receiver.told(job["id"]),
                     f"{name}: no webhook of the end, but {receiver.told(job['id'])}")
        kinds = receiver.told(job["id"])
        verdict.check(kinds[:2] == ["job.created", "job.started"] and kinds[-1] == "job.completed"
                      and kinds.count("job.completed") == 1, f"{name}: webhooks {kinds}")
    verdict.check(not receiver.faults, f"webhooks: {receiver.faults}")
    verdict.check(done["demand"]["request"]["metadata"] == {"ticket": "42"}, "the job's metadata are not what was given")
    for backend in range(len(service.ports)):
        metrics = service.metrics(backend)
        verdict.check(metrics.get('recbot_jobs{state="completed"}') == 3 and metrics.get("recbot_workers") == 2,
                      f"metrics: {({key: value for key, value in metrics.items() if 'http' not in key})}")
    workers = {part["worker"] for job in done.values() for part in job["parts"]}
    verdict.figure(f"{len(receiver.messages)} webhooks, {len(workers)} workers at work")
    for worker in service.workers:
        verdict.check(service.drained(worker) == 0, f"{worker.name} ended with {worker.status}: {worker.tail()}")
