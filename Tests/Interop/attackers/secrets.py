"""Secrets that are planted everywhere, each of its own, and searched for in everything that the shipped program writes: at
every log level, when it succeeds and when it fails, in arguments and environments of its children, in files."""

import contextlib
import pathlib
import re
import signal
import subprocess
import time

from attackers.words import Liar
from stage import KEY, Process, Stage, free_port, make_token
from verdict import Verdict

LEVELS = ("trace", "debug", "info", "notice", "warning", "error")
# What no log, argument or file holds: a signed token, whole or cut.
TOKEN = re.compile(rb"eyJ[A-Za-z0-9_-]{12,}")


class Plants:
    """Secrets by name, all different, none a word."""

    def __init__(self):
        self.values = {
            "api secret": "Pl4ntedApiSecret-of-64-bytes-and-more-as-hmac-sha512-wants-it-0000",
            "caller secret": "Pl4ntedCallerSecret-1111111111111111111",
            "worker secret": "Pl4ntedWorkerSecret-2222222222222222222",
            "webhook secret": "whsec_UGw0bnRlZFdlYmhvb2tTZWNyZXQzMzMzMzMzMzMz",
            "store key": "Pl4ntedStoreKey/44444444444444444444",
            "store session": "Pl4ntedStoreSession+5555555555555555",
            "turn credential": "Pl4ntedTurnCredential-666666",
            "ice credential": "Pl4ntedIceCredential-777777",
            "database password": "Pl4ntedDatabasePassword-8888",
            "address password": "Pl4ntedAddressPassword-9999",
            "sink key": "Pl4ntedSinkKey-AAAAAAAAAAAA",
        }

    def __getitem__(self, name: str) -> str:
        return self.values[name]

    def check(self, what: str, found: bytes, verdict: Verdict, tokens: bool = True) -> None:
        """Searches bytes for every secret, and for tokens."""
        for name, value in self.values.items():
            place = found.find(value.encode())
            verdict.check(place < 0, f"{what}: the {name} in {found[max(0, place - 80):place + 20]!r}")
            # Without its beginning or end it is as good.
            half = value.encode()[6:22]
            verdict.check(place >= 0 or half not in found, f"{what}: a part of the {name}")
        token = TOKEN.search(found)
        verdict.check(not tokens or not token, f"{what}: a token in {found[max(0, (token.start() if token else 0) - 80):][:160]!r}")

    def environment(self, stage: Stage, data: pathlib.Path) -> dict[str, str]:
        """All of them, where the program looks for them."""
        return {
            "LIVEKIT_URL": stage.url, "LIVEKIT_API_KEY": KEY, "LIVEKIT_API_SECRET": self["api secret"],
            "RECBOT_API_SECRET": self["caller secret"], "RECBOT_WORKER_SECRET": self["worker secret"],
            "RECBOT_WEBHOOK_SECRET": self["webhook secret"],
            "RECBOT_WEBHOOK_URLS": f"http://127.0.0.1:9/hook?token={self['address password']}",
            "RECBOT_S3_BUCKET": "planted", "RECBOT_S3_ENDPOINT": "http://127.0.0.1:9",
            "AWS_ACCESS_KEY_ID": "AKIDPLANTED", "AWS_SECRET_ACCESS_KEY": self["store key"],
            "AWS_SESSION_TOKEN": self["store session"], "RECBOT_TURN_SERVER": "turn:127.0.0.1:9",
            "RECBOT_TURN_USERNAME": "planted", "RECBOT_TURN_CREDENTIAL": self["turn credential"],
            "RECBOT_ROOM_SERVER_ICE_CREDENTIAL": self["ice credential"], "RECBOT_PRIVATE_ADDRESSES": "allow",
            "RECBOT_DATA_DIR": str(data),
        }


def room_server(stage: Stage, plants: Plants, level: str) -> Process:
    """A room server under the planted secret."""
    server = stage.run(f"server-{level}", "room-server", "--port", "0", "--api-key", KEY, "--log-level", level,
                       "--ice-server", "turn:127.0.0.1:9", "--ice-username", "planted", "--webhook",
                       "http://127.0.0.1:9/hook?token=" + plants["address password"],
                       LIVEKIT_API_SECRET=plants["api secret"],
                       RECBOT_ROOM_SERVER_ICE_CREDENTIAL=plants["ice credential"])
    _, text = server.line(lambda text: "ws://" in text, 20)
    stage.url = next(word for word in text.split() if word.startswith("ws://"))
    return server


def said(process: Process) -> bytes:
    """Everything that a process wrote."""
    return process.log.read_bytes() + process.log.with_suffix(".out").read_bytes()


def end(process: Process, verdict: Verdict, patience: float = 20) -> None:
    """Ends a process as an operator does."""
    process.send(signal.SIGTERM)
    process.exit(patience)
    verdict.check(process.status in (0, 130), f"{process.name}: ended with {process.status}: {process.tail()}")


def children(process: Process) -> list[pathlib.Path]:
    """The folders in /proc of all processes below one."""
    below = []
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            if int(status.read_text().rsplit(")", 1)[1].split()[1]) in {process.child.pid, *(int(p.name) for p in below)}:
                below.append(status.parent)
    return below


def planted_service(stage: Stage, verdict: Verdict) -> None:
    """`serve --with-worker` and `room-server` at every level, with a recording at the most talkative one: nothing planted is
    in a log, an argument, a child's environment or a file."""
    plants = Plants()
    for level in LEVELS:
        server = room_server(stage, plants, level)
        data = stage.folder / f"data-{level}"
        environment = plants.environment(stage, data)
        port = free_port()
        backend = stage.run(f"serve-{level}", "serve", "--with-worker", "--port", str(port), "--log-level", level,
                            **environment)
        backend.line(lambda text: "worker" in text and "in this process" in text, 20)
        if level in ("trace", "error"):
            made = subprocess.run([stage.recbot, "keys", "add", "caller", "--data-dir", str(data)], text=True,
                                  capture_output=True, timeout=20, env={"PATH": "/usr/bin:/bin"})
            key = made.stdout.strip()
            verdict.check(key.startswith("rbk_"), f"no key: {made.stderr}")
            plants.values["caller's key"] = key
            asking = {"RECBOT_BACKEND": f"http://127.0.0.1:{port}", "RECBOT_API_KEY": key}
            job = stage.run(f"submit-{level}", "jobs", "submit", "test", "--sink",
                            f"audio:mixed=ws://127.0.0.1:9/x?key={plants['sink key']}", "--log-level", level, **asking)
            verdict.check(job.exit(20) == 0, f"no job: {job.tail()}")
            looked = 0
            of_the_backend = pathlib.Path(f"/proc/{backend.child.pid}/cmdline").read_bytes()
            stop = time.monotonic() + 12
            while time.monotonic() < stop and looked < 3:
                for child in children(backend):
                    with contextlib.suppress(OSError):
                        arguments, own = (child / "cmdline").read_bytes(), (child / "environ").read_bytes()
                        if arguments == of_the_backend:  # forked, and not yet a program of its own: it is the backend's memory
                            continue
                        if b"record" in arguments:
                            looked += 1
                        plants.check(f"arguments {arguments!r}", arguments, verdict)
                        plants.check("a child's environment", own, verdict)
                time.sleep(0.5)
            verdict.check(looked >= 3, "no recording was seen")
            for arguments in (["list"], ["list", "--json"], ["show", job.output[0]], ["cancel", job.output[0]]):
                one = stage.run(f"jobs-{level}-{arguments[0]}{len(arguments)}", "jobs", *arguments, "--log-level", level, **asking)
                verdict.check(one.exit(20) == 0, f"jobs {arguments}: {one.tail()}")
            refused = stage.run(f"refused-{level}", "jobs", "list", "--log-level", level,
                                **(asking | {"RECBOT_API_KEY": make_token("x", "y", secret=plants["caller secret"][::-1])}))
            verdict.check(refused.exit(20) == 46, f"a wrong key ended with {refused.status}")
        end(backend, verdict, 40)
        end(server, verdict)
    everything(stage, plants, verdict)


def everything(stage: Stage, plants: Plants, verdict: Verdict) -> None:
    """Searches every file that is there now. What a caller asked `keys add` for is not among them."""
    files = [path for path in stage.folder.rglob("*") if path.is_file() and path.name != "planted.yaml"]
    for path in files:
        found = path.read_bytes()
        if path.name.startswith("recbot.sqlite"):  # the backend's own: it has to know its receivers' addresses
            verdict.check(path.stat().st_mode & 0o77 == 0, f"{path.name} is not its owner's alone")
            found = found.replace(plants["address password"].encode(), b"").replace(plants["sink key"].encode(), b"")
        if path.name.startswith("jobs-") and path.name.endswith("-list2.out"):  # who asked for a sink reads it again, as JSON alone
            found = found.replace(plants["sink key"].encode(), b"")
        plants.check(str(path.relative_to(stage.folder)), found, verdict)
    logs = sum(len(path.read_bytes()) for path in files if path.suffix == ".log")
    verdict.figure(f"{len(files)} files, {logs >> 10} KiB of logs, {len(plants.values)} secrets")


def planted_commands(stage: Stage, verdict: Verdict) -> None:
    """The other commands, where they succeed and where they fail: flags, environment and file as sources."""
    plants = Plants()
    room_server(stage, plants, "warning")
    environment = plants.environment(stage, stage.folder / "data")
    token = make_token("bot", "test", secret=plants["api secret"])
    expired = make_token("bot", "test", ttl=-600, secret=plants["api secret"])
    forged = make_token("bot", "test", secret="another" * 8)
    closed = f"postgres://me:{plants['database password']}@127.0.0.1:9/name?password={plants['database password']}"
    settings = stage.folder / "planted.yaml"
    settings.touch(0o600)
    settings.write_text(f"livekit:\n  url: {stage.url}\n  api-key: {KEY}\n  api-secret: {plants['api secret']}\n")
    with Liar(lambda path, bearer: (401, f"invalid token: {bearer}, error: x".encode())) as liar:
        lying = f"ws://127.0.0.1:{liar.port}"
        joins = {
            "minted": (["--max-duration", "2s"], {}, 0),
            "given": (["--max-duration", "2s"], {"RECBOT_TOKEN": token}, 0),
            "by-flag": (["--max-duration", "2s", "--api-secret", plants["api secret"], "--turn-server", "turn:127.0.0.1:9",
                         "--turn-credential", plants["turn credential"]], {}, 0),
            "by-file": (["--max-duration", "2s", "--config", str(settings)],
                        {"LIVEKIT_API_KEY": "", "LIVEKIT_API_SECRET": ""}, 0),
            "expired": ([], {"RECBOT_TOKEN": expired}, 21),
            "forged": ([], {"RECBOT_TOKEN": forged}, 20),
            "lied-to": (["--url", lying], {}, 20),
            "lied-to-given": (["--url", lying], {"RECBOT_TOKEN": token}, 20),
            "nobody": (["--url", "ws://127.0.0.1:9"], {}, 12),
        }
        running = []
        for level in ("trace", "debug"):
            # Two recordings at once have two identities.
            joins["given"][1]["RECBOT_TOKEN"] = make_token(f"given-{level}", "test", secret=plants["api secret"])
            for name, (options, more, code) in joins.items():
                path = stage.folder / f"{name}-{level}.webm"
                extra = [] if "--max-duration" not in options else [
                    "--timeline", str(path.with_suffix(".timeline")), "--transcript", str(path.with_suffix(".jsonl"))]
                running.append((stage.run(f"{name}-{level}", "join", "test", "--output", str(path), "--size", "320x180",
                                          "--identity", f"{name}-{level}", "--log-level", level, *options, *extra,
                                          **(environment | more)), code))
            running += [
                (stage.run(f"database-{level}", "serve", "--database", closed, "--port", "0", "--log-level", level,
                           **environment), 48),
                (stage.run(f"config-{level}", "config", "check", "--log-level", level, **(environment | {"RECBOT_DATABASE": closed})),
                 None),
                (stage.run(f"worker-{level}", "worker", "--log-level", level, "--data-dir", str(stage.folder / f"w-{level}"),
                           **(environment | {"RECBOT_BACKEND": lying.replace("ws", "http")})), 46),
                (stage.run(f"people-{level}", "people", "--room", "test", "--participants", "1", "--duration", "1s",
                           "--log-level", level, **environment), None),
            ]
        for process, code in running:
            process.exit(60)
            verdict.check(code is None or process.status == code,
                          f"{process.name}: exit code {process.status} instead of {code}: {process.tail()}")
    everything(stage, plants, verdict)
    verdict.figure(f"{len(running)} commands")


ATTACKS = [planted_service, planted_commands]
