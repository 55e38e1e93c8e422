"""A machine with many addresses, as one with containers and virtual machines has them."""

import contextlib
import subprocess
from collections.abc import Iterator

from disruptions import wiring
from disruptions.judging import load
from stage import Stage
from verdict import Verdict, ms

INTERFACES = 10
# From joining to the first picture, on one machine.
FIRST = 0.300
ROUNDS = 5


def first_picture(stage: Stage, verdict: Verdict) -> None:
    """Ten interfaces beside the loopback one: who is there already is seen within 300 ms of joining, each time."""
    with crossroads() as namespace:
        stage.namespace = namespace
        # As stock servers do, it names a public STUN server, which nobody in a closed network can even look up.
        stage.server("0", "--bind", "0.0.0.0", "--ice-server", "stun:stun.example.org:3478")
        stage.url = f"ws://127.0.0.1:{stage.url.rsplit(':', 1)[1]}"
        person = stage.publisher("ann", "--size", "480x270", colour="green").join()
        waits = []
        for number in range(1, ROUNDS + 1):
            recorder = stage.recorder(f"first{number}", "--size", "640x360", namespace=namespace)
            stage.until(recorder.recording() + 2)
            recorder.stop()
            waits.append(load(recorder, verdict).shown(person.colour, 0.0))
        # One of them may have met with a busy machine.
        late = sorted(waits)[-2]
        verdict.check(late <= FIRST, f"the first picture comes after {', '.join(map(ms, waits))}")
        verdict.figure(f"after {', '.join(map(ms, waits))}")
        for process in reversed(stage.processes):
            process.close()


@contextlib.contextmanager
def crossroads() -> Iterator[str]:
    """A network namespace with that many interfaces, all up, which lead nowhere."""
    name = f"{wiring.name()}x"
    subprocess.run(["ip", "netns", "add", name], check=True, capture_output=True)
    try:
        wiring.inside(name, "ip", "link", "set", "lo", "up")
        for number in range(1, INTERFACES + 1):
            near, far = f"x{number}a", f"x{number}b"
            wiring.inside(name, "ip", "link", "add", near, "type", "veth", "peer", "name", far)
            wiring.inside(name, "ip", "addr", "add", f"10.78.{number}.1/24", "dev", near)
            for device in (near, far):
                wiring.inside(name, "ip", "link", "set", device, "up")
        # What goes out, such as questions to a name server, is never answered.
        wiring.inside(name, "ip", "route", "add", "default", "dev", "x1a")
        yield name
    finally:
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
