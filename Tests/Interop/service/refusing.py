"""What a service refuses, to whoever asked for it: commands, jobs, settings, receivers; and what it says of the rest."""

import json
import time
import urllib.error
import urllib.request

from judge import Recording
from service.desk import Service
from service.losses import begin
from service.starting import run
from stage import KEY, SECRET, Stage, free_port
from verdict import Verdict


def refused(stage: Stage, verdict: Verdict) -> None:
    """Commands that can't be carried out are refused, and a recording that crashes goes on with what worked last."""
    layouts = stage.folder / "layouts"
    layouts.mkdir()
    # A worker knows its name; that it is of no use only the recorder sees.
    (layouts / "broken.yaml").write_text("scenes: 7\n", encoding="utf-8")
    service = Service(stage, settings={"RECBOT_LAYOUTS_DIR": str(layouts)})
    try:
        worker = service.worker()
        _, job = begin(service)
        for argument, status, words in (("nosuch", 64, "no worker knows a layout 'nosuch'"),
                                        ("speker", 64, "did you mean 'speaker'"), ("broken", 46, "broken.yaml")):
            told = service.ask("jobs", "control", job, "layout", argument, status=status)
            verdict.check(words in told, f"layout {argument}: {told}")
        told = service.ask("jobs", "control", job, "pause", "slat", status=64)
        verdict.check("did you mean 'slate'" in told, f"pause slat: {told}")
        service.ask("jobs", "control", job, "layout", "speaker")
        service.ask("jobs", "control", job, "layout", "broken", status=46)
        before = service.job(job)
        verdict.check(not before["commands"] and before["steering"].get("layout") == "speaker",
                      f"kept: {before['commands']} {before['steering']}")
        verdict.check([entry["argument"] for entry in before["refusals"]] == ["broken", "broken"],
                      f"refusals: {before['refusals']}")
        stage.until(time.time() + 2)
        for process in service.processes(worker):
            service.kill(process)
        service.wait(lambda: len(service.job(job)["parts"]) == 2, lambda: f"no second part: {service.job(job)}")
        service.reaches(job, {"running"})
        stage.until(time.time() + 2)
        service.ask("jobs", "control", job, "stop")
        done = service.reaches(job, {"completed", "failed", "cancelled"}, 40)
        verdict.check(done["state"] == "completed" and not done["incomplete"] and "error" not in done,
                      f"{done['state']}: {done.get('error')}")
        service.ask("jobs", "watch", job)
        told = service.ask("jobs", "control", job, "layout", "grid", status=46)
        verdict.check("over" in told, f"after the end: {told}")
        # What can't succeed fails at once.
        broken = service.ask("jobs", "submit", "room", "--layout", "broken")
        done_at_once = service.reaches(broken, {"failed", "completed", "cancelled"})
        verdict.check(done_at_once["state"] == "failed" and done_at_once["attempt"] == 1
                      and "broken.yaml" in done_at_once["error"]["message"], f"a broken layout: {done_at_once}")
        hidden = {"fence", "lease", "command_sequence", "setbacks"} & set(done)
        verdict.check(not hidden, f"callers see {hidden}")
        alarms = [line for line in worker.errors.splitlines() if "no sign of life" in line]
        verdict.check(not alarms, f"false alarms: {alarms}")
    finally:
        service.close()


def able(stage: Stage, verdict: Verdict) -> None:
    """A job for the store is never given to a worker without one, and says what it waits for."""
    service = Service(stage)
    try:
        service.worker()
        store = service.ask("jobs", "submit", "room", "--to", "s3")
        local = service.ask("jobs", "submit", "none", "--wait-for-room", "60s")
        # The one behind it is taken.
        service.wait(lambda: service.job(local)["attempt"] == 1, lambda: f"not taken: {service.job(local)}")
        waiting = service.job(store)
        verdict.check(waiting["state"] == "queued" and waiting["attempt"] == 0, f"given to a worker: {waiting}")
        shown = service.ask("jobs", "show", store)
        verdict.check("waits for" in shown and "a store" in shown, f"show: {shown}")
        for job in (store, local):
            service.ask("jobs", "cancel", job)
            done = service.reaches(job, {"completed", "failed", "cancelled"})
            events = [event["job"]["state"] for event in events_of(service, job)]
            verdict.check(done["state"] == "cancelled" and "queued" not in events[1:], f"cancelled: {events}")
    finally:
        service.close()


def events_of(service: Service, job: str) -> list[dict]:
    """What happened to a job."""
    return ask(service, "GET", f"/v1/jobs/{job}/events")[1]["events"]


def ask(service: Service, method: str, path: str, body: dict | None = None) -> tuple[int, dict]:
    """Status and body of an answer of the first backend."""
    request = urllib.request.Request(
        service.url() + path, method=method, data=None if body is None else json.dumps(body).encode(),
        headers={"Authorization": f"Bearer {service.key}", "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or b"null")


def receivers(stage: Stage, verdict: Verdict) -> None:
    """Webhooks that can never be sent are refused at the start; those that nobody takes are told of; receivers are tried."""
    for settings, words in (({"RECBOT_WEBHOOK_URLS": "https://example.com/hook"}, "RECBOT_WEBHOOK_SECRET"),
                            ({"RECBOT_WEBHOOK_URLS": "http://example.com/hook", "RECBOT_WEBHOOK_FORM": "livekit"},
                             "not encrypted")):
        for command in (("serve", "--port", "0", "--data-dir", str(stage.folder / "none")), ("config", "check")):
            done = run(stage, *command, **settings)
            verdict.check(done.returncode == 64 and words in done.stderr,
                          f"{' '.join(command[:2])} {settings}: {done.returncode} {done.stderr.strip()}")
    service = Service(stage)
    try:
        taken = service.ask("webhooks", "test", service.receiver.url)
        verdict.check("took it" in taken and [m["body"]["type"] for m in service.receiver.messages] == ["webhook.test"]
                      and not service.receiver.faults, f"{taken} {service.receiver.messages} {service.receiver.faults}")
        dead = f"http://127.0.0.1:{free_port()}/hook"
        told = service.ask("webhooks", "test", dead, status=49)
        verdict.check("did not take it" in told, f"a receiver that is not there: {told}")
        job = service.ask("jobs", "submit", "room", "--webhook", dead)
        found = service.wait(lambda: service.job(job).get("undelivered_webhooks"), "the job says nothing of its webhook")
        verdict.check(found[0]["url"] == dead and found[0]["event"] == "job.created" and not found[0]["given_up"],
                      f"undelivered: {found}")
        verdict.check("job.created to " + dead in service.ask("jobs", "show", job), "show says nothing of the webhook")
        verdict.check(service.metrics().get('recbot_webhook_attempts_total{result="retried"}', 0) >= 1,
                      "the metrics don't count it")
    finally:
        service.close()


WRONG = (
    (("jobs", "submit", "room", "--layout", "gird"), "did you mean 'grid'"),
    (("jobs", "submit", "room", "--at", "2020-01-01T00:00:00Z"), "lies in the past"),
    (("jobs", "submit", "room", "-o", "talk.mp4"), "must end in .webm"),
    (("jobs", "submit", "room", "--to", "s4"), "did you mean 's3'"),
    (("jobs", "submit", "room", "--webhook", "https://h", "--webhook-form", "xml"), "known: standard, livekit"),
    (("schedule", "add", "room", "--at", "2020-01-01T00:00:00Z"), "lies in the past"),
    (("schedule", "add", "room", "--cron", "0 0 30 2 *"), "never fires"),
    (("schedule", "add", "room", "--cron", "@daily", "--layout", "gird"), "did you mean 'grid'"),
    (("join", "room", "--layout", "gird"), "did you mean 'grid'"),
    (("join", "room", "--output", "talk.mp4"), "must end in .webm"),
    *(((*command, "--processor", "Ann=pixelat"), "there is no processor 'pixelat'; did you mean 'pixelate'?")
      for command in (("join", "room"), ("jobs", "submit", "room"), ("schedule", "add", "room", "--cron", "@daily"))),
)
UNKNOWN = (
    ("/v1/jobs", {"room": "r", "laoyut": "grid"}, "laoyut: is no field of this; did you mean 'layout'?"),
    ("/v1/jobs", {"room": "r", "outputs": [{"pth": "x.webm"}]}, "outputs[0].pth: is no field of this"),
    ("/v1/jobs", {"room": "r", "outputs": [{"destination": "s4"}]}, "did you mean 's3'"),
    ("/v1/jobs", {"room": "r", "processors": ["Ann=pixelat"]}, "processors[0]: there is no processor 'pixelat'; did you mean 'pixelate'?"),
    ("/v1/jobs", {"room": "r", "sinks": [{"audio": "mixed", "url": "http://x"}]}, "sinks[0].url: ws:// or wss://"),
    ("/v1/jobs", {"room": "r", "sinks": [{"audio": "mixed", "url": "ws://x", "framing": "y4m"}]}, "there is no framing 'y4m'"),
    ("/v1/schedules", {"trigger": {"corn": "@daily"}, "request": {"room": "r"}}, "did you mean 'cron'"),
    ("/v1/tokens", {"room": "r", "identity": "i", "can_pubish": True}, "did you mean 'can_publish'"),
)


def wishes(stage: Stage, verdict: Verdict) -> None:
    """The same mistake has the same answer in join, jobs, schedules and the API."""
    service = Service(stage)
    try:
        way_in = {"LIVEKIT_URL": stage.url, "LIVEKIT_API_KEY": "devkey", "LIVEKIT_API_SECRET": "secret"}
        for command, words in WRONG:
            done = run(stage, *command, **service.caller(), **way_in)
            verdict.check(done.returncode == 64 and words in done.stderr,
                          f"{' '.join(command)}: {done.returncode} {done.stderr.strip()}")
        for path, body, words in UNKNOWN:
            status, answer = ask(service, "POST", path, body)
            verdict.check(status == 400 and words in answer["error"]["message"], f"{body}: {status} {answer}")
        job = service.job(service.ask("jobs", "submit", "room", "-o", "talks/", "--track", "TR_1", "--max-duration", "1h"))
        verdict.check(job["request"]["outputs"][0]["path"] == "talks/" and job["request"]["selection"]["tracks"] == ["TR_1"]
                      and job["request"]["max_duration_seconds"] == 3600, f"request: {job['request']}")
        schedule = service.ask("schedule", "add", "room", "--cron", "@daily", "--lead-time", "5s")
        service.ask("schedule", "disable", schedule)
        shown = service.ask("schedule", "show", schedule)
        verdict.check("off" in shown and "5 s" in shown, f"disabled: {shown}")
        service.ask("schedule", "enable", schedule)
        found = json.loads(service.ask("schedule", "show", schedule, "--json"))
        verdict.check(found["enabled"] and found["next_fire"] and found["lead_time_seconds"] == 5, f"enabled: {found}")
        verdict.figure(f"{len(WRONG) + len(UNKNOWN)} refusals")
    finally:
        service.close()


def nobody(stage: Stage, verdict: Verdict) -> None:
    """A recording of the wrong room says that nobody is there, and where people are."""
    stage.server()
    ann = stage.publisher("ann", "--size", "320x180", colour="red", room="right")
    ann.event("ready", timeout=30)
    ann.join()
    done = run(stage, "join", "wrong", "--stop-when-empty", "2s", "-o", str(stage.folder) + "/", "--progress", "plain",
               LIVEKIT_URL=stage.url, LIVEKIT_API_KEY=KEY, LIVEKIT_API_SECRET=SECRET)
    verdict.check(done.returncode == 0 and "Nobody is in the room 'wrong'; there are people in: right." in done.stderr,
                  f"{done.returncode} {done.stderr}")
    verdict.check(done.stdout.strip().startswith(f"{stage.folder}/wrong-"), f"the file: {done.stdout}")


def sealed(stage: Stage, verdict: Verdict) -> None:
    """A job of an encrypted room waits for a worker with the key that it names, and records the room; no key is in the queue."""
    folder = stage.folder / "keys"
    folder.mkdir()
    phrase = "correct horse battery staple"
    service = Service(stage, settings={"RECBOT_E2EE_KEYS_DIR": str(folder)})
    try:
        service.worker()
        ann = stage.publisher("ann", "--size", "320x180", "--e2ee", phrase, colour="red", room="room")
        ann.join()
        told = service.ask("jobs", "submit", "room", "--e2ee-key", "../lesson", status=64)
        verdict.check("e2ee_key: 1 to 128 of" in told, f"a path for a name: {told}")
        job = service.ask("jobs", "submit", "room", "--size", "640x360", "--e2ee-key", "lesson")
        shown = service.wait(lambda: "waits for" in (text := service.ask("jobs", "show", job)) and text, "it waits for nothing")
        verdict.check("the key 'lesson'" in shown and service.job(job)["attempt"] == 0, f"without the key: {shown}")
        # The operator brings the key; nobody starts the worker again.
        key = folder / "lesson"
        key.touch(mode=0o600)
        key.write_text(phrase)
        service.reaches(job, {"running"})
        stage.until(time.time() + 4)
        service.ask("jobs", "control", job, "stop")
        done = service.reaches(job, {"completed", "failed", "cancelled"}, 40)
        if verdict.check(done["state"] == "completed", f"{done['state']}: {done.get('error')}"):
            recording = Recording.load(done["files"][0]["location"])
            seen = recording.tile(ann.colour, recording.duration - 1)
            verdict.check(seen is not None, "ann is not seen")
        kept = (service.data / "recbot.sqlite").read_bytes() + "".join(p.errors for p in service.backends).encode()
        verdict.check(phrase.encode() not in kept, "the key is in the queue or in its log")
    finally:
        service.close()
