"""The backend against its own description, by schemathesis: thousands of requests made from openapi.yaml, right ones
and wrong ones. No answer is a fault of the server's (5xx) or other than described, what is wrong is refused, and
nothing that needs a credential goes without."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import warnings

import jwt
import jwt.warnings

from service.backend import PATIENCE as ENDING, WORKER_SECRET, Backend, token
from stage import Stage
from verdict import Verdict

ROOT = pathlib.Path(__file__).parents[3]
SEED = 1914
EXAMPLES = 15
# What is wrong may be refused with any 4xx: a body that is too long by its text is so by its bytes (413) before that.
# Of the Egress API, 501 is the answer to what it does not do, as Twirp has it. An event is any object that is vouched
# for: what is wrong with one is its signature, and those that are good here are signed.
CONFIGURATION = """
[checks]
negative_data_rejection.expected-statuses = ["4xx", "501"]

[[operations]]
include-tag = "egress"
checks.not_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "501"]

[[operations]]
include-path = "/webhooks/livekit"
checks.negative_data_rejection.expected-statuses = ["200", "4xx"]
"""
# Seconds for everything.
PATIENCE = 240
CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
          "response_schema_conformance", "negative_data_rejection", "missing_required_header", "unsupported_method",
          "allow_header_conformance", "ignored_auth"]


def ask(url: str, folder: pathlib.Path) -> subprocess.CompletedProcess:
    """Lets schemathesis ask; its exit code and what it says."""
    # The secret that a room server has unless told otherwise is short.
    warnings.filterwarnings("ignore", category=jwt.warnings.InsecureKeyLengthWarning)
    recorder = {"iss": "devkey", "exp": int(time.time()) + 3600, "video": {"roomRecord": True}}
    credentials = {
        "caller": token(), "worker": WORKER_SECRET, "key": "devkey", "secret": "secret",
        "roomService": jwt.encode(recorder, "secret", algorithm="HS256")}
    program = pathlib.Path(sys.executable).with_name("schemathesis")
    configuration = pathlib.Path(folder, "schemathesis.toml")
    configuration.write_text(CONFIGURATION, encoding="utf-8")
    command = [
        str(program), "--config-file", str(configuration), "run", str(ROOT / "Sources/Backend/openapi.yaml"),
        "--url", url, "--seed", str(SEED),
        "--phases", "examples,coverage,fuzzing", "--max-examples", str(EXAMPLES),
        "--checks", ",".join(CHECKS), "--request-timeout", "20", "--continue-on-failure", "--no-shrink",
        "--generation-database", "none", "--workers", "1", "--output-sanitize", "true"]
    environment = os.environ | {
        "SCHEMATHESIS_HOOKS": "service.schema_hooks", "PYTHONPATH": str(ROOT / "Tests/Interop"),
        "PYTHONWARNINGS": "ignore", "RECBOT_TEST_CREDENTIALS": json.dumps(credentials)}
    return subprocess.run(command, cwd=folder, env=environment, timeout=PATIENCE, check=False, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def schema(stage: Stage, verdict: Verdict) -> None:
    """One backend over SQLite, asked from all sides; afterwards it still works, and ends well."""
    check = verdict.holds
    with Backend(stage) as backend:
        done = ask(backend.url, stage.folder)
        status, _ = backend.ask("GET", "/v1/jobs")
        backend.process.send(signal.SIGTERM)
        ended = backend.process.exit(ENDING)
    faults = [line for line in [*backend.process.output, *backend.process.errors.splitlines()] if " error " in line]
    check(done.returncode == 0, f"every answer is as described (seed {SEED})\n{done.stdout[-8000:]}")
    check(status == 200 and ended == 0, "the backend works as before, and ends well")
    check(not faults, f"nothing stands in its log as a fault {faults[:3]}")
    # "Test cases: 1914 generated, 1914 passed" or the like: what it says last of how much it did.
    verdict.figure(next((line.strip() for line in reversed(done.stdout.splitlines()) if "generated" in line), ""))


SCENARIOS = {scenario.__name__: scenario for scenario in (schema,)}
