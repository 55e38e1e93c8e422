"""All scenarios, in groups. A scenario is a function of a Stage and a Verdict; its first line of documentation says what it
shows. A new one is put into the table of its package, and is run from then on."""

import dataclasses
import os
import types
from collections.abc import Callable

import attackers
import disruptions
import pages
import peers
import room_server
import scenarios
import service
from disruptions import wiring
from service import backend, egress, postgres, schema, uploads
from stage import Stage
from verdict import Verdict

Scenario = Callable[[Stage, Verdict], None]


@dataclasses.dataclass(frozen=True)
class Group:
    """Scenarios that belong together."""

    name: str
    about: str
    scenarios: dict[str, Scenario]
    smoke: tuple[str, ...] = ()  # what `make check` runs
    long: tuple[str, ...] = ()  # what only `make endurance` runs: another scenario shows the same promise in less time
    alone: tuple[str, ...] = ()  # what takes the machine for itself: others beside it would be what is measured
    seeded: types.ModuleType | None = None  # whose SEED everything random in them comes from
    lengthens: bool = False  # that module's LONG makes all of them longer
    # Why scenarios cannot be run on this machine, by name ("" for all); asked once, before the first.
    obstacles: Callable[[], dict[str, str]] = dict

    def chosen(self, tier: str) -> list[str]:
        """The scenarios of a tier."""
        if tier == "check":
            return [name for name in self.scenarios if name in self.smoke]
        if tier == "endurance" and not self.lengthens:
            return [name for name in self.scenarios if name in self.long]
        return [name for name in self.scenarios if name not in self.long]


def without_namespaces() -> dict[str, str]:
    """For what needs networks of its own."""
    return {"": reason} if (reason := wiring.obstacle()) else {}


def without_postgres(*names: str) -> Callable[[], dict[str, str]]:
    """For what needs PostgreSQL."""
    return lambda: {name: reason for name in names if (reason := postgres.obstacle())}


def without_root(*names: str) -> Callable[[], dict[str, str]]:
    """For what mounts a disk of its own."""
    return lambda: dict.fromkeys(names, "only root can mount a disk") if os.geteuid() else {}


GROUPS = {group.name: group for group in (
    Group("peers", "clients of other makers against PeerConnection alone", peers.SCENARIOS, smoke=("offerer",)),
    Group("room-server", "real clients against the room server, its faults and its server API", room_server.SCENARIOS,
          long=room_server.LONG),
    Group("backend", "the backend's API from outside, by hand and by thousands of made requests",
          backend.SCENARIOS | schema.SCENARIOS, smoke=("description",),
          obstacles=without_postgres("fleet")),
    Group("attacks", "the shipped program under malicious clients, servers, peers and callers", attackers.SCENARIOS,
          seeded=attackers, lengthens=True),
    Group("recordings", "rooms recorded with real clients, judged as a viewer would", scenarios.SCENARIOS,
          smoke=scenarios.SMOKE, long=scenarios.LONG, alone=scenarios.ALONE,
          obstacles=without_root("log_full", "outputs_full")),
    Group("faults", "recordings over networks and servers that fail", disruptions.SCENARIOS, long=disruptions.LONG,
          alone=disruptions.ALONE, seeded=wiring, obstacles=without_namespaces),
    Group("uploads", "finished files to an S3 store, over ways that fail", uploads.SCENARIOS, long=uploads.LONG),
    Group("service", "backend, workers, room server and real clients together", service.SCENARIOS,
          smoke=service.SMOKE, long=service.LONG, obstacles=without_postgres("shared")),
    Group("pages", "the commands of README and documentation, as they are written", pages.SCENARIOS,
          obstacles=without_namespaces),
    Group("egress", "LiveKit's own SDK, as if the backend were LiveKit Egress", egress.SCENARIOS),
)}
