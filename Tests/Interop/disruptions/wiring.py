"""Network namespaces with `wire` in between: the room server and its publishers on the far side, each bot on a near one.

Only the bots' way is bad; the publishers reach the server undisturbed.
"""

import json
import os
import shutil
import subprocess

from stage import Process, Recorder, Stage

SEED = 20261121


def obstacle() -> str:
    """Why there can be no namespaces here; empty when there can."""
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    if not shutil.which("ip"):
        return "there is no `ip` (Debian: iproute2)"
    name = f"recbot-trial-{os.getpid()}"
    for verb in ("add", "del"):
        done = subprocess.run(["ip", "netns", verb, name], capture_output=True, text=True)
        if done.returncode != 0:
            return f"no network namespaces: {done.stderr.strip()}"
    return ""


class Wire(Process):
    """One bot's way to the server. Numbers from 1 on."""

    def __init__(self, stage: Stage, number: int, script: str = ""):
        self.near, self.far = f"{stage.namespace}n{number}", stage.namespace
        super().__init__(f"wire{number}", [
            stage.tool("wire"), "--near", self.near, "--far", self.far, "--number", str(number), "--seed", str(SEED + number),
            "--script", script, "--commands", "--json"], stage.folder)
        self.event("ready")

    def event(self, name: str, timeout: float = 10.0, after: int = 0) -> dict:
        """Waits for an event, looking at the lines from the index `after` on."""
        return json.loads(self.line(lambda text: text.startswith("{") and json.loads(text)["event"] == name, timeout,
                                    after)[1])

    def tell(self, script: str, event: str = "changed") -> dict:
        """Lets a script begin now; gives the first event that comes of it."""
        after = len(self.lines)
        self.child.stdin.write(script.encode() + b"\n")
        self.child.stdin.flush()
        return self.event(event, after=after)

    def outage(self, seconds: float, scope: str = "") -> tuple[float, float]:
        """Cuts the way (or some packets only) for so long from now on; gives the wall-clock times of both edges."""
        began = self.tell(f"{scope} outage {seconds}s", "outage began")["wall"]
        return began, began + seconds

    @property
    def statistics(self) -> dict[str, dict]:
        """What was counted, by `up udp` and so on; complete when wire has ended."""
        found = [json.loads(text) for text in self.output]
        return {event["packets"]: event for event in found if event["event"] == "statistics"}


def name() -> str:
    """Of the far side's namespace."""
    return f"rb{os.getpid() % 100_000}"


def begin(stage: Stage, *options: str, port: str = "0") -> Process:
    """Makes the far side and starts the room server there."""
    stage.namespace = name()
    # The first wire makes the far side's namespace and, ended last, takes it away.
    stage.start(Wire(stage, 1))
    server = stage.server(port, "--bind", "0.0.0.0", *options)
    stage.url = f"ws://198.18.1.1:{stage.url.rsplit(':', 1)[1]}"
    return server


def wire(stage: Stage, number: int, script: str = "") -> Wire:
    """The wire of a number, the first of which `begin` has made."""
    if number == 1:
        first = next(process for process in stage.processes if isinstance(process, Wire))
        if script:
            first.tell(script)
        return first
    return stage.start(Wire(stage, number, script))


def bot(stage: Stage, name: str, near: Wire, *options: str, **others) -> Recorder:
    """Starts a recording behind a wire."""
    return stage.recorder(name, "--size", "640x360", *options, namespace=near.near, **others)


def inside(namespace: str, *command: str) -> str:
    """Runs a program in a namespace; gives its output."""
    return subprocess.run(["ip", "netns", "exec", namespace, *command], check=True, capture_output=True,
                          text=True).stdout
