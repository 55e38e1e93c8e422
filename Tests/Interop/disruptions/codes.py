"""Every error of the table in Sources/Rooms that can be provoked from outside, provoked: name, numbers, exit code.

All but the changed network (EnableX 5073), which `addresses` provokes.
"""

import base64
import contextlib
import dataclasses
import hashlib
import http.server
import itertools
import json
import os
import pathlib
import signal
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable

import jwt

from disruptions.judging import load
from stage import KEY, SECRET, Failed, Recorder, Stage, free_port, make_token
from verdict import Verdict

ROOM = "test"

# The numbers that people know from the systems that they come from.
KNOWN = {"twilio": {53000, 53001, 53002, 53006, 53105, 53106, 53118, 53205, 53405, *range(20101, 20108)},
         "enablex": {5031, 5032, 5074, 5086, 5087}}


@dataclasses.dataclass
class Row:
    """An error, and what must be told about it."""

    name: str
    exit: int
    numbers: dict[str, object]
    options: list[str] = dataclasses.field(default_factory=list)
    # Done while the bot records; nothing for what happens before.
    provoke: Callable[[str], None] | None = None
    within: float = 12.0
    what: str = ""

    @property
    def label(self) -> str:
        """A name for files and identities."""
        return f"{self.name}{'-' + self.what if self.what else ''}"


def admin(**grants) -> str:
    """A token for the server's APIs."""
    now = int(time.time())
    claims = {"iss": KEY, "sub": "admin", "nbf": now - 60, "exp": now + 600,
              "video": {"roomAdmin": True, "roomCreate": True, "roomList": True, **grants}}
    return jwt.encode(claims, SECRET, algorithm="HS256")


def rooms(body: dict) -> dict:
    """The grant of a call's token: for the room that it is about."""
    return {"room": body["room"]} if "room" in body else {}


def call(url: str, path: str, **body) -> dict:
    """Calls the test API (`test/<verb>`) or a service of a room server."""
    request = urllib.request.Request(
        url.replace("ws://", "http://") + "/" + path, json.dumps(body).encode(),
        {"Authorization": f"Bearer {admin(**rooms(body))}", "Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=5) as reply:
            return json.load(reply)
    except urllib.error.HTTPError as error:
        raise Failed(f"{path} {body}: {error.code} {error.read().decode(errors='replace')}") from None


class Refuser(http.server.BaseHTTPRequestHandler):
    """Answers every request with the status and the text that its path names (see `refuser`)."""

    def do_GET(self) -> None:
        """Refuses."""
        number = self.path.split("/")[1]
        text = STOCK[number].encode() if number in STOCK else b""
        self.send_response(401)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_) -> None:
        """Says nothing."""


# recbot's own server has one answer for all forged tokens; LiveKit's tells what is wrong with them.
STOCK = {
    "20102": "invalid authorization token: go-jose/go-jose: unexpected signature algorithm \"HS512\"; expected [\"HS256\"]",
    "20103": "invalid API key: other",
    "20107": "invalid authorization token: go-jose/go-jose: error in cryptographic primitive",
}


class Oddity(threading.Thread):
    """A server that upgrades to a WebSocket and then says what no room server says."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self) -> None:
        """Serves one after the other until the listener is closed."""
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                with connection:
                    request = connection.recv(65536).decode(errors="replace")
                    key = next((line.split(":", 1)[1].strip() for line in request.splitlines()
                                if line.lower().startswith("sec-websocket-key:")), "")
                    accept = base64.b64encode(hashlib.sha1(
                        (key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
                    connection.sendall((f"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                                        f"Connection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n\r\n").encode())
                    connection.sendall(b"\x82\x04\xff\xff\xff\xff")
                    time.sleep(1)


def codes(stage: Stage, verdict: Verdict) -> None:
    """Each error: its name and the other systems' numbers in the JSON progress, its exit code, the file finished."""
    stage.server("0", "--test-api")
    url = stage.url
    strict = stage.server("0", "--test-api", "--no-auto-create")
    closed = stage.url
    with socket.create_server(("127.0.0.1", 0)) as silent, http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), Refuser) as refuser:
        odd = Oddity()
        threading.Thread(target=refuser.serve_forever, daemon=True).start()
        try:
            ports = silent.getsockname()[1], odd.port, refuser.server_address[1]
            rows = refused(url, closed, *(f"ws://127.0.0.1:{port}" for port in ports))
            for row in rows:
                before(stage, url, row, verdict)
        finally:
            odd.listener.close()
            refuser.shutdown()
    stage.url = url
    person = stage.publisher("ann", "--size", "320x180", colour="green").join()
    rows += during(stage, url, verdict)
    rows += leaving(stage, verdict)
    rows += closed_rooms(stage, closed, verdict)
    del strict, person
    for system, known in KNOWN.items():
        missing = known - {row.numbers.get(system) for row in rows}
        verdict.check(not missing, f"not provoked: {system} {sorted(missing)}")
    verdict.figure(f"{len(rows)} cases of {len({row.name for row in rows})} errors")


def refused(url: str, closed: str, silent: str, odd: str, stock: str) -> list[Row]:
    """Errors before the recording begins."""
    def token(**changes) -> list[str]:
        return ["--token", make_token("bot", ROOM, **changes)]

    def signed(claims: dict, **changes) -> list[str]:
        now = int(time.time())
        video = {"room": ROOM, "roomJoin": True, "canSubscribe": True, "hidden": True}
        return ["--token", jwt.encode({"iss": KEY, "sub": "bot", "nbf": now - 60, "exp": now + 600, "video": video,
                                       **claims}, SECRET, **{"algorithm": "HS256", **changes})]

    free = f"ws://127.0.0.1:{free_port()}"
    number = {"twilio": 53000, "enablex": 5086}
    late = int(time.time()) + 3600
    return [
        Row("dnsFailure", 11, number, ["--url", "ws://no-such-host.invalid", *token()]),
        Row("refused", 12, number, ["--url", free, *token()]),
        Row("timeout", 13, number, ["--url", silent, *token()], within=25),
        Row("tlsFailure", 14, number, ["--url", url.replace("ws:", "wss:"), *token()]),
        Row("notARoomServer", 15, number, ["--url", url + "/elsewhere", *token()]),
        Row("malformedToken", 16, {"twilio": 20102, "http": 401}, ["--url", stock + "/20102", *token()]),
        Row("unknownIssuer", 29, {"twilio": 20103, "http": 401}, ["--url", stock + "/20103", *token(key="other")]),
        Row("tokenNotYetValid", 27, {"twilio": 20105, "http": 401},
            ["--url", url, *signed({"nbf": late, "exp": late + 9})]),
        Row("badSignature", 28, {"twilio": 20107, "http": 401}, ["--url", stock + "/20107", *token()]),
        *(Row("unauthorized", 20, {"twilio": 20101, "http": 401}, ["--url", url, *bad], what=what) for what, bad in (
            ("HS512", signed({}, algorithm="HS512")), ("key", token(key="other")),
            ("secret", token(secret="wrong" * 8)))),
        Row("unauthorized", 20, {"twilio": 20101, "http": 401}, ["--url", url, "--token", "nonsense"]),
        Row("tokenExpired", 21, {"twilio": 20104, "http": 401}, ["--url", url, *token(ttl=-120)]),
        Row("notPermitted", 22, {"twilio": 20106, "http": 401}, ["--url", url, *token(roomJoin=None)]),
        Row("roomNotFound", 23, {"twilio": 53106, "http": 404}, ["--url", closed, *token()]),
        Row("rejected", 26, {"twilio": 53104, "http": 400}, ["--url", url, "--token", make_token("i" * 300, ROOM)]),
        Row("roomFull", 24, {"twilio": 53105, "http": 429}, ["--url", url, *token()],
            lambda _: call(url, "test/fill", room=ROOM, limit=0)),
        Row("busy", 25, {"twilio": 53006, "http": 503}, ["--url", url, *token()],
            lambda _: call(url, "test/busy", room=ROOM, status=503)),
        Row("notAdmitted", 39, {}, ["--url", url, *token(canSubscribe=False), "--wait-for-admission", "2s"]),
        Row("protocolError", 30, {"twilio": 53003}, ["--url", odd, *token()]),
        Row("mediaFailed", 31, {"twilio": 53405, "enablex": 5086}, ["--url", url, *token(), "--no-reconnect"],
            lambda _: call(url, "test/cut-media", room=ROOM, identity="bot"), within=60),
    ]


def before(stage: Stage, url: str, row: Row, verdict: Verdict) -> None:
    """A join that fails: code and numbers, nothing left behind."""
    if row.provoke and row.name != "mediaFailed":
        row.provoke("")
    path = stage.folder / f"{row.label}.webm"
    bot = stage.run(row.label, "join", ROOM, *row.options, "--output", str(path), "--progress", "json")
    if row.name == "mediaFailed":
        # A fault of somebody who is there: at once after the join.
        for _ in range(100):
            try:
                row.provoke("")
                break
            except Failed:
                time.sleep(0.02)
    try:
        status = bot.exit(row.within)
    except Failed as error:
        verdict.check(False, f"{row.label}: {error}")
        bot.close()
        return
    finally:
        call(url, "test/restore")
    verdict.check(status == row.exit, f"{row.label}: exit code {status}, not {row.exit}: {bot.tail()}")
    numbers(row, bot.output, verdict)
    if row.name != "mediaFailed":
        verdict.check(not path.exists(), f"{row.label}: a file is left")


def errors(output: list[str]) -> list[dict]:
    """The errors in the lines of progress."""
    return [report["error"] for report in map(Recorder.progress, output) if report.get("error")]


def numbers(row: Row, output: list[str], verdict: Verdict) -> None:
    """The error's name and numbers stand in a line of progress."""
    found = errors(output)
    named = [error for error in found if error["name"] == row.name]
    told = " ".join(dict.fromkeys(error["name"] for error in found)) or "none"
    if not verdict.check(bool(named), f"{row.label}: not in the progress; errors there: {told}"):
        return
    for system, number in row.numbers.items():
        verdict.check(any(error["codes"].get(system) == number for error in named),
                      f"{row.label}: {system} {number} is not told: {named[-1]['codes']}")


def during(stage: Stage, url: str, verdict: Verdict) -> list[Row]:
    """Errors of sessions: all at the same time, each bot with a fault of its own."""
    def verb(name: str, **body) -> Callable[[str], None]:
        return lambda identity: call(url, f"test/{name}", room=ROOM, identity=identity, **body)

    rows = [
        Row("evicted", 33, {"twilio": 53205, "livekit": "DUPLICATE_IDENTITY"}, [], verb("duplicate")),
        Row("removed", 34, {"livekit": "PARTICIPANT_REMOVED"}, [], verb("kick")),
        Row("signalLost", 36, {"twilio": 53001}, ["--no-reconnect"], verb("cut-signal", mode="close")),
        Row("serverSilent", 37, {"twilio": 53002}, ["--no-reconnect"], verb("cut-signal", mode="silent"), within=25),
        Row("mediaLost", 38, {"twilio": 53405}, ["--no-reconnect"], verb("cut-media"), within=25),
        Row("serverLeaves", 18, {"twilio": 53001}, ["--no-reconnect"], verb("kick", reason="SERVER_SHUTDOWN")),
        Row("sessionUnknown", 19, {"twilio": 53002}, ["--no-reconnect"], verb("kick", reason="STATE_MISMATCH")),
        Row("reconnectTimeout", 17, {"enablex": 5074}, ["--reconnect-timeout", "3s"],
            verb("cut-signal", mode="close"), within=20),
        Row("connectionLost", 32, {"twilio": 53001, "enablex": 5087},
            ["--reconnect-attempts", "2", "--reconnect-interval", "1s"], verb("cut-signal", mode="close"), within=20),
        # Answered by going on: no end, no loss of the file.
        Row("busy", 0, {"twilio": 53006}, [], verb("cut-signal", mode="close", **{"for": 4000}), what="and-back"),
    ]
    bots = {row.label: stage.recorder(row.label, "--size", "320x180", *row.options) for row in rows}
    for bot in bots.values():
        bot.recording(30)
    time.sleep(1.5)
    for row in rows:
        row.provoke(row.label)
    start = time.monotonic()
    for row in rows:
        bot = bots[row.label]
        try:
            if row.what:
                Stage.until(time.time() + max(0.0, 8 - (time.monotonic() - start)))
                bot.stop()
            status = bot.exit(max(1.0, row.within - (time.monotonic() - start)))
        except Failed as error:
            verdict.check(False, f"{row.label}: {error}")
            bot.close()
            continue
        verdict.check(status == row.exit, f"{row.label}: exit code {status}, not {row.exit}: {bot.tail()}")
        numbers(row, bot.output, verdict)
        whole(bot, verdict)
    call(url, "test/restore")
    return rows


def leaving(stage: Stage, verdict: Verdict) -> list[Row]:
    """Asked to end twice: by two signals, and over the control socket until nobody listens any more."""
    rows = [Row("leavingAlready", 0, {"enablex": 5031}), Row("leftAlready", 0, {"enablex": 5032})]
    for row, ask in zip(rows, (two_signals, insist)):
        # It leaves within milliseconds. Before it is asked again it may have left, or its socket may be closed: then
        # nothing is told of this row, and another one is asked.
        for attempt in range(1, 6):
            name = f"{row.label}{attempt}"
            bot = stage.recorder(name, "--size", "320x180", "--job", f"{name}-{os.getpid()}")
            bot.recording(20)
            time.sleep(1)
            ask(bot, verdict)
            status = bot.exit(10)
            verdict.check(status == 0, f"{name}: exit code {status}: {bot.tail()}")
            whole(bot, verdict)
            if any(error["name"] == row.name for error in errors(bot.output)):
                break
        numbers(row, bot.output, verdict)
    return rows


def two_signals(bot: Recorder, verdict: Verdict) -> None:
    """Both wait for the process when it goes on."""
    for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):
        bot.send(number)


def insist(bot: Recorder, verdict: Verdict) -> None:
    """Asks a recording to stop, and for a mark, again and again until its socket is closed."""
    folder = pathlib.Path(os.environ.get("XDG_RUNTIME_DIR") or "/tmp")
    folder = folder / ("recbot" if "XDG_RUNTIME_DIR" in os.environ else f"recbot-{os.geteuid()}")
    answers = []
    with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(OSError):
        client.settimeout(5)
        client.connect(str(folder / f"{bot.name}-{os.getpid()}.sock"))
        with client.makefile("rwb", buffering=0) as stream:
            for command in itertools.cycle(("stop", "marker")):
                stream.write(json.dumps({"command": command}).encode() + b"\n")
                line = stream.readline()
                if not line:
                    break
                answers.append(json.loads(line))
                time.sleep(0.0005)
    verdict.check(len(answers) > 1 and answers[0] == {"ok": True}, f"asked to stop: {answers[:3]}")


def closed_rooms(stage: Stage, url: str, verdict: Verdict) -> list[Row]:
    """A room that is ended: complete, whether the bot is told or finds it gone when it comes back."""
    stage.url = url
    rows = [Row("roomEnded", 0, {"twilio": 53118}), Row("roomNotFound", 0, {"twilio": 53106}, what="coming-back")]
    bots = {}
    for row in rows:
        call(url, "twirp/livekit.RoomService/CreateRoom", name=row.label)
        bots[row.label] = stage.recorder(row.label, "--size", "320x180", room=row.label)
    for bot in bots.values():
        bot.recording(20)
    time.sleep(1.5)
    call(url, "test/end-room", room="roomEnded")
    # All is forgotten, the port stays: as a server that was restarted and has no such room any more.
    for row in rows:
        if row.what:
            call(url, "test/restart", wipe=True)
        bot = bots[row.label]
        try:
            status = bot.exit(15)
        except Failed as error:
            verdict.check(False, f"{row.label}: {error}")
            bot.close()
            continue
        verdict.check(status == 0, f"{row.label}: exit code {status}: {bot.tail()}")
        numbers(row, bot.output, verdict)
        whole(bot, verdict)
    return rows


def whole(bot: Recorder, verdict: Verdict) -> None:
    """The file is finished."""
    if verdict.check(bot.path.exists(), f"{bot.name}: there is no file"):
        faults = Verdict()
        load(bot, faults)
        verdict.take(faults, but="between pictures")
