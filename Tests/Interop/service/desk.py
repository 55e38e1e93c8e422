"""A whole service: room server, backends, workers, and the command line as its client."""

import base64
import contextlib
import json
import os
import pathlib
import re
import secrets
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable

from service.receiver import Receiver
from stage import KEY, SECRET, Failed, Process, Stage, free_port

PATIENCE = 20.0


class Service:
    """Backends and workers on a stage, and what one asks them. Everything is ended with the stage."""

    def __init__(self, stage: Stage, database: str = "", settings: dict[str, str] | None = None, backends: int = 1,
                 room_options: tuple[str, ...] = ()):
        self.stage = stage
        self.data = stage.folder / "data"
        self.data.mkdir(mode=0o700, exist_ok=True)
        self.hook_secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
        self.receiver = Receiver(self.hook_secret)
        self.ports = [free_port() for _ in range(backends)]
        self.database = database or f"sqlite:{self.data}/recbot.sqlite"
        self.common = {"RECBOT_DATA_DIR": str(self.data), "RECBOT_WORKER_SECRET": secrets.token_hex(32),
                       "RECBOT_PRIVATE_ADDRESSES": "allow"} | (settings or {})
        # The room server tells the first backend of rooms that begin.
        stage.server("0", "--webhook", f"{self.url()}/webhooks/livekit", *room_options)
        self.backends: list[Process] = []
        for index in range(backends):
            self.backends.append(self.backend(index))
        self.key = self.make_key("interop")
        self.workers: list[Process] = []

    def close(self) -> None:
        """Ends what is not a process of the stage."""
        self.receiver.close()

    def url(self, index: int = 0) -> str:
        """The address of a backend."""
        return f"http://127.0.0.1:{self.ports[index]}"

    def backend(self, index: int = 0) -> Process:
        """Starts a backend and waits until it is ready."""
        process, _ = self.stage.backend(
            "--database", self.database, name=f"backend-{index}", port=self.ports[index], LIVEKIT_URL=self.stage.url,
            LIVEKIT_API_KEY=KEY, LIVEKIT_API_SECRET=SECRET, RECBOT_WEBHOOK_SECRET=self.hook_secret, **self.common)
        self.wait(lambda: self.answers(f"{self.url(index)}/readyz"), f"backend {index} is not ready", process)
        return process

    def worker(self, *options: str, machine: int | None = None, name: str = "") -> Process:
        """Starts a worker; with several backends each has another one. `machine`: the one on which its data folder is;
        None: all share a folder."""
        index = len(self.workers)
        name = name or f"worker-{index}"
        environment = dict(self.common)
        if machine is not None:
            folder = self.stage.folder / f"machine-{machine}"
            folder.mkdir(mode=0o700, exist_ok=True)
            environment["RECBOT_DATA_DIR"] = str(folder)
        process = self.stage.run(
            name, "worker", "--backend", self.url(index % len(self.ports)), "--name", name, "--log-level",
            self.stage.log_level, *options, **environment)
        self.workers.append(process)
        return process

    def make_key(self, name: str) -> str:
        """A caller's key, made where the database is."""
        text = self.recbot("keys", "add", name, "--database", self.database, environment=self.common)
        found = re.search(r"rbk_[A-Za-z0-9_-]+", text)
        if not found:
            raise Failed(f"keys add gave no key: {text}")
        return found.group()

    def recbot(self, *arguments: str, environment: dict[str, str] | None = None, status: int = 0) -> str:
        """Runs recbot to its end; gives its standard output, or standard error when another status is expected."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("RECBOT_", "LIVEKIT_"))}
        done = subprocess.run([self.stage.recbot, *arguments], capture_output=True, text=True, timeout=PATIENCE,
                              cwd=self.stage.folder, env=clean | (environment or {}), stdin=subprocess.DEVNULL)
        if done.returncode != status:
            raise Failed(f"recbot {' '.join(arguments)}: {done.returncode} {done.stderr.strip()}")
        return done.stdout if status == 0 else done.stderr

    def ask(self, *arguments: str, backend: int = 0, status: int = 0) -> str:
        """Runs one of the commands that are clients of the backend."""
        return self.recbot(*arguments, environment=self.caller(backend), status=status).strip()

    def caller(self, backend: int = 0) -> dict[str, str]:
        """The environment of a client."""
        return {"RECBOT_BACKEND": self.url(backend), "RECBOT_API_KEY": self.key}

    def job(self, name: str, backend: int = 0) -> dict:
        """A job as the backend tells it."""
        return json.loads(self.ask("jobs", "show", name, "--json", backend=backend))

    def jobs(self, *options: str, backend: int = 0) -> list[dict]:
        """Jobs, the newest first."""
        return json.loads(self.ask("jobs", "list", "--json", *options, backend=backend))["jobs"]

    def reaches(self, name: str, states: set[str], timeout: float = PATIENCE) -> dict:
        """Waits until a job is in one of some states; gives the job."""
        return self.wait(lambda: (job := self.job(name))["state"] in states and job,
                         lambda: f"{name} is not {states}: {self.job(name)}", timeout=timeout)

    def wait(self, condition: Callable, otherwise: str | Callable[[], str], process: Process | None = None,
             timeout: float = PATIENCE):
        """Waits until something is true; gives it."""
        end = time.monotonic() + timeout
        while not (found := condition()):
            if process is not None and process.status is not None:
                raise Failed(f"{process.name} ended with {process.status}: {process.tail()}")
            if time.monotonic() > end:
                raise Failed(otherwise if isinstance(otherwise, str) else otherwise())
            time.sleep(0.1)
        return found

    @staticmethod
    def answers(url: str) -> bool:
        """True when a GET is answered with 200."""
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                return answer.status == 200
        except OSError:
            return False

    def metrics(self, backend: int = 0) -> dict[str, float]:
        """Samples of /metrics, by name and labels."""
        with urllib.request.urlopen(f"{self.url(backend)}/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if not line.startswith("#")}

    def processes(self, worker: Process) -> list[int]:
        """The recordings' processes of a worker."""
        # Each thread has a list of those that it started.
        lists = pathlib.Path(f"/proc/{worker.child.pid}/task").glob("*/children")
        return [int(child) for children in lists for child in children.read_text().split()]

    @staticmethod
    def kill(number: int) -> None:
        """SIGKILL of a recording's process, which may be gone already."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(number, signal.SIGKILL)

    @staticmethod
    def secrets_shown(process: int, texts: list[str]) -> list[str]:
        """Which of these texts stand in a process's arguments or environment."""
        shown = b"".join(pathlib.Path(f"/proc/{process}/{name}").read_bytes() for name in ("cmdline", "environ"))
        return [text for text in texts if text.encode() in shown]

    def drained(self, worker: Process, timeout: float = PATIENCE) -> int:
        """Asks a worker to end when its recordings are over; gives its status."""
        worker.send(signal.SIGTERM)
        return worker.exit(timeout)
