"""A server whose name has an address of each family, and that answers late over the one that is tried first."""

import pathlib
import shutil
import subprocess
import time

from disruptions import wiring
from disruptions.judging import load
from scenarios.common import in_step
from stage import Failed, Stage
from verdict import Verdict, ms

NAME = "twin"


def families(stage: Stage, verdict: Verdict) -> None:
    """The first SYN to either address is lost, so that both are being tried when the first one answers (RFC 8305)."""
    stage.namespace = wiring.name()
    hosts = pathlib.Path("/etc/netns") / stage.namespace
    hosts.mkdir(parents=True)
    try:
        # What `ip netns exec` shows to its programs as /etc/hosts.
        (hosts / "hosts").write_text(f"127.0.0.1 localhost {NAME}\n::1 {NAME}\n")
        stage.start(wiring.Wire(stage, 1))
        if reason := obstacle(stage):
            verdict.figure(f"skipped: {reason}")
        else:
            attend(stage, verdict)
    finally:
        shutil.rmtree(hosts)


def obstacle(stage: Stage) -> str:
    """Why this cannot be tried here; empty when it can."""
    if not shutil.which("nft"):
        return "there is no `nft` (Debian: nftables)"
    try:
        nft(stage, "add table inet trial; delete table inet trial")
    except subprocess.CalledProcessError as error:
        return f"no packet filter: {error.stderr.strip().splitlines()[-1:]}"
    has_both = "::1" in wiring.inside(stage.namespace, "ip", "-6", "addr", "show", "dev", "lo")
    return "" if has_both else "there is no IPv6"


def attend(stage: Stage, verdict: Verdict) -> None:
    """Joins and records."""
    server = stage.server("0", "--bind", "::")
    verdict.check(any("ws://[::]:" in line for line in server.output), f"the server says {server.output[:1]}")
    port = stage.url.rsplit(":", 1)[1]
    stage.url = f"ws://127.0.0.1:{port}"
    person = stage.publisher("ann", "--size", "480x270", colour="green", display="Sophie").join()
    person.tell("talk", "talking")
    syn = f"tcp dport {port} tcp flags & (syn|ack) == syn"
    nft(stage, "add table inet late; add counter inet late four; "
               "add chain inet late in { type filter hook input priority 0; }; "
               f"add rule inet late in ip6 daddr ::1 {syn} drop; "
               f"add rule inet late in ip daddr 127.0.0.1 {syn} counter name four drop")
    stage.url = f"ws://{NAME}:{port}"
    recorder = stage.recorder("late", "--size", "640x360", namespace=stage.namespace)
    end = time.monotonic() + 10
    while "packets 0" in nft(stage, "list counter inet late four"):
        if time.monotonic() > end:
            raise Failed("the second address is not tried")
        time.sleep(0.02)
    nft(stage, "delete table inet late")
    began = recorder.recording()
    stage.until(began + 8)
    recorder.stop()
    recording = load(recorder, verdict)
    shown = recording.shown(person.colour, 0)
    verdict.timely(shown < 2, f"the first picture comes {ms(shown)} after the beginning")
    verdict.figure(f"picture after {ms(shown)}")
    in_step(recording, [person], shown + 1, recording.duration, verdict)


def nft(stage: Stage, commands: str) -> str:
    """Changes the filter of the namespace, or looks at it."""
    return wiring.inside(stage.namespace, "nft", commands)
