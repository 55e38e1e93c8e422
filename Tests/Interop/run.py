#!/usr/bin/env python3
"""Runs the scenarios: recbot from outside, with real WebRTC clients, networks, stores and databases, judged by what comes
out of it.

  Tests/Interop/run.py                       what `make test` runs of them
  Tests/Interop/run.py speaker faults/relays the named ones
  Tests/Interop/run.py --only 'outage*' --repeat 10
  Tests/Interop/run.py --list                all there are

Needs the packages of requirements.txt, and of Debian what deploy/install-deps.sh --tests installs. Each scenario prints one
line with what it measured. One that fails while the machine itself does not keep time is measured again (steadiness.py), and
so is one that failed while others ran beside it: then nothing does, and it must pass twice if it was more than late. Such a line
begins with `again`. The exit code is 0 when all passed.
"""

import argparse
import concurrent.futures
import dataclasses
import fnmatch
import json
import multiprocessing
import pathlib
import resource
import signal
import sys
import tempfile
import time
import traceback
import xml.etree.ElementTree as xml

import seeds
from groups import GROUPS, Group
from judge import Unplayable
from stage import HERE, TOOLS, Failed, Stage
from steadiness import Repeats, Steadiness, Watch
from verdict import Verdict

# How long each scenario takes and how many processors it keeps busy meanwhile, as --measure wrote it.
COSTS = HERE / "costs.json"
UNKNOWN = (60.0, 0.75)
FULL = 0.75  # of the processors' time: clients, servers and recorders keep to the clock, and need room for it
MOST = 8  # at once
# A slower machine, or one whose host is busy, takes more of a processor for the same: what has ended says how much. Until then:
PACE, PACE_WEIGHT = 1.5, 20.0  # times what is known, counted as so many seconds of processor time


@dataclasses.dataclass
class Task:
    """A scenario that is to be run, and what came of it."""

    group: Group
    name: str
    cost: tuple[float, float] = UNKNOWN  # seconds, processors
    seconds: float = 0.0
    busy: float = 0.0  # seconds of processor time
    owes: int = 1  # passes in a row
    verdict: Verdict = dataclasses.field(default_factory=Verdict)
    skipped: str = ""

    @property
    def passed(self) -> bool:
        """True when nothing was found that is not as it should be."""
        return not self.verdict.faults

    def perform(self, folder: pathlib.Path, options: argparse.Namespace) -> "Task":
        """Runs the scenario; gives itself, with the verdict."""
        work = folder / self.group.name / self.name
        while True:
            try:
                work.mkdir(parents=True)
                break
            except FileExistsError:  # the same scenario again
                work = work.with_name(work.name + "+")
        self.verdict = Verdict()
        began, used = time.monotonic(), processor_time()
        try:
            with Stage(str(options.recbot), work, options.log_level, options.tools) as stage:
                self.group.scenarios[self.name](stage, self.verdict)
        except (Failed, Unplayable) as error:
            self.verdict.check(False, str(error))
        except AssertionError as error:
            line = next((frame.lineno for frame in reversed(traceback.extract_tb(error.__traceback__))
                         if "unittest" not in frame.filename), 0)
            self.verdict.check(False, f"line {line}: {error}")
        except Exception:  # a fault of the scenario is a failure too, not the end of the others
            self.verdict.check(False, traceback.format_exc())
        self.seconds, self.busy = time.monotonic() - began, processor_time() - used
        return self

    def tell(self) -> None:
        """Prints its line, and what is not as it should be."""
        seed = [f"seed {self.group.seeded.SEED}"] if self.group.seeded else []
        print(f"{'pass' if self.passed else 'FAIL'}  {self.group.name}/{self.name:<14} {self.seconds:3.0f} s  "
              f"{', '.join(filter(None, self.verdict.figures + seed))}")
        for fault in self.verdict.faults:
            print("      " + fault.replace("\n", "\n      "))
        sys.stdout.flush()


def processor_time() -> float:
    """What this process and all its ended children have used, in seconds."""
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def choose(options: argparse.Namespace, parser: argparse.ArgumentParser) -> list[Task]:
    """What the command line asks for."""
    groups = [GROUPS[name] for name in options.group] if options.group else list(GROUPS.values())
    patterns = options.scenarios + options.only
    for pattern in patterns:
        if not any(matches(group, name, pattern) for group in groups for name in group.scenarios):
            parser.error(f"no such scenario: {pattern}; run.py --list tells all")
    costs = json.loads(COSTS.read_text())
    tasks = []
    for group in groups:
        names = [name for name in group.scenarios if any(matches(group, name, pattern) for pattern in patterns)]
        if not patterns:
            names = group.chosen(options.tier or "test")
            names += [name for name in group.long if options.long and name not in names]
        obstacles = group.obstacles() if names else {}
        tasks += [Task(group, name, skipped=obstacles.get("") or obstacles.get(name, ""),
                       cost=costs.get(f"{group.name}/{name}", UNKNOWN)) for name in names]
    return tasks


def matches(group: Group, name: str, pattern: str) -> bool:
    """Whether a pattern means a scenario: by its name, or by that of its group and its own."""
    return fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(f"{group.name}/{name}", pattern)


def tell_all(tier: str | None) -> None:
    """Prints what there is, or what is run in a tier."""
    for group in GROUPS.values():
        names = group.chosen(tier) if tier else list(group.scenarios)
        if names or not tier:
            print(f"{group.name}: {group.about}")
        for name in names:
            scenario = group.scenarios[name]
            tiers = "check, test" if name in group.smoke else "endurance" if name in group.long else "test"
            print(f"  {name}  [{tiers}]  {(scenario.__doc__ or '').strip().splitlines()[0] if scenario.__doc__ else ''}".rstrip())


def one_by_one(tasks: list[Task], folder: pathlib.Path, options: argparse.Namespace, repeats: dict[str, Repeats]) -> None:
    """Runs scenarios with nothing beside them, and again while the machine excuses a failure. One that failed for the first time
    passes when it does so twice more: then it was the only one of three that did not."""
    def attempt(task: Task) -> Verdict:
        task.perform(folder, options).tell()
        return task.verdict

    for task in tasks:
        name, again = f"{task.group.name}/{task.name}", repeats[task.group.name]
        owes = task.owes - 1
        if not again.measure(name, lambda: attempt(task)):
            owes = 2 if task.owes == 1 and again.twice(name) else 0
        while owes and again.measure(name, lambda: attempt(task)):
            owes -= 1


def side_by_side(tasks: list[Task], folder: pathlib.Path, options: argparse.Namespace,
                 repeats: dict[str, Repeats]) -> list[Task]:
    """Runs scenarios, each in a process of its own, so many at once as the processors bear, the longest first; gives those
    that failed, which is no verdict yet: what is late for what others do may also be missing."""
    again = []
    waiting = sorted(tasks, key=lambda task: task.cost[0], reverse=True)
    expected, used = PACE_WEIGHT, PACE * PACE_WEIGHT
    running: dict[concurrent.futures.Future, Task] = {}
    with concurrent.futures.ProcessPoolExecutor(MOST, multiprocessing.get_context("fork")) as pool:
        while waiting or running:
            for task in list(waiting):
                busy = sum(other.cost[1] for other in running.values())
                room = FULL * options.jobs * expected / used
                if not running or len(running) < MOST and busy + task.cost[1] <= room:
                    waiting.remove(task)
                    running[pool.submit(play, task.group.name, task.name, folder, options)] = task
            ended, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in ended:
                task = running.pop(future)
                task.seconds, task.busy, task.verdict, seen = future.result()
                task.tell()
                if task.passed and task.cost != UNKNOWN:
                    expected, used = expected + task.cost[0] * task.cost[1], used + task.busy
                if not task.passed:
                    is_late = task.verdict.is_only_untimely
                    reason = f"{'late' if is_late else 'failed'} with others beside it"
                    if repeats[task.group.name].excuse(f"{task.group.name}/{task.name}", 0, seen, is_late, reason):
                        task.owes = 1 if is_late or seen.fault else 2
                        again.append(task)
    return again


def play(group: str, name: str, folder: pathlib.Path, options: argparse.Namespace) -> tuple[float, float, Verdict, Steadiness]:
    """One scenario in a process of its own; gives how the machine kept time meanwhile, too."""
    with Watch() as watch:
        task = Task(GROUPS[group], name).perform(folder, options)
    return task.seconds, task.busy, task.verdict, watch.seen


def write_costs(tasks: list[Task]) -> None:
    """Keeps what scenarios took, beside what is known of others that are still there."""
    costs = json.loads(COSTS.read_text()) | {
        f"{task.group.name}/{task.name}": (round(task.seconds), max(0.2, round(task.busy / task.seconds, 2)))
        for task in tasks if task.passed}
    there = [f"{group.name}/{name}" for group in GROUPS.values() for name in group.scenarios]
    lines = [f"  {json.dumps(name)}: {json.dumps(costs[name])}" for name in there if name in costs]
    COSTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def write_junit(path: str, tasks: list[Task]) -> None:
    """Writes what came of them as JUnit's XML."""
    root = xml.Element("testsuites")
    for group in GROUPS.values():
        mine = [task for task in tasks if task.group is group]
        if not mine:
            continue
        suite = xml.SubElement(root, "testsuite", name=group.name, tests=str(len(mine)),
                               failures=str(sum(not task.passed for task in mine)),
                               skipped=str(sum(bool(task.skipped) for task in mine)),
                               time=f"{sum(task.seconds for task in mine):.1f}")
        if group.seeded:
            xml.SubElement(xml.SubElement(suite, "properties"), "property", name="seed", value=str(group.seeded.SEED))
        for task in mine:
            case = xml.SubElement(suite, "testcase", classname=group.name, name=task.name, time=f"{task.seconds:.1f}")
            if task.skipped:
                xml.SubElement(case, "skipped", message=task.skipped)
            if not task.passed:
                xml.SubElement(case, "failure", message=printable(task.verdict.faults[0])).text = printable(
                    "\n".join(task.verdict.faults))
            xml.SubElement(case, "system-out").text = printable(", ".join(task.verdict.figures))
    xml.indent(root)
    xml.ElementTree(root).write(path, encoding="unicode", xml_declaration=True)


def printable(text: str) -> str:
    """A text without what XML cannot hold."""
    return "".join(character for character in text if character.isprintable() or character == "\n")


def interrupted(*_) -> None:
    """Makes SIGTERM an exception, so that everything is cleaned up."""
    raise KeyboardInterrupt


def read() -> tuple[argparse.Namespace, argparse.ArgumentParser]:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", metavar="scenario", help="NAME or GROUP/NAME, * and ? stand for others")
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN", help="the same; may be repeated")
    parser.add_argument("--group", action="append", default=[], choices=GROUPS, help="of these groups; may be repeated")
    parser.add_argument("--tier", choices=("check", "test", "endurance"), help="what is run when no scenario is named (default: test)")
    parser.add_argument("--long", action="store_true", help="also what only endurance runs, and longer forms")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="run each so many times")
    parser.add_argument("--jobs", type=int, default=1, metavar="N",
                        help="run so many at once as keep N processors busy (default: one after another)")
    parser.add_argument("--measure", action="store_true", help="write what each takes into costs.json, for --jobs")
    parser.add_argument("--junit", metavar="FILE", help="also write what came of them as JUnit's XML")
    parser.add_argument("--list", action="store_true", help="tell what there is, and run nothing")
    parser.add_argument("--seed", type=int, help="of everything random, where it is seeded")
    parser.add_argument("--recbot", type=pathlib.Path, default=TOOLS / "recbot")
    parser.add_argument("--tools", type=pathlib.Path, default=TOOLS, help="where the programs of Tests/Tools are")
    parser.add_argument("--keep", metavar="DIR", help="keep recordings and logs in this folder (a new one)")
    parser.add_argument("--log-level", default="warning", help="of recbot's own logs (see --keep)")
    options = parser.parse_args()
    options.recbot, options.tools = options.recbot.resolve(), options.tools.resolve()
    return options, parser


def main() -> int:
    """The command line."""
    options, parser = read()
    if options.list:
        tell_all(options.tier)
        return 0
    if not options.recbot.is_file():
        parser.error(f"there is no {options.recbot}; build it (swift build -c release) or give --recbot")
    seeds.GIVEN = options.seed
    for group in GROUPS.values():
        if group.seeded and options.seed is not None:
            group.seeded.SEED = options.seed
        if group.lengthens:
            group.seeded.LONG = options.long or options.tier == "endurance"
    tasks = [dataclasses.replace(task) for task in choose(options, parser) for _ in range(options.repeat)]
    # So that children are ended too when a time limit ends this process.
    signal.signal(signal.SIGTERM, interrupted)
    for reason in dict.fromkeys(f"{task.group.name}/{task.name}: {task.skipped}" for task in tasks if task.skipped):
        print(f"skipped: {reason}", flush=True)
    left = [task for task in tasks if not task.skipped]
    few = options.jobs == 1 or len(left) == 1
    together = [] if few else [task for task in left if task.name not in task.group.alone]
    alone = left if few else [task for task in left if task.name in task.group.alone]
    repeats = {group.name: Repeats() for group in GROUPS.values()}
    with tempfile.TemporaryDirectory(prefix="recbot-interop-") as temporary:
        folder = pathlib.Path(options.keep).resolve() if options.keep else pathlib.Path(temporary)
        again = side_by_side(together, folder, options, repeats) if together else []
        one_by_one(again + alone, folder, options, repeats)
    if options.junit:
        write_junit(options.junit, tasks)
    if options.measure:
        write_costs(left)
    if len(groups := {task.group.name: task.group for task in left}) > 1:
        for group in groups.values():
            mine = [task for task in left if task.group is group]
            passed = sum(task.passed for task in mine)
            print(f"{group.name}: {passed} passed, {len(mine) - passed} failed, {sum(task.seconds for task in mine):.0f} s")
    failed = sum(not task.passed for task in left)
    print(f"{len(left) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("interrupted")
