"""The commands of README and of the documentation's pages, run as they are written.

Each block runs in a network of its own, where the ports that the pages name are free. What an operator puts in (addresses,
secrets, a job's name) is put in; a command that never ends is stopped as by Ctrl-C when it has said that it works.
"""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import time

from stage import Failed, Process, Stage
from verdict import Verdict

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "Sources/recbot/Documentation.docc").glob("*.md"))]
# Blocks that other tests run, by what they hold.
ELSEWHERE = {
    "make ": "make demo, make test, make check-package", "sudo ": "make check-package", "journalctl ": "make check-package",
    "swift build": "a developer", "swift test": "a developer", "taskset ": "make bench",
}
# What stands for what an operator has; JOB and the key come with the block's own backend.
GIVEN = {
    "wss://livekit.example.com": "ws://127.0.0.1:7880", "https://recbot.example.com": "http://127.0.0.1:8080",
    "LIVEKIT_API_KEY=…": "LIVEKIT_API_KEY=devkey", "LIVEKIT_API_SECRET=…": "LIVEKIT_API_SECRET=secret",
    "RECBOT_WORKER_SECRET=…": "RECBOT_WORKER_SECRET=" + "s" * 32, "AWS_ACCESS_KEY_ID=…": "AWS_ACCESS_KEY_ID=id",
    "AWS_SECRET_ACCESS_KEY=…": "AWS_SECRET_ACCESS_KEY=key", ".build/release/recbot": "recbot",
}
# What commands that do not end by themselves say when they work.
WORKING = {"serve": "http://127.0.0.1:8080", "room-server": "ws://127.0.0.1:7880", "worker": "worker", "join": "",
           "jobs submit": "running"}
# What `recbot jobs cancel` ends with when there is nothing to cancel, and `--watch` when its job was cancelled.
JOB_IS_OVER = 46
JOB_WAS_CANCELLED = 47
# The rooms of the pages in which there are people.
ROOMS = ("my-room", "standup")


@dataclasses.dataclass(frozen=True)
class Block:
    """A block of commands, and where it stands."""

    page: str
    line: int
    lines: tuple[str, ...]

    @property
    def name(self) -> str:
        """Names it, for a folder too."""
        return f"{self.page.removesuffix('.md')}-{self.line}"

    @property
    def text(self) -> str:
        """All of it."""
        return "\n".join(self.lines)

    @property
    def elsewhere(self) -> str:
        """Which other test runs it; empty: none."""
        return next((where for word, where in ELSEWHERE.items() if word in self.text), "")

    def uses(self, *words: str) -> bool:
        """True when it has one of some commands of recbot."""
        return any(re.search(rf"recbot {word}\b", self.text) for word in words)


def blocks(page: pathlib.Path) -> list[Block]:
    """The blocks of commands of a page; lines that go on are one."""
    found, begun, lines = [], 0, []
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line == "```sh":
            begun, lines = number, []
        elif line == "```" and begun:
            text = "\n".join(lines).replace("\\\n", " ")
            commands = tuple(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
            found.append(Block(page.name, begun, commands))
            begun = 0
        elif begun:
            lines.append(line)
    return found


class Walk:
    """One block, in a folder and a network of its own."""

    def __init__(self, block: Block, stage: Stage, network: str):
        self.block, self.stage, self.folder = block, stage, stage.folder / block.name
        self.network = network
        self.folder.mkdir()
        (self.folder / "bin").mkdir()
        (self.folder / "bin" / "recbot").symlink_to(stage.recbot)
        self.environment = {
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "HOME": str(self.folder),
            "RECBOT_DATA_DIR": str(self.folder / "data"), "LIVEKIT_URL": "ws://127.0.0.1:7880", "LIVEKIT_API_KEY": "devkey",
            "LIVEKIT_API_SECRET": "secret", "RECBOT_WORKER_SECRET": "s" * 32}
        self.running: list[Process] = []
        self.count = 0

    def start(self, line: str) -> Process:
        """Starts a line as a person would."""
        self.count += 1
        process = Process(f"line-{self.count}", ["bash", "-euc", line], self.folder, self.environment, namespace=self.network)
        self.stage.start(process)
        return process

    def run(self, line: str, accepting: tuple[int, ...] = (0,)) -> str:
        """Runs a line to its end; gives what it printed."""
        process = self.start(line)
        status = process.exit(60)
        if status not in accepting:
            raise Failed(f"{self.block.name}: `{line}` ended with {status}: {process.tail()}")
        return "\n".join(process.output)

    def begin(self, line: str, word: str) -> Process:
        """Starts a line that does not end by itself, and waits for a word of it."""
        process = self.start(line)
        end = time.monotonic() + 30
        while word not in process.errors + "\n".join(process.output):
            if process.status is not None or time.monotonic() > end:
                raise Failed(f"{self.block.name}: `{line}` does not say '{word}' ({process.status}): {process.tail()}")
            time.sleep(0.05)
        self.running.append(process)
        return process

    def key(self) -> str:
        """A caller's key, made where the backend's database is."""
        return re.search(r"rbk_[A-Za-z0-9_-]+", self.run("recbot keys add pages")).group()

    def jobs(self, *options: str) -> list[str]:
        """The names of jobs, the newest first."""
        return [job["id"] for job in json.loads(self.run(" ".join(["recbot jobs list --json", *options])))["jobs"]]

    def prepare(self) -> None:
        """What the page takes for granted: rooms with people, a backend with a job."""
        subprocess.run(["ip", "-n", self.network, "link", "set", "lo", "up"], check=True)
        if not self.block.uses("room-server"):
            self.begin("recbot room-server", "ws://")
        for room in ROOMS:
            if room in self.block.text:
                self.begin(f"recbot people {room} --participants 1 --duration 2m", "")
        if self.block.uses("jobs", "schedule", "recordings") and not self.block.uses("serve"):
            self.begin("recbot serve --with-worker", WORKING["serve"])
            self.environment["RECBOT_API_KEY"] = self.key()
        if self.block.uses("worker"):
            self.begin("recbot serve", WORKING["serve"])
        if self.block.uses("recordings"):
            self.run("recbot jobs submit made --max-duration 2s --watch")
        if self.block.uses("repair"):
            self.run("recbot demo --duration 2s --output talk.webm")
        if self.block.uses("concat"):
            for number in (1, 2):
                self.run(f"recbot demo --duration 2s --output talk-{number}.webm")

    def perform(self) -> int:
        """Runs the block; gives how many commands it has."""
        self.prepare()
        for line in self.block.lines:
            for word, value in GIVEN.items():
                line = line.replace(word, value)
            if "rbk_…" in line:
                line = line.replace("rbk_…", self.environment.get("RECBOT_API_KEY") or self.key())
            if "JOB" in line:
                line = line.replace("JOB", self.jobs()[0])
            self.line(line)
        if self.block.uses("jobs submit"):
            # A worker waits for what it records; what the block has cancelled itself may be over by now.
            for job in self.jobs("--active"):
                self.run(f"recbot jobs cancel {job}", accepting=(0, JOB_IS_OVER))
        for process in reversed(self.running):
            process.send(signal.SIGINT)
            status = process.exit(20)
            # Who watches the job that was cancelled here may have heard of it before the signal.
            watched = (JOB_WAS_CANCELLED,) if self.block.uses("jobs submit") else ()
            if status not in (0, 130, -signal.SIGINT, *watched):
                raise Failed(f"{self.block.name}: `{process.name}` ended with {status}: {process.tail()}")
        return len(self.block.lines)

    def line(self, line: str) -> None:
        """Runs one line in its way."""
        words = shlex.split(line, comments=True)
        if words[0] == "export":
            self.environment |= dict(word.split("=", 1) for word in words[1:])
            return
        command = next((name for name in WORKING if f"recbot {name}" in line), "")
        if command and (command != "jobs submit" or "--watch" in words):
            process = self.begin(re.sub(r"\s*&\s*(#.*)?$", "", line), WORKING[command])
            if command == "join":
                self.recorded(process, words)
        else:
            self.run(line)

    def recorded(self, process: Process, words: list[str]) -> None:
        """A recording is ended as by Ctrl-C after a moment, and is there."""
        time.sleep(3)
        if "--output" not in words:
            return
        process.send(signal.SIGINT)
        if process.exit(10) != 0:
            raise Failed(f"{self.block.name}: {process.tail()}")
        self.running.remove(process)
        if (self.folder / words[words.index("--output") + 1]).stat().st_size < 10_000:
            raise Failed(f"{self.block.name}: nothing is recorded")


def commands(stage: Stage, verdict: Verdict) -> None:
    """Each block of commands in README and the pages runs as it stands."""
    every = [block for page in PAGES for block in blocks(page)]
    here = [block for block in every if not block.elsewhere]
    networks = [f"rbp{os.getpid() % 10_000}-{number}" for number in range(len(here))]
    try:
        for network in networks:
            subprocess.run(["ip", "netns", "add", network], check=True)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            done = [pool.submit(Walk(block, stage, network).perform) for block, network in zip(here, networks)]
        for task in done:
            verdict.check(not task.exception(), str(task.exception()))
    finally:
        for process in stage.processes:
            process.close()
        for network in networks:
            subprocess.run(["ip", "netns", "del", network], check=False)
    lines = sum(task.result() for task in done if not task.exception())
    verdict.figure(f"{lines} commands of {len(here)} blocks; {len(every) - len(here)} blocks are run by other tests")
