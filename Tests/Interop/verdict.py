"""What a scenario has to say: figures that it measured, and what was not as it should be."""

import dataclasses
from collections.abc import Iterable


@dataclasses.dataclass
class Verdict:
    """Collects; a check that fails doesn't end the scenario, so that one run tells everything."""

    figures: list[str] = dataclasses.field(default_factory=list)
    faults: list[str] = dataclasses.field(default_factory=list)
    untimely: list[str] = dataclasses.field(default_factory=list)  # the faults that something came at another moment

    @property
    def is_only_untimely(self) -> bool:
        """Whether all was as it should be but for the moments: what else ran on the machine may have made it late."""
        return 0 < len(self.untimely) == len(self.faults)

    def check(self, good: bool, otherwise: str) -> bool:
        """Notes a fault unless `good`."""
        if not good:
            self.faults.append(otherwise)
        return bool(good)

    def timely(self, good: bool, otherwise: str) -> bool:
        """The same for what is judged by the clock: how late something was, how far two things lie apart, what a machine that
        was too slow left out, what one costs beside the other."""
        if not good:
            self.untimely.append(otherwise)
        return self.check(good, otherwise)

    def take(self, other: "Verdict", what: str = "", but: str = "") -> None:
        """Notes the faults of a part, `what`, except those in which `but` is read."""
        for fault in other.faults:
            if not but or but not in fault:
                (self.timely if fault in other.untimely else self.check)(False, f"{what}: {fault}" if what else fault)

    def holds(self, good: bool, text: str) -> bool:
        """The same for a check whose text says what is so when it is good."""
        return self.check(good, f"not so: {text}")

    def figure(self, text: str) -> None:
        """Notes a measured figure for the scenario's line."""
        self.figures.append(text)


def ms(seconds: float) -> str:
    """Seconds as whole milliseconds."""
    return f"{seconds * 1000:.0f} ms" if seconds != float("inf") else "never"


def worst(values: Iterable[float]) -> float:
    """The largest magnitude; infinite when there are no values."""
    return max((abs(value) for value in values), default=float("inf"))
