"""The backend against its own description, by schemathesis: thousands of requests made from openapi.yaml, right ones
and wrong ones. No answer is a fault of the server's (5xx) or other than described, what is wrong is refused, and
nothing that needs a credential goes without. RECBOT names the program."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import jwt

import backend_test

ROOT = pathlib.Path(__file__).parents[2]
SEED = 1914
EXAMPLES = 15
# Of the Egress API, 501 is the answer to what it does not do, as Twirp has it. An event is any object that is vouched
# for: what is wrong with one is its signature, and those that are good here are signed.
CONFIGURATION = """
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


def check(url: str, folder: str) -> int:
    """Lets schemathesis ask; its exit code."""
    recorder = {"iss": "devkey", "exp": int(time.time()) + 3600, "video": {"roomRecord": True}}
    credentials = {
        "caller": backend_test.token(), "worker": backend_test.WORKER_SECRET, "key": "devkey", "secret": "secret",
        "roomService": jwt.encode(recorder, "secret", algorithm="HS256")}
    program = pathlib.Path(sys.executable).with_name("schemathesis")
    configuration = pathlib.Path(folder, "schemathesis.toml")
    configuration.write_text(CONFIGURATION, encoding="utf-8")
    command = [
        str(program), "--config-file", str(configuration), "run", str(ROOT / "Sources/Backend/openapi.yaml"),
        "--url", url, "--seed", str(SEED),
        "--phases", "examples,coverage,fuzzing", "--max-examples", str(EXAMPLES),
        "--checks", ",".join(CHECKS), "--request-timeout", "20", "--continue-on-failure", "--no-shrink",
        "--generation-database", "none", "--workers", "1", "--output-sanitize", "true"] + sys.argv[1:]
    environment = os.environ | {
        "SCHEMATHESIS_HOOKS": "service.schema_hooks", "PYTHONPATH": str(ROOT / "Tests/Interop"),
        "PYTHONWARNINGS": "ignore", "RECBOT_TEST_CREDENTIALS": json.dumps(credentials)}
    return subprocess.run(command, cwd=folder, env=environment, timeout=PATIENCE, check=False).returncode


def main() -> int:
    """One backend over SQLite, asked from all sides; afterwards it still works, and ends well."""
    with tempfile.TemporaryDirectory(prefix="recbot-schema-") as folder, contextlib.ExitStack() as stack:
        backend = stack.enter_context(backend_test.Backend(folder))
        log: list[str] = []
        reader = threading.Thread(target=lambda: log.extend(backend.process.stdout), daemon=True)
        reader.start()
        code = check(backend.url, folder)
        status, _ = backend.ask("GET", "/v1/jobs")
        backend.process.terminate()
        ended = backend.process.wait(timeout=backend_test.PATIENCE)
        reader.join()
    faults = [line for line in log if " error " in line]
    backend_test.check(code == 0, f"every answer is as described (seed {SEED})")
    backend_test.check(status == 200 and ended == 0, "the backend works as before, and ends well")
    backend_test.check(not faults, f"nothing stands in its log as a fault {faults[:3]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
