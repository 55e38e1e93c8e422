"""The processes of a scenario: a room server, publishers, recorders. Each is ended by its own id when the stage closes.

Times are seconds of the wall clock (`time.time()`), which all processes of one machine share.
"""

import contextlib
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable

import jwt

HERE = pathlib.Path(__file__).resolve().parent
SECRET = "interop-secret-of-64-bytes-and-more-as-hmac-sha512-wants-it-to-be!"
KEY = "devkey"
# Where `swift build` puts the programs of Tests/Tools.
TOOLS = HERE.parent.parent / ".build" / "release"

# Colours that no card, avatar or outline comes near, and beeps that the judge tells apart, all above the voices.
COLOURS = {"red": "d02020", "green": "20c020", "blue": "2020d0", "yellow": "d0d020", "cyan": "20c0c0"}
PITCHES = {"red": 1800.0, "green": 2300.0, "blue": 2900.0, "yellow": 3600.0, "cyan": 4400.0}
SCREEN_COLOUR = "d020d0"


class Failed(Exception):
    """A scenario cannot go on: a process did not do what it had to."""


def free_port() -> int:
    """A port of the loopback interface that nobody has, of TCP and of UDP, for a server that shall have it in a moment.

    Below those that Linux gives to whoever asks for any (32768 and up): a hundred clients beside this scenario do.
    """
    while True:
        port = random.randrange(20_000, 32_000)
        with contextlib.suppress(OSError), socket.socket(type=socket.SOCK_DGRAM) as datagrams:
            datagrams.bind(("127.0.0.1", port))
            with socket.create_server(("127.0.0.1", port)):
                return port


def make_token(identity: str, room: str, ttl: int = 600, secret: str = SECRET, key: str = KEY, kind: str = "",
               **grants) -> str:
    """A token as a LiveKit server takes it; `grants` go over those of a recorder, None removes one."""
    now = int(time.time())
    video = {"room": room, "roomJoin": True, "canSubscribe": True, "canPublish": False, "hidden": True, **grants}
    claims = {"iss": key, "sub": identity, "nbf": now - 3600, "exp": now + ttl,
              "video": {name: value for name, value in video.items() if value is not None}}
    if kind:
        claims["kind"] = kind
    return jwt.encode(claims, secret, algorithm="HS256")


class Process:
    """A child process whose output lines are kept with the time at which they came."""

    def __init__(self, name: str, command: list[str], folder: pathlib.Path, environment: dict[str, str] | None = None,
                 largest_file: int = 0, namespace: str = "", descriptors: tuple[int, ...] = ()):
        self.name = name
        self.log = folder / f"{name}.log"
        while self.log.exists():  # a server that was started again
            self.log = self.log.with_name("+" + self.log.name)
        self.lines: list[tuple[float, str]] = []
        self.status: int | None = None
        self.ended: float | None = None
        self.usage = None
        self.changed = threading.Condition()
        # What a developer has set must not change a test.
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("RECBOT_", "LIVEKIT_"))}
        with open(self.log, "wb") as errors:
            if largest_file:
                command = ["prlimit", f"--fsize={largest_file}", *command]
            if namespace:
                command = ["ip", "netns", "exec", namespace, *command]
            self.started = time.time()
            self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                          cwd=folder, env=clean | (environment or {}), pass_fds=descriptors)
        threading.Thread(target=self.read, daemon=True).start()
        threading.Thread(target=self.reap, daemon=True).start()

    def read(self) -> None:
        """The reading thread: keeps standard output as it comes, also beside the log."""
        with open(self.log.with_suffix(".out"), "wb", buffering=0) as copy:
            for line in self.child.stdout:
                copy.write(line)
                with self.changed:
                    self.lines.append((time.time(), line.decode(errors="replace").rstrip("\n")))
                    self.changed.notify_all()
        with self.changed:
            self.lines.append((time.time(), ""))  # the end, so that an unfinished wait looks again
            self.changed.notify_all()

    def reap(self) -> None:
        """The waiting thread: notes how and when the process ended, and what it used."""
        _, status, usage = os.wait4(self.child.pid, 0)
        with self.changed:
            self.ended = time.time()
            self.status = self.child.returncode = os.waitstatus_to_exitcode(status)
            self.usage = usage
            self.changed.notify_all()

    @property
    def errors(self) -> str:
        """What stands on standard error so far."""
        return self.log.read_text(errors="replace")

    @property
    def output(self) -> list[str]:
        """The lines of standard output so far."""
        return [line for _, line in self.lines if line]

    def line(self, wanted: Callable[[str], bool], timeout: float, after: int = 0) -> tuple[float, str]:
        """Waits for a line; gives it with its time."""
        end = time.monotonic() + timeout
        with self.changed:
            while True:
                for at, text in self.lines[after:]:
                    if text and wanted(text):
                        return at, text
                if self.status is not None and self.lines and not self.lines[-1][1]:
                    raise Failed(f"{self.name} ended with {self.status}: {self.tail()}")
                if not self.changed.wait(max(0.0, end - time.monotonic())):
                    raise Failed(f"{self.name}: not what was waited for within {timeout} s: {self.tail()}")

    def exit(self, timeout: float) -> int:
        """Waits for the end; gives the exit code (negative: the signal)."""
        end = time.monotonic() + timeout
        with self.changed:
            while self.status is None or not (self.lines and not self.lines[-1][1]):
                if not self.changed.wait(max(0.0, end - time.monotonic())):
                    raise Failed(f"{self.name} did not end within {timeout} s: {self.tail()}")
            return self.status

    def send(self, number: signal.Signals) -> float:
        """Sends a signal; gives the time."""
        with self.changed:
            if self.status is None:
                with contextlib.suppress(ProcessLookupError):  # it has just ended
                    os.kill(self.child.pid, number)
        return time.time()

    def memory(self, field: str = "VmRSS") -> int:
        """KiB that it has in memory now; `VmHWM`: that it has at most had (proc(5), status)."""
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            status = pathlib.Path(f"/proc/{self.child.pid}/status").read_text()
            for line in status.splitlines():
                if line.startswith(f"{field}:"):
                    return int(line.split()[1])
        # What has ended holds nothing.
        raise Failed(f"{self.name} has ended before its memory was looked at: {self.tail()}")

    def close(self) -> None:
        """Ends the process, whatever it does."""
        for number, patience in ((signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0)):
            if self.status is not None:
                break
            self.send(number)
            try:
                self.exit(patience)
            except Failed:
                continue
        self.child.stdin.close()

    def tail(self) -> str:
        """The end of what it said, for a failure's text."""
        said = self.errors.strip().splitlines()[-3:] or self.output[-2:]
        return " | ".join(said) or "(it said nothing)"


class Publisher(Process):
    """A participant with a known colour and pitch, commanded by lines of text. Is made ready, but doesn't join yet."""

    def __init__(self, name: str, url: str, room: str, folder: pathlib.Path, *options: str, colour: str,
                 display: str = "", namespace: str = ""):
        self.colour, self.pitch, self.display = COLOURS[colour], PITCHES[colour], display or name.capitalize()
        super().__init__(name, [
            sys.executable, str(HERE / "publishers" / "publish.py"), "--url", url, "--room", room, "--identity", name,
            "--name", self.display, "--api-key", KEY, "--api-secret", SECRET, "--colour", self.colour,
            "--frequency", str(self.pitch), "--screen-colour", SCREEN_COLOUR, "--commands", "--wait", *options], folder,
            namespace=namespace)

    def event(self, name: str, timeout: float = 10.0, after: int = 0, **fields) -> dict:
        """Waits for an event (a JSON line) with these fields."""
        def matches(text: str) -> bool:
            found = json.loads(text)
            return found["event"] == name and all(found.get(key) == value for key, value in fields.items())
        return json.loads(self.line(matches, timeout, after)[1])

    def events(self, name: str) -> list[dict]:
        """All events of this name so far."""
        return [found for found in map(json.loads, self.output) if found["event"] == name]

    def join(self) -> "Publisher":
        """Joins the room; waits until everything is published."""
        self.event("ready", timeout=30)  # importing the SDK takes seconds on a busy machine
        self.tell("join", "complete")
        return self

    def tell(self, action: str, event: str = "", **fields) -> float:
        """Gives a command; gives the wall-clock time of the event that answers it (or of the command)."""
        after = len(self.lines)
        sent = time.time()
        self.child.stdin.write(action.encode() + b"\n")
        self.child.stdin.flush()
        return self.event(event, after=after, **fields)["wall"] if event else sent


class Client(Process):
    """A script of `publishers/` that runs by itself beside the scenario; its JSON lines are what it tells."""

    def __init__(self, name: str, script: str, url: str, room: str, folder: pathlib.Path, *options: str):
        # A later `--api-secret` among the options goes over this one.
        super().__init__(name, [
            sys.executable, str(HERE / "publishers" / script), "--url", url, "--api-key", KEY, "--api-secret", SECRET,
            "--room", room, *options], folder)

    @property
    def told(self) -> list[dict]:
        """What it has told so far."""
        return [json.loads(text) for text in self.output if text.startswith("{")]

    def wait_for(self, event: str, timeout: float = 20) -> dict:
        """The first line of an event, as soon as it is there."""
        return json.loads(self.line(lambda text: text.startswith("{") and json.loads(text)["event"] == event, timeout)[1])

    def finish(self, timeout: float = 60) -> list[dict]:
        """Waits until it ends by itself; gives all that it told, the summary too."""
        try:
            self.exit(timeout)
        except Failed:
            self.kill()
            self.exit(5)
        return self.told

    def stop(self) -> list[dict]:
        """Ends it as Ctrl-C does; gives all that it told, the summary too."""
        self.send(signal.SIGTERM)
        return self.finish()

    def kill(self) -> None:
        """Ends it as a crash does."""
        self.send(signal.SIGKILL)


class Recorder(Process):
    """`recbot join`, recording."""

    def __init__(self, name: str, recbot: str, url: str, room: str, folder: pathlib.Path, *options: str,
                 identity: str = "", largest_file: int = 0, namespace: str = "", writes: bool = True,
                 descriptors: tuple[int, ...] = ()):
        self.path = folder / f"{name}.webm"
        self.stopped_at: float | None = None
        self.resident = 0
        super().__init__(name, [
            recbot, "join", room, "--url", url, *([] if "--token" in options else ["--api-key", KEY]), "--identity", identity or name,
            *(["--output", str(self.path)] if writes else []), "--progress", "json", *options], folder,
            {"LIVEKIT_API_SECRET": SECRET}, largest_file, namespace, descriptors)

    @staticmethod
    def progress(text: str) -> dict:
        """A line of `--progress json`; empty for other lines."""
        return json.loads(text) if text.startswith("{") else {}

    def phase(self, name: str, timeout: float, after: int = 0) -> int:
        """Waits until it is in a phase, looking at the lines of output from the index `after` on; gives the line's."""
        at, _ = self.line(lambda text: self.progress(text).get("phase") == name, timeout, after)
        return next(index for index, (moment, _) in enumerate(self.lines) if moment == at and index >= after)

    def recording(self, timeout: float = 20.0) -> float:
        """Waits until it records; gives the time at which it said so (at most half a second after the beginning)."""
        return self.lines[self.phase("recording", timeout)][0]

    def stop(self, number: signal.Signals = signal.SIGINT, timeout: float = 10.0) -> float:
        """Ends the recording as Ctrl-C does and waits for the finished file; gives the time of the signal."""
        # The usage that wait4 gives would count what this process had when it forked.
        self.resident = self.memory("VmHWM") // 1024
        self.stopped_at = self.send(number)
        status = self.exit(timeout)
        if status != 0:
            raise Failed(f"{self.name} ended with {status}: {self.tail()}")
        return self.stopped_at

    @property
    def last_progress(self) -> dict:
        """The newest report of progress."""
        reports = [self.progress(text) for text in self.output]
        return next((report for report in reversed(reports) if "phase" in report), {})

    def happened(self, name: str) -> list[dict]:
        """What it told so far of events of this name."""
        return [report for report in map(self.progress, self.output) if report.get("event") == name]

    def happens(self, name: str, timeout: float, after: int = 0, **fields) -> dict:
        """Waits for an event with these fields, looking at the lines from the index `after` on."""
        def matches(text: str) -> bool:
            found = self.progress(text)
            return found.get("event") == name and all(found.get(key) == value for key, value in fields.items())
        return self.progress(self.line(matches, timeout, after)[1])

    @property
    def cost(self) -> str:
        """Processor time per second of life, and the largest resident size before the end."""
        seconds = self.usage.ru_utime + self.usage.ru_stime
        return f"cpu {100 * seconds / (self.ended - self.started):.0f}% rss {self.resident} MB"


class Stage:
    """One scenario's room server and everybody in it. A context manager: nothing is left running behind it."""

    def __init__(self, recbot: str, folder: pathlib.Path, log_level: str = "warning", tools: pathlib.Path = TOOLS):
        self.recbot, self.folder, self.log_level, self.tools = recbot, folder, log_level, tools
        self.processes: list[Process] = []
        self.url = ""
        self.namespace = ""  # in which everybody is who is not told otherwise

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, *_) -> None:
        for process in reversed(self.processes):
            with contextlib.suppress(OSError):  # one that cannot be ended must not keep the others
                process.close()

    def start(self, process):
        """Takes a process on, to be ended with the stage."""
        self.processes.append(process)
        return process

    def run(self, name: str, *arguments: str, before: tuple[str, ...] = (), **environment: str) -> Process:
        """Starts `recbot` with these arguments; `before`: by a command that starts it."""
        return self.start(Process(name, [*before, self.recbot, *arguments], self.folder, environment,
                                  namespace=self.namespace))

    def tool(self, name: str) -> str:
        """The path of a program of Tests/Tools."""
        path = self.tools / name
        if not path.is_file():
            raise Failed(f"there is no {path}; build it (swift build -c release --product {name}) or give --tools")
        return str(path)

    # The servers: each is started here and nowhere else.

    def server(self, port: str = "0", *options: str) -> Process:
        """Starts a room server, on a free port unless told otherwise."""
        server = self.run("server", "room-server", "--port", port, "--api-key", KEY, "--log-level", self.log_level,
                          *options, LIVEKIT_API_SECRET=SECRET)
        _, text = server.line(lambda text: "ws://" in text, 20)
        self.url = next(word for word in text.split() if word.startswith("ws://"))
        return server

    def backend(self, *options: str, name: str = "backend", port: int = 0, **environment: str) -> tuple[Process, str]:
        """Starts a backend, on a free port unless told otherwise, and waits until it listens; gives its address too."""
        backend = self.run(name, "serve", "--port", str(port), "--log-level", self.log_level, *options, **environment)
        _, text = backend.line(lambda text: "http://" in text, 20)
        return backend, next(word for word in re.split(r"[\s;]+", text) if word.startswith("http://"))

    def store(self, checked_after: int | None = None) -> tuple[Process, str]:
        """Starts an S3 store (moto) on a free port; gives its address too. `checked_after`: from that many requests on,
        signatures and rights are checked."""
        environment = {} if checked_after is None else {"INITIAL_NO_AUTH_ACTION_COUNT": str(checked_after)}
        store = self.start(Process("store", [sys.executable, str(HERE / "service" / "store.py")], self.folder,
                                   environment))
        return store, store.line(lambda text: text.startswith("http://"), 120)[1]

    def relay(self, host: str, port: int, password: str, *options: str, tls: bool = False) -> Process:
        """Starts a TURN server (coturn) for the user `u`, without TLS unless told otherwise; it tells its allocations on standard output."""
        binary = shutil.which("turnserver") or "/usr/bin/turnserver"
        return self.start(Process("coturn", [
            binary, "-n", "--lt-cred-mech", "--user", f"u:{password}", "--realm", "r", "--listening-ip", host,
            "--relay-ip", host, "--listening-port", str(port), *([] if tls else ["--no-tls"]), "--no-dtls", "--no-cli", "--log-file",
            "stdout", "--simple-log", "--verbose", "--pidfile", "/dev/null", *options], self.folder,
            namespace=self.namespace))

    def verb(self, name: str, room: str = "test", **fields) -> float:
        """Has the server, which must run with --test-api, do something; gives the wall-clock time."""
        return self.post(f"test/{name}", room, {"room": room, **fields})

    def service(self, method: str, **fields) -> float:
        """Calls the server's RoomService; gives the wall-clock time."""
        return self.post(f"twirp/livekit.RoomService/{method}", fields.get("room", ""), fields)

    def post(self, path: str, room: str, fields: dict) -> float:
        """Posts JSON to the server with an administrator's token; gives the wall-clock time."""
        token = make_token("admin", room, roomAdmin=True, roomCreate=True)
        request = urllib.request.Request(
            f"{self.url.replace('ws', 'http', 1)}/{path}", json.dumps(fields).encode(),
            {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=10) as reply:
                json.load(reply)
        except urllib.error.HTTPError as error:
            raise Failed(f"{path}: {error.status} {error.read().decode(errors='replace')}") from None
        return time.time()

    def publisher(self, name: str, *options: str, colour: str, room: str = "test", display: str = "") -> Publisher:
        """Starts a participant; `join()` lets it in."""
        return self.start(Publisher(name, self.url, room, self.folder, *options, colour=colour, display=display,
                                    namespace=self.namespace))

    def client(self, script: str, *options: str, room: str = "test") -> Client:
        """Starts a script of `publishers/` that runs by itself."""
        return self.start(Client(script.removesuffix(".py"), script, self.url, room, self.folder, *options))

    def recorder(self, name: str, *options: str, room: str = "test", **others) -> Recorder:
        """Starts a recording of a room."""
        return self.start(Recorder(name, self.recbot, self.url, room, self.folder, "--log-level", self.log_level,
                                   *options, **others))

    @staticmethod
    def until(wall: float) -> float:
        """Lets the recording run on; gives the time."""
        time.sleep(max(0.0, wall - time.time()))
        return time.time()

    @classmethod
    def between_flashes(cls, wall: float) -> float:
        """The same, up to half a second past a whole one: then no publisher flashes, and its colour is what stays."""
        return cls.until(math.ceil(wall - 0.5) + 0.5)
