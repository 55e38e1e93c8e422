"""The runner itself: what fails must be told as failed."""

import argparse
import contextlib
import io
import pathlib
import subprocess
import sys

from case import Case, scenarios
from stage import HERE, Failed, Stage
from steadiness import ATTEMPTS, Repeats, Steadiness
from verdict import Verdict


class Bad(Case):
    """Scenarios of which each fails in a way of its own, but the last."""

    def setUp(self) -> None:
        left = self.stage.folder / "cleaned"
        self.addCleanup(left.touch)

    def test_assertion(self) -> None:
        self.assertEqual(1, 2, "numbers")

    def test_process(self) -> None:
        self.stage.run("wrong", "no-such-command").line(lambda _: True, 20)

    def test_trap(self) -> None:
        raise KeyError("nothing there")

    def test_fault(self) -> None:
        self.verdict.holds(False, "the sky is green")

    def test_late(self) -> None:
        raise Failed("too late")

    def test_good(self) -> None:
        self.verdict.holds(True, "the sky is blue")


WANTED = {"assertion": "numbers", "process": "wrong ended with", "trap": "nothing there", "fault": "not so: the sky is green",
          "late": "too late", "good": ""}


def running(stage: Stage, verdict: Verdict) -> None:
    """Scenarios that fail in five ways are told as failed, cleaned up after, and end `make test` with a failure."""
    # They import the tables, and these import this module.
    from groups import Group
    from run import Task

    group = Group("bad", "for this alone", scenarios(Bad))
    options = argparse.Namespace(recbot=stage.recbot, tools=stage.tools, log_level=stage.log_level)
    for name, fault in WANTED.items():
        task = Task(group, name).perform(stage.folder, options)
        told = " ".join(task.verdict.faults)
        verdict.check(task.passed == (not fault) and fault in told, f"{name}: passed {task.passed}, told {told!r}")
        verdict.check((stage.folder / "bad" / name / "cleaned").exists(), f"{name}: not cleaned up")
    done = subprocess.run([sys.executable, str(HERE / "run.py"), "no-such-scenario"], capture_output=True, text=True,
                          check=False, timeout=60)
    verdict.check(done.returncode == 2 and "no-such-scenario" in done.stderr, f"an unknown name: {done.returncode}")
    excuses(verdict)
    tiers(verdict)


def excuses(verdict: Verdict) -> None:
    """What is measured again: never because somebody wishes it, and no more often than there are repeats."""
    steady, held, full, crowded = (Steadiness(60.0, 0.01), Steadiness(60.0, 0.3), Steadiness(60.0, 0.01, 0.0, 1),
                                   Steadiness(60.0, 0.01, 0.0, 6))
    for seen, is_late, wanted in ((steady, False, False), (steady, True, False), (held, False, True), (held, True, True),
                                  (full, False, False), (full, True, True), (crowded, False, True)):
        with contextlib.redirect_stdout(io.StringIO()):
            given = Repeats().excuse("a/b", 0, seen, is_late)
            last = Repeats().excuse("a/b", ATTEMPTS - 1, seen, is_late)
        verdict.check(given == wanted and not last, f"{seen}, late {is_late}: excused {given}, at last {last}")


# A section that fails, one that needs it, one whose lines are counted, and one that cannot be started.
SECTIONS = """
import tiers
done = []
tiers.perform([
    tiers.Section("build", ["false"]), tiers.Section("unit", ["true"], "build"),
    tiers.Section("interop", ["printf", "again a/b: late\\n3 passed, 0 failed\\n"]), tiers.Section("fuzz", ["/nonexistent"])], done)
tiers.table(done)
"""
TABLE = {"build": ["FAILED", "-"], "unit": ["not", "run"], "interop": ["passed", "3"], "fuzz": ["FAILED", "-"]}


def tiers(verdict: Verdict) -> None:
    """What Tests/tiers.py makes of its sections."""
    done = subprocess.run([sys.executable, "-c", SECTIONS], capture_output=True, text=True, check=False, timeout=60,
                          cwd=pathlib.Path(HERE).parent)
    rows = {words[0]: words[1:] for line in done.stdout.splitlines() if (words := line.split())}
    for name, row in TABLE.items():
        verdict.check(rows.get(name, [])[:2] == row, f"{name}: {rows.get(name)}\n{done.stderr}")
    verdict.check(rows.get("interop", [])[-1:] == ["a/b"], "what was measured again is not in the table")
