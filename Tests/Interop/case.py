"""Scenarios that are written as the methods of a class, because many of them share helpers: each `test_…` is one."""

import unittest
from collections.abc import Callable

from stage import Stage
from verdict import Verdict


class Case(unittest.TestCase):
    """One scenario of such a class: its stage, its verdict, and the assertions of `unittest`.

    The first assertion that does not hold ends the scenario. Subclasses start what all their scenarios need in `setUp`,
    on the stage, which ends it; what else must be ended, they give to `addCleanup`.
    """

    def __init__(self, stage: Stage, verdict: Verdict, method: str):
        super().__init__(method)
        self.stage, self.verdict, self.name = stage, verdict, method.removeprefix("test_")
        self.maxDiff = None


def scenarios(*kinds: type[Case]) -> dict[str, Callable[[Stage, Verdict], None]]:
    """The scenarios of some classes, by name, in the order in which they stand there."""
    return {name.removeprefix("test_"): scenario(kind, name)
            for kind in kinds for name in vars(kind) if name.startswith("test_")}


def scenario(kind: type[Case], method: str) -> Callable[[Stage, Verdict], None]:
    """One method as a scenario."""
    def play(stage: Stage, verdict: Verdict) -> None:
        case = kind(stage, verdict, method)
        try:
            case.setUp()
            getattr(case, method)()
        finally:
            case.doCleanups()

    play.__name__, play.__doc__ = method.removeprefix("test_"), getattr(kind, method).__doc__
    return play
