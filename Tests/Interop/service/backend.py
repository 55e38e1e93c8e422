"""`recbot serve` from outside: the description of its API is valid OpenAPI and true, two backends over one PostgreSQL
are one, and a backend that ends answers what it was asked."""

import base64
import concurrent.futures
import hashlib
import hmac
import json
import pathlib
import secrets
import signal
import subprocess
import time
import urllib.error
import urllib.request

import openapi_spec_validator
import yaml
from openapi_spec_validator import validate

from service import postgres
from stage import Stage
from verdict import Verdict

API_SECRET = secrets.token_hex(32)
WORKER_SECRET = secrets.token_hex(32)
PATIENCE = 30


def part(value: dict | bytes) -> str:
    """A part of a JWT."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(name: str = "ann", grants: tuple[str, ...] = ("admin",)) -> str:
    """A caller's JWT."""
    text = part({"alg": "HS256", "typ": "JWT"}) + "." + part(
        {"sub": name, "exp": int(time.time()) + 600, "recbot": {"grants": list(grants)}})
    return text + "." + part(hmac.digest(API_SECRET.encode(), text.encode(), hashlib.sha256))


class Backend:
    """A backend in a process of its own. A context manager."""

    def __init__(self, stage: Stage, *options: str):
        data = stage.folder / "data"
        data.mkdir(mode=0o700, exist_ok=True)
        self.process, self.url = stage.backend(
            "--data-dir", str(data), *options, RECBOT_API_SECRET=API_SECRET, RECBOT_WORKER_SECRET=WORKER_SECRET)

    def __enter__(self) -> "Backend":
        return self

    def __exit__(self, *_) -> None:
        self.process.close()

    def ask(self, method: str, path: str, body: dict | None = None, credential: str | None = None, **headers: str):
        """Status and body of an answer."""
        request = urllib.request.Request(
            self.url + path, method=method, data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {credential or token()}", "Content-Type": "application/json",
                     **{name.replace("_", "-"): value for name, value in headers.items()}})
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                text = answer.read()
                return answer.status, json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null")

    def claim(self, worker: str, count: int = 1, wait: int = 0):
        """What a worker is given."""
        status = {"running": 0, "capacity": 4, "cores": 0, "memory": 0, "draining": False}
        return self.ask("POST", "/v1/workers/claim", {"worker": worker, "count": count, "wait": wait, "status": status},
                        WORKER_SECRET)


def description(stage: Stage, verdict: Verdict) -> None:
    """The committed description is valid, and what is served."""
    check = verdict.holds
    with Backend(stage) as backend:
        with urllib.request.urlopen(backend.url + "/openapi.yaml", timeout=PATIENCE) as answer:
            text = answer.read().decode()
        committed = pathlib.Path(__file__).parents[3] / "Sources" / "Backend" / "openapi.yaml"
        check(text == committed.read_text(encoding="utf-8"), "the committed description is served")
        document = yaml.safe_load(text)
        validate(document)
        verdict.figure(f"{len(document['paths'])} paths, openapi-spec-validator {openapi_spec_validator.__version__}")
        for path, operations in document["paths"].items():
            for method in set(operations) & {"get", "post", "delete"}:
                status, _ = raw(backend, method.upper(), path.replace("{id}", "none"))
                # Without a credential a described path is there (401), or open.
                verdict.check(status in (200, 401), f"{method} {path}: {status}")


def raw(backend: Backend, method: str, path: str) -> tuple[int, bytes]:
    """An answer to a request without any credential."""
    request = urllib.request.Request(backend.url + path, method=method, data=b"{}" if method == "POST" else None)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def ending(stage: Stage, verdict: Verdict) -> None:
    """SIGTERM: what is held is answered, the process ends well, and everything is there afterwards."""
    check, folder = verdict.holds, stage.folder
    with Backend(stage) as backend, concurrent.futures.ThreadPoolExecutor(2) as pool:
        _, job = backend.ask("POST", "/v1/jobs", {"room": "kept"})
        held = pool.submit(backend.ask, "GET", f"/v1/jobs/{job['id']}/events?after=1000000&wait=50")
        claim = pool.submit(backend.claim, "w", 0)
        claim.result()
        time.sleep(0.5)
        started = time.monotonic()
        backend.process.send(signal.SIGTERM)
        status, page = held.result(timeout=PATIENCE)
        code = backend.process.exit(PATIENCE)
        check(status == 200 and page["events"] == [], "a held request is answered when the backend ends")
        check(code == 0 and time.monotonic() - started < 10, "the backend ends within 10 s, with exit code 0")
    with Backend(stage) as backend:
        status, found = backend.ask("GET", f"/v1/jobs/{job['id']}")
        check(status == 200 and found["state"] == "queued", "the job is there after a restart")
        other = subprocess.run([stage.recbot, "serve", "--port", backend.url.rsplit(":", 1)[1],
                                "--database", f"sqlite:{folder}/other.sqlite"],
                               cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)
        check(other.returncode == 43 and "cannot listen" in other.stderr, "a port that is taken is said: exit code 43")


def fleet(stage: Stage, verdict: Verdict) -> None:
    """Two backends over one PostgreSQL: submitted here, seen there; repeated at both, made once; claimed once."""
    check = verdict.holds
    with (postgres.Postgres() as server, Backend(stage, "--database", server.address) as one,
          Backend(stage, "--database", server.address) as two):
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            def submit(index: int):
                backend = (one, two)[index % 2]
                return backend.ask("POST", "/v1/jobs", {"room": f"r{index // 4}"}, Idempotency_Key=f"k{index // 4}")
            answers = list(pool.map(submit, range(200)))
            made = {answer["id"] for status, answer in answers if status in (200, 201)}
            check(len(made) == 50 and sum(status == 201 for status, _ in answers) == 50,
                  "200 requests with 50 keys at two backends make 50 jobs")
            claims = list(pool.map(lambda index: (one, two)[index % 2].claim(f"w{index}", 3), range(40)))
        taken = [entry["job"]["id"] for _, answer in claims for entry in answer["assignments"]]
        check(sorted(taken) == sorted(made), "each job is given to one worker, whichever backend it asks")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            held = pool.submit(two.claim, "waiting", 1, 10)
            events = pool.submit(two.ask, "GET", "/v1/events?after=1000000&wait=1")
            time.sleep(0.5)
            started = time.monotonic()
            _, job = one.ask("POST", "/v1/jobs", {"room": "late"})
            _, answer = held.result(timeout=PATIENCE)
            events.result(timeout=PATIENCE)
            check([entry["job"]["id"] for entry in answer["assignments"]] == [job["id"]],
                  f"a claim held at one backend gets what the other is asked, {time.monotonic() - started:.2f} s later")
        fence = answer["assignments"][0]["job"]["fence"]
        report = {"fence": fence, "report": {"state": "running", "confirmed": 0, "recorded": False}}
        status, beat = one.ask("POST", f"/v1/workers/jobs/{job['id']}/beat", report, WORKER_SECRET)
        check(status == 200 and beat["job"]["state"] == "running", "a heartbeat may go to the other backend")
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            held = pool.submit(two.ask, "POST", f"/v1/workers/jobs/{job['id']}/beat?wait=10", report, WORKER_SECRET)
            time.sleep(0.5)
            started = time.monotonic()
            one.ask("POST", f"/v1/jobs/{job['id']}/commands?wait=0", {"verb": "layout", "argument": "speaker"})
            _, beat = held.result(timeout=PATIENCE)
            passed = time.monotonic() - started
            check([entry["argument"] for entry in beat["job"]["commands"]] == ["speaker"] and passed < 5,
                  f"a heartbeat held at one backend hears what the other is told, {passed:.2f} s later")
        report["fence"] = fence - 1
        status, refusal = two.ask("POST", f"/v1/workers/jobs/{job['id']}/beat", report, WORKER_SECRET)
        check(status == 409 and refusal["error"]["code"] == "fenced", "an older fencing number is refused by both")
        seen, after = [], ""
        while True:
            _, page = (one, two)[len(seen) % 2].ask("GET", f"/v1/jobs?limit=7{after}")
            seen += [entry["id"] for entry in page["jobs"]]
            if "next" not in page:
                break
            after = f"&after={page['next']}"
        check(len(seen) == 51 and len(set(seen)) == 51, "pages from two backends together are everything once")


SCENARIOS = {scenario.__name__: scenario for scenario in (description, ending, fleet)}
