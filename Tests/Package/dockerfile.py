"""Carries out a Dockerfile's steps in folders, for machines without a container engine."""

import dataclasses
import fnmatch
import json
import pathlib
import re
import shlex
import shutil
from collections.abc import Callable

from machine import Failed, Machine, run

# Instructions that say something of the image, and change no folder.
SILENT = ("VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK")


@dataclasses.dataclass
class Stage:
    """A stage that is being built, or is ready."""

    machine: Machine
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    folder: str = "/"
    user: str = ""
    entry: list[str] = dataclasses.field(default_factory=list)
    command: list[str] = dataclasses.field(default_factory=list)

    def run(self, arguments: list[str] | None = None, script: str = "") -> str:
        """Runs what the image would run: its entry point with arguments, or a script; as its user, in its folder."""
        line = script or shlex.join([*self.entry, *(arguments or self.command)])
        return self.machine.run(f"cd {self.folder}; {line}", self.environment, user=self.user)


def instructions(text: str) -> list[tuple[str, str]]:
    """The steps: name and rest, without comments, lines joined."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(name.upper(), rest.strip()) for name, _, rest in (line.partition(" ") for line in joined.splitlines())]


class Build:
    """What a Dockerfile makes of a context, step by step."""

    def __init__(self, dockerfile: pathlib.Path, context: pathlib.Path, start: Callable[[str, str], Machine],
                 instead: dict[str, Callable[[Stage], None]], tell: Callable[[str], None]):
        """`start` makes the machine of a FROM (image, name of the stage); `instead` has what is done in a RUN's place."""
        self.start, self.instead, self.tell = start, instead, tell
        self.context = self.reduced(dockerfile, context)
        self.stages: dict[str, Stage] = {}
        self.arguments: dict[str, str] = {}
        self.stage: Stage
        for name, rest in instructions(dockerfile.read_text()):
            self.tell(f"{name} {rest[:100]}")
            if name not in SILENT:
                getattr(self, f"do_{name.lower()}")(rest)

    @staticmethod
    def reduced(dockerfile: pathlib.Path, context: pathlib.Path) -> pathlib.Path:
        """Removes from the context what the .dockerignore file keeps out: `*` first, then what comes back."""
        kept = [line[1:] for line in dockerfile.with_name(dockerfile.name + ".dockerignore").read_text().splitlines()
                if line.startswith("!")]
        for entry in context.iterdir():
            if not any(fnmatch.fnmatch(entry.name, pattern) for pattern in kept):
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        missing = [name for name in kept if not (context / name).exists()]
        if missing:
            raise Failed(f"a clone does not have what .dockerignore names: {missing}")
        return context

    def path(self, name: str) -> pathlib.Path:
        """A path of the stage, as one of this machine."""
        return self.stage.machine.root / str(pathlib.PurePosixPath(self.stage.folder) / name).lstrip("/")

    def do_arg(self, rest: str) -> None:
        """ARG NAME=VALUE"""
        name, _, value = rest.partition("=")
        self.arguments[name] = value

    def do_from(self, rest: str) -> None:
        """FROM IMAGE [AS NAME]"""
        image, _, name = rest.partition(" AS ")
        image = re.sub(r"\$\{(\w+)\}", lambda found: self.arguments[found[1]], image)
        self.stage = self.stages[name or "final"] = Stage(self.start(image, name or "final"))

    def do_run(self, rest: str) -> None:
        """RUN [--mount=type=bind,from=STAGE,source=…,target=…] SCRIPT"""
        if action := self.instead.get(rest):
            self.tell(f"    instead of this step: {action.__doc__}")
            action(self.stage)
            return
        mounted = None
        while found := re.match(r"--mount=(\S+) ", rest):
            fields = dict(field.split("=", 1) for field in found[1].split(","))
            mounted = self.path(fields["target"])
            mounted.mkdir(parents=True, exist_ok=True)
            source = self.stages[fields["from"]].machine.root / fields["source"].lstrip("/")
            run(["mount", "--bind", "--options", "ro", str(source), str(mounted)])
            rest = rest[found.end():].lstrip()
        self.stage.machine.online(f"cd {self.stage.folder}; {rest}", self.stage.environment)
        if mounted:
            run(["umount", str(mounted)])
            mounted.rmdir()

    def do_copy(self, rest: str) -> None:
        """COPY SOURCE… TARGET, from the context"""
        *sources, target = rest.split()
        for source in sources:
            found = self.context / source
            if not found.exists():
                raise Failed(f"COPY {source}: a clone does not have it")
            into = self.path(target)
            if found.is_dir():
                into.mkdir(parents=True, exist_ok=True)
                run(["cp", "--recursive", "--preserve=mode,timestamps", f"{found}/.", str(into)])
            else:
                into = into / found.name if target.endswith("/") else into
                into.parent.mkdir(parents=True, exist_ok=True)
                run(["cp", "--preserve=mode,timestamps", str(found), str(into)])

    def do_env(self, rest: str) -> None:
        """ENV NAME=VALUE …"""
        self.stage.environment |= dict(word.split("=", 1) for word in shlex.split(rest))

    def do_workdir(self, rest: str) -> None:
        """WORKDIR FOLDER"""
        self.stage.folder = str(pathlib.PurePosixPath(self.stage.folder) / rest)
        self.path(".").mkdir(parents=True, exist_ok=True)

    def do_user(self, rest: str) -> None:
        """USER NUMBER:NUMBER"""
        self.stage.user = rest

    def do_entrypoint(self, rest: str) -> None:
        """ENTRYPOINT [WORDS]"""
        self.stage.entry = json.loads(rest)

    def do_cmd(self, rest: str) -> None:
        """CMD [WORDS]"""
        self.stage.command = json.loads(rest)

