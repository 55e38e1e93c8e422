#!/usr/bin/env python3
"""Runs one of the three tiers of tests, section by section; Tests/README.md says what is in them.

  Tests/tiers.py check                 before each commit
  Tests/tiers.py test                  what continuous integration runs
  Tests/tiers.py endurance [--hours H] the long forms, again with other seeds until the hours are over

A section that fails does not keep the others from running. At the end a table tells all of them. The exit code is 0 when
all passed.
"""

import argparse
import contextlib
import dataclasses
import datetime
import os
import pathlib
import platform
import re
import shlex
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUN = [".venv/bin/python", "Tests/Interop/run.py"]
RESULTS = ROOT / ".build" / "results"
PACKAGES = ("libssl3 libnice-dev libsrtp2-dev libusrsctp-dev libvpx-dev libopus-dev libavcodec-dev libdav1d-dev libaom-dev libebur128-dev libspeexdsp-dev libyuv-dev libwebm-dev "
            "ffmpeg chromium coturn postgresql-[0-9]*").split()
INPUTS = 10_000_000  # endurance: for each depacketizer and decoder
HEARING = {"check": ["--minutes", "2"], "test": ["--minutes", "10"], "endurance": ["--times", "12", "--minutes", "240"]}
FUZZ = {"check": 1, "test": 1, "endurance": 300}  # seconds for each target
TRACES = 10_000  # endurance: files and logs as a disk may have them after a crash, of each kind
OPERATIONS = 10_000  # endurance: of workers that are killed, on each database
SEED = 20261122
BUILDING = ("packages", "build", "tests")  # does not change from turn to turn
COUNTS = (re.compile(r"Test run with (\d+) tests?\b"), re.compile(r"^(\d+) passed, (\d+) failed$"))
GROUP = re.compile(r"^(\S+): (\d+) passed, (\d+) failed, (\d+) s$")
AGAIN = re.compile(r"^again (\S+): (.*)")
WRONG = re.compile(r"^(FAIL|again|failed) |^✘ |^(\S+:\d+:\d+: )?error: ")
MOST_WRONG = 40  # lines that are said again at the end: what cuts a long log leaves its end


@dataclasses.dataclass
class Section:
    """A command whose exit code is the verdict, and what came of it."""

    name: str
    command: list[str]
    needs: str = ""  # the section without which it cannot run
    beside: list[str] = dataclasses.field(default_factory=list)  # what takes the processor time that the command leaves
    tests: int = 0
    seconds: float = 0.0
    again: list[str] = dataclasses.field(default_factory=list)
    groups: list[tuple[str, int, int, int]] = dataclasses.field(default_factory=list)  # name, passed, failed, seconds in a row
    wrong: list[str] = dataclasses.field(default_factory=list)  # lines about what failed, or was measured again
    status: str = ""

    def run(self) -> None:
        """Runs the command; passes on what it says, and keeps what the table tells."""
        print(f"\n== {self.name}: {' & '.join(map(shlex.join, filter(None, (self.command, self.beside))))}", flush=True)
        began = time.monotonic()
        counted = set()  # a runner may repeat its closing lines
        was_wrong = False
        try:
            # In a group of its own, so that one signal reaches everything that it started, and reaches it once.
            child = subprocess.Popen(self.command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.STDOUT, process_group=0)
            other = self.beside and subprocess.Popen([*leftovers(), *self.beside], cwd=ROOT, stdin=subprocess.DEVNULL,
                                                     process_group=child.pid)
        except OSError as error:
            print(error)
            self.status = "FAILED"
            return
        ended = False

        def end(number, _) -> None:
            nonlocal ended
            ended = True
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, number)

        before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
        for raw in child.stdout:
            line = raw.decode(errors="replace").rstrip("\n")
            print(line, flush=True)
            text = line.strip(" ✔✘\x1b")
            for pattern in COUNTS:
                if (found := pattern.search(text)) and text not in counted:
                    counted.add(text)
                    self.tests += sum(map(int, found.groups()))
            if found := GROUP.match(line):
                self.groups.append((found[1], *map(int, found.groups()[1:])))
            if found := AGAIN.match(line):
                self.again.append(found[1])
            # With what is wrong, indented below a scenario's name.
            is_below = line.startswith(" " * 6) and was_wrong
            if was_wrong := is_below or bool(WRONG.search(line)):
                self.wrong.append(line[:200])
        code = child.wait()
        if other:
            other.wait()  # what it fails for is told by the section that needs it
        for number, handler in before.items():
            signal.signal(number, handler)
        self.seconds = time.monotonic() - began
        self.status = "interrupted" if ended else "FAILED" if code else "passed"


def leftovers() -> list[str]:
    """What a command is run by that shall have only the processor time that others leave."""
    # SwiftPM gives the compilers that it starts an ordinary nice value, but not another class.
    idle = ["chrt", "--idle", "0"]
    return ["nice", "-n", "19", *(idle if subprocess.run([*idle, "true"], check=False, capture_output=True).returncode == 0 else [])]


def sections(tier: str, options: argparse.Namespace) -> list[Section]:
    """What a tier consists of, in the order in which it is run: what says the most in the shortest time first."""
    # A build in the order of its modules leaves a fifth of two processors idle. Two builds must not fetch at once.
    found = [Section("packages", ["swift", "package", "resolve"]),
             Section("build", ["make", "--no-print-directory", "programs"], beside=["Tests/Fuzz/run.sh", "--build", str(options.fuzz)]),
             Section("tests", ["make", "--no-print-directory", "unit-tests"])]
    if tier != "endurance":
        found = [Section("lint", ["make", "--no-print-directory", "lint"]), *found,
                 # What calls the program calls that which is shipped.
                 Section("unit", ["env", f"RECBOT_PROGRAM={pathlib.Path(options.recbot).resolve()}", "Tests/unit.sh",
                                  *(["--quick"] if tier == "check" else [])], "tests")]
    common = ["--tier", tier, "--jobs", str(os.cpu_count() or 1), "--recbot", options.recbot]
    found.append(Section("scenarios", [*RUN, *common, "--junit", str(RESULTS / "scenarios.xml")], "build"))
    if tier == "endurance":
        found.append(Section("busy", ["Tests/beside-load.sh", *RUN, "--tier", "check", *common[2:]], "build"))
        found.append(Section("traces", ["env", f"RECBOT_TRACE_FILES={TRACES}", f"RECBOT_HISTORY_OPERATIONS={OPERATIONS}",
                                        "swift", "test", "--skip-build", "--filter", "WriteTraceTests|HistoryTests"], "tests"))
    found.append(Section("hearing", [".build/release/hearing", *HEARING[tier]], "build"))
    if tier != "check":
        found.append(Section("limits", ["Tests/Benchmarks/limits.py", options.recbot, ".build/release/limits-bench"], "build"))
    found.append(Section("fuzz", ["Tests/Fuzz/run.sh", str(options.fuzz)]))
    if tier == "endurance":
        formats = sorted(path.name for path in (ROOT / "Tests/Fuzz/Corpus").glob("de*er-*"))
        found.append(Section("inputs", ["Tests/Fuzz/run.sh", "--inputs", str(INPUTS), *formats]))
    return found


def versions() -> None:
    """Prints what is tested on, so that two runs can be compared."""
    done = subprocess.run(["dpkg-query", "-W", "-f=${Package} ${Version}\n", *PACKAGES], capture_output=True, text=True,
                          check=False)
    swift = subprocess.run(["swift", "--version"], capture_output=True, text=True, check=False).stdout.splitlines()
    print(f"{datetime.datetime.now().astimezone():%Y-%m-%d %H:%M %Z}, {machine()}")
    print(swift[0] if swift else "no swift")
    # What a pattern finds that is not installed has no version.
    print(", ".join(line for line in done.stdout.splitlines() if len(line.split()) == 2), flush=True)


def machine() -> str:
    """Kernel, processors and memory."""
    names = re.findall(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    kilobytes = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text())[1])
    return (f"{platform.system()} {platform.release()}, {os.cpu_count()} cores {names[0] if names else platform.machine()}, "
            f"{kilobytes / 2**20:.1f} GiB")


def table(done: list[Section]) -> None:
    """Prints what came of the sections."""
    width = max(len(name) for section in done for name in (section.name, *(f"  {group[0]}" for group in section.groups)))
    print(f"\n{'section':<{width}}  verdict      tests  seconds  measured again")
    for section in done:
        print(f"{section.name:<{width}}  {section.status:<11}  {section.tests or '-':>5}  {section.seconds:7.0f}  "
              f"{', '.join(section.again) or '-'}")
        for name, passed, failed, seconds in section.groups:
            print(f"{'  ' + name:<{width}}  {'FAILED' if failed else 'passed':<11}  {passed + failed:>5}  {seconds:7}  one after another")
    print(f"{'in all':<{width}}  {'':<11}  {sum(section.tests for section in done):5}  "
          f"{sum(section.seconds for section in done):7.0f}  {sum(len(section.again) for section in done)}", flush=True)
    if wrong := [line for section in done for line in section.wrong]:
        print("\nWhat failed, or was measured again:", *wrong[:MOST_WRONG], sep="\n", flush=True)
        if len(wrong) > MOST_WRONG:
            print(f"and {len(wrong) - MOST_WRONG} lines more, above")


def perform(planned: list[Section], done: list[Section]) -> bool:
    """Runs sections, and adds them to those that are done; false when the run was interrupted."""
    for section in planned:
        done.append(section)
        # Known to have failed, in this round.
        if any(other.name == section.needs and other.status != "passed" for other in planned):
            section.status = "not run"
        else:
            section.run()
        if section.status == "interrupted":
            return False
    return True


def endure(options: argparse.Namespace, done: list[Section]) -> None:
    """The long forms: all once, and again with other seeds as long as there is time."""
    end = time.monotonic() + 3600 * options.hours
    lines: list[str] = []
    for turn in range(10_000):
        planned = [section for section in sections("endurance", options) if turn == 0 or section.name not in BUILDING]
        planned = [section for section in planned if not options.only or section.name in options.only]
        seed = options.seed + turn
        for section in planned:
            if section.command[:2] == RUN:
                section.command += ["--seed", str(seed)]
                pathlib.Path(section.command[section.command.index("--junit") + 1]).unlink(missing_ok=True)
        if not perform(planned, done):
            break
        lines += report(planned, seed)
        write_report(lines)
        if time.monotonic() >= end:
            break


def report(planned: list[Section], seed: int) -> list[str]:
    """The lines of the endurance table, from what the scenarios left."""
    lines = []
    for section in planned:
        path = RESULTS / f"{section.name}.xml"
        if section.command[:2] != RUN or not path.exists():
            lines.append(f"| {section.name} | {section.status} | {section.seconds:.0f} s | {section.tests or ''} | {seed} |")
            continue
        for case in xml.parse(path).iter("testcase"):
            bad = case.find("failure")
            verdict = "FAILED" if bad is not None else "skipped" if case.find("skipped") is not None else "passed"
            said = (case.findtext("system-out") or "").replace("|", "/").replace("\n", " ")
            lines.append(f"| {case.get('classname')}/{case.get('name')} | {verdict} | {float(case.get('time')):.0f} s | {said} | {seed} |")
    return lines


def write_report(lines: list[str]) -> None:
    """Writes the endurance table as a page of Markdown."""
    path = RESULTS / "endurance.md"
    path.write_text("\n".join([
        f"{datetime.date.today()}, {machine()}.", "", "| scenario | verdict | time | figures and limits | seed |",
        "| --- | --- | --- | --- | --- |", *lines, ""]), encoding="utf-8")
    print(f"\nendurance: {len(lines)} lines in {path.relative_to(ROOT)}", flush=True)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tier", choices=("check", "test", "endurance"))
    parser.add_argument("--hours", type=float, default=0.0, help="endurance: begin again until so many are over")
    parser.add_argument("--seed", type=int, default=SEED, help="endurance: of the first round; each next one has the next")
    parser.add_argument("--fuzz", type=int, help=f"seconds for each fuzz target ({', '.join(f'{tier}: {time}' for tier, time in FUZZ.items())})")
    parser.add_argument("--recbot", default=".build/release/recbot", help="the program that is tested from outside")
    parser.add_argument("--only", action="append", default=[], metavar="SECTION", help="just this section; may be repeated")
    options = parser.parse_args()
    options.fuzz = options.fuzz or FUZZ[options.tier]
    RESULTS.mkdir(parents=True, exist_ok=True)
    versions()
    done: list[Section] = []
    if options.tier == "endurance":
        endure(options, done)
    else:
        planned = sections(options.tier, options)
        perform([section for section in planned if not options.only or section.name in options.only], done)
    table(done)
    return 0 if done and all(section.status == "passed" for section in done) else 1


if __name__ == "__main__":
    sys.exit(main())
