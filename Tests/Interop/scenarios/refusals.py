"""Bad input: every mistake has one clear line and an exit code of its own, and leaves nothing behind."""

import dataclasses
import os
import pathlib
import socket
import subprocess
import time

from stage import KEY, SECRET, Stage, make_token
from verdict import Verdict

USAGE = 64


@dataclasses.dataclass
class Mistake:
    """A wrong command line, and what must come of it."""

    what: str
    code: int
    arguments: list[str]
    says: str  # must stand in the line
    environment: dict[str, str] = dataclasses.field(default_factory=dict)


def refusals(stage: Stage, verdict: Verdict) -> None:
    """A table of mistakes: exit codes, one line on standard error, nothing on standard output, no file left behind."""
    stage.server()
    folder = stage.folder / "output"
    folder.mkdir()
    existing = folder / "existing.webm"
    existing.write_bytes(b"mine")
    began = time.monotonic()
    # Something that listens and is no room server, and a port on which nothing does.
    with socket.create_server(("127.0.0.1", 0)) as silent, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        silent_port, closed_port = silent.getsockname()[1], closed.getsockname()[1]
        table = mistakes(stage.url, folder, silent_port, closed_port)
        seen: dict[str, int] = {}
        for mistake in table:
            seen[mistake.what] = commit(mistake, stage.recbot, folder, verdict)
    left = sorted(entry.name for entry in folder.iterdir())
    verdict.check(left == ["existing.webm"], f"left behind: {left}")
    verdict.check(existing.read_bytes() == b"mine", "an existing file was changed")
    verdict.figure(f"{len(table)} mistakes, {len(set(seen.values()))} exit codes, "
                   f"{time.monotonic() - began:.1f} s")


def mistakes(url: str, folder: pathlib.Path, silent_port: int, closed_port: int) -> list[Mistake]:
    """The table."""
    output = ["--output", str(folder / "new.webm")]
    good = ["--url", url, "--token", make_token("bot", "test")]

    def join(*arguments: str) -> list[str]:
        return ["join", "test", *arguments]

    def with_token(token: str) -> list[str]:
        return join("--url", url, "--token", token, *output)

    port = url.rsplit(":", 1)[1]
    return [
        # The address.
        Mistake("address without a scheme", 10, join("--url", "localhost:7880x", *good[2:], *output), "ws://"),
        Mistake("address of another kind", 10, join("--url", "ftp://127.0.0.1", *good[2:], *output), "ws://"),
        Mistake("empty address", 10, join("--url", "", *good[2:], *output), "ws://"),
        Mistake("unknown host", 11, join("--url", "ws://no-such-host.invalid", *good[2:], *output), "no-such-host"),
        Mistake("refused connection", 12, join("--url", f"ws://127.0.0.1:{closed_port}", *good[2:], *output), "reach"),
        Mistake("wss to a plain server", 14, join("--url", f"wss://127.0.0.1:{port}", *good[2:], *output), "TLS"),
        Mistake("wrong path", 15, join("--url", f"{url}/elsewhere", *good[2:], *output), "404"),
        Mistake("no address", USAGE, join(*good[2:], *output), "--url"),
        # The token.
        Mistake("token that is none", 20, with_token("nonsense"), "token"),
        Mistake("token of another secret", 20, with_token(make_token("bot", "test", secret="wrong" * 8)), "token"),
        Mistake("token of another key", 20, with_token(make_token("bot", "test", key="other")), "token"),
        Mistake("wrong secret", 20, join("--url", url, "--api-key", KEY, "--api-secret", "wrong" * 8, *output),
                "token"),
        Mistake("expired token", 21, with_token(make_token("bot", "test", ttl=-120)), "expired"),
        Mistake("token without roomJoin", 22, with_token(make_token("bot", "test", roomJoin=None)), "roomJoin"),
        Mistake("token that may not subscribe", 22, with_token(make_token("bot", "test", canSubscribe=False)),
                "canSubscribe"),
        Mistake("token for another room", USAGE, with_token(make_token("bot", "elsewhere")), "elsewhere"),
        Mistake("two ways in", USAGE, [*with_token(make_token("bot", "test")), "--api-key", KEY], "one of them"),
        Mistake("no token", USAGE, join("--url", url, *output), "--token"),
        Mistake("key without secret", USAGE, join("--url", url, "--api-key", KEY, *output), "--api-secret"),
        # The output.
        Mistake("existing output", 40, join(*good, "--output", str(folder / "existing.webm")), "exists"),
        Mistake("folder that is none", 41, join(*good, "--output", str(folder / "none" / "new.webm")), "folder"),
        Mistake("folder that is a file", 41, join(*good, "--output", str(folder / "existing.webm" / "new.webm")),
                "folder"),
        Mistake("folder that takes no files", 41, join(*good, "--output", "/proc/new.webm"), "/proc"),
        Mistake("output of another kind", USAGE, join(*good, "--output", str(folder / "new.mp4")), ".webm"),
        # Values.
        *(Mistake(f"size {size}", USAGE, join(*good, *output, "--size", size), "size")
          for size in ("big", "0x0", "641x360", "99999x99999", "-2x2", "640x")),
        Mistake("layout", USAGE, join(*good, *output, "--layout", "mosaic"), "grid"),
        *(Mistake(f"duration {text}", USAGE, join(*good, *output, "--max-duration", text), "duration")
          for text in ("soon", "5 parsecs", "99999999999h", "")),
        Mistake("frames a second", USAGE, join(*good, *output, "--fps", "1000"), "fps"),
        Mistake("codec", USAGE, join(*good, *output, "--codec", "h264"), "known: vp8, vp9, av1"),
        Mistake("bit rate", USAGE, join(*good, *output, "--video-bitrate", "fast"), "bit rate"),
        Mistake("progress mode", USAGE, join(*good, *output, "--progress", "loud"), "json"),
        Mistake("log level", USAGE, join(*good, *output, "--log-level", "deafening"), "level"),
        Mistake("size in the environment", USAGE, join(*good, *output), "RECBOT_SIZE", {"RECBOT_SIZE": "big"}),
        Mistake("configuration file", USAGE, join(*good, *output, "--config", str(folder / "none.yaml")), "none.yaml"),
        # Other commands.
        Mistake("port that is taken", 43, ["room-server", "--port", str(silent_port)], str(silent_port)),
        Mistake("port that is none", USAGE, ["room-server", "--port", "70000"], "port"),
        Mistake("address of others", 43, ["room-server", "--bind", "192.0.2.77", "--port", "0", "--api-secret", SECRET],
                "192.0.2.77"),
        Mistake("address with a port", USAGE, ["room-server", "--bind", "127.0.0.1:7880"], "--port"),
        Mistake("the backend's address with a port", USAGE, ["serve", "--bind", "127.0.0.1:8080"], "--port"),
        Mistake("probe of nothing", 42, ["probe", str(folder / "none.webm")], "none.webm"),
        Mistake("probe of something else", 42, ["probe", str(folder / "existing.webm")], "existing.webm"),
        Mistake("demo of nobody", USAGE, ["demo", "--participants", "0", *output], "participants"),
        Mistake("demo into an existing file", 40, ["demo", "--output", str(folder / "existing.webm")], "exists"),
        Mistake("time to live", USAGE, ["token", "--room", "r", "--identity", "i", "--ttl", "ever"], "ttl"),
        # What the argument parser itself refuses: its own text, the same code.
        Mistake("unknown flag", USAGE, join(*good, *output, "--loud"), "--loud"),
        Mistake("no room", USAGE, ["join", *good, *output], "room"),
        Mistake("unknown command", USAGE, ["listen"], "listen"),
    ]


def commit(mistake: Mistake, recbot: str, folder: pathlib.Path, verdict: Verdict) -> int:
    """Makes a mistake; checks what comes of it."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("RECBOT_", "LIVEKIT_"))}
    try:
        done = subprocess.run([recbot, *mistake.arguments], capture_output=True, text=True, timeout=20, cwd=folder,
                              env=clean | mistake.environment, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        verdict.check(False, f"{mistake.what}: still runs after 20 s")
        return -1
    verdict.check(done.returncode == mistake.code, f"{mistake.what}: exit code {done.returncode}, not {mistake.code}: "
                  + done.stderr.strip()[:300])
    verdict.check(not done.stdout, f"{mistake.what}: on standard output: {done.stdout[:100]!r}")
    # The lines that tell of progress are no complaints.
    lines = [line for line in done.stderr.splitlines() if line and not line.startswith(("○", "●"))]
    own = not done.stderr.startswith("Error:")
    verdict.check(not own or (len(lines) == 1 and lines[0].startswith("recbot: ")),
                  f"{mistake.what}: standard error is not one line of recbot: {done.stderr[:300]!r}")
    verdict.check(mistake.says.lower() in done.stderr.lower(), f"{mistake.what}: nothing of {mistake.says!r} in "
                  f"{done.stderr.strip()[:300]!r}")
    for secret in (SECRET, "wrongwrong"):
        verdict.check(secret not in done.stderr, f"{mistake.what}: a secret is printed")
    return done.returncode
