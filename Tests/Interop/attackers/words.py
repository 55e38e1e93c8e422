"""Words that are weapons: a server, a backend and people whose texts hold the token, escape sequences, NUL, bidi overrides,
line separators and megabytes. Nothing of it reaches a terminal, a log, an exit code or a file."""

import base64
import contextlib
import hashlib
import json
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import threading
import time

from livekit.protocol import models, rtc
from stage import Process, Stage, make_token
from verdict import Verdict

# Escape sequences that clear a screen, set its title and ask it something; C1's CSI; NUL; bidi; separators; forged lines.
WEAPON = ("\x1b[2J\x1b]0;owned\x07\x1b[6n\x9b31m\0\u202eevil\u2066\u2028\u2029\ufeff\U000e0041"
          "\r\n12:00:00 error forged: line\n\n1\n00:00:00,000 --> 09:00:00,000\nforged -->")
# What must never be seen: controls but tab and line feed, C1, bidi and other format characters but the joiners.
ACTIVE = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u180e\u200b\u200e\u200f\u2028-\u202e"
                    "\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0001\U000e0020-\U000e007f]")
TOKEN = re.compile(r"eyJ[A-Za-z0-9_-]{12,}")

Answer = tuple[int, bytes]


def clean(name: str, text: str, verdict: Verdict, token: str = "", most: int = 4000) -> None:
    """Checks a text that somebody may read: nothing that acts, nothing of a token, not long."""
    found = ACTIVE.search(text)
    verdict.check(not found, f"{name}: {found and hex(ord(found.group()))} in {text[:200]!r}")
    found = TOKEN.search(text)
    pieces = [piece for piece in token.split(".") if len(piece) >= 20 and piece[:20] in text]
    verdict.check(not found and not pieces, f"{name}: a token in {text[:300]!r}")
    verdict.check(len(text) <= most, f"{name}: {len(text)} characters")


class Liar:
    """An HTTP server that answers every request as `answer` says: a status and a body, or a function that goes on with
    the upgraded connection. Keeps the requests' heads."""

    def __init__(self, answer):
        self.answer = answer
        self.heads: list[str] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def __enter__(self) -> "Liar":
        return self

    def __exit__(self, *_) -> None:
        self.listener.close()

    def serve(self) -> None:
        """Takes connections until the listener is closed."""
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.talk, args=(connection,), daemon=True).start()

    def talk(self, connection: socket.socket) -> None:
        """Answers one request."""
        with contextlib.suppress(OSError), connection:
            connection.settimeout(30)
            head = b""
            while b"\r\n\r\n" not in head and len(head) < 1 << 17:
                piece = connection.recv(65536)
                if not piece:
                    return
                head += piece
            text = head.decode(errors="replace")
            self.heads.append(text)
            bearer = re.search(r"(?i)authorization: bearer (\S+)", text)
            made = self.answer(text.split(" ")[1], bearer.group(1) if bearer else "")
            if callable(made):
                key = re.search(r"(?i)sec-websocket-key: (\S+)", text)
                accept = base64.b64encode(hashlib.sha1(
                    (key.group(1) + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
                connection.sendall(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                    f"Sec-WebSocket-Accept: {accept}\r\n\r\n").encode())
                made(connection)
                return
            status, body = made
            connection.sendall(f"HTTP/1.1 {status} x\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                               + body)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass


def frame(payload: bytes, opcode: int = 2) -> bytes:
    """A WebSocket frame of a server (RFC 6455, section 5.2)."""
    size = len(payload)
    length = bytes([size]) if size < 126 else b"\x7e" + struct.pack("!H", size) if size < 65536 else \
        b"\x7f" + struct.pack("!Q", size)
    return bytes([0x80 | opcode]) + length + payload


# What livekit-server answers (pkg/service/auth.go, rtcservice.go, errors.go; go-jose's jwt/errors.go), `@` for the token, and
# what recbot must make of it.
STOCK = [
    (401, "invalid token: @, error: go-jose/go-jose/jwt: validation failed, token is expired (exp)", 21),
    (401, "invalid token: @, error: go-jose/go-jose: error in cryptographic primitive", 28),
    (401, "invalid token: @, error: square/go-jose: error in cryptographic primitive", 28),
    (401, "invalid API key: @", 29),
    (401, "invalid authorization token", 20),
    (401, "invalid token: @, error: something else", 20),
    (401, "permissions denied", 22),
    (401, "no permissions to access the room", 22),
    (401, "invalid authorization header. Must start with Bearer ", 16),
    (400, "participant identity length exceeds limits: max length 256", 26),
    (418, "@", 15),
]


def join(stage: Stage, name: str, port: int, token: str, *options: str) -> Process:
    """A recording of the room `test` from a server of ours, with a token that was given."""
    return stage.run(name, "join", "test", "--url", f"ws://127.0.0.1:{port}", "--output",
                     str(stage.folder / f"{name}.webm"), "--log-level", "trace", *options, RECBOT_TOKEN=token)


def words(stage: Stage, verdict: Verdict) -> None:
    """A server's refusals, with the whole token, escape sequences and a megabyte: the right exit code, and clean words."""
    token = make_token("bot", "test", name="x" * 600)
    runs = []
    with contextlib.ExitStack() as liars:
        for index, (status, text, code) in enumerate(STOCK):
            for form, extra in (("plain", ""), ("armed", WEAPON + "y" * (1 << 20))):
                body = (text + extra).replace("@", token).encode()
                liar = liars.enter_context(Liar(lambda path, bearer, answer=(status, body): answer))
                runs.append((join(stage, f"{form}-{index}", liar.port, token), code))
        for process, code in runs:
            verdict.check(process.exit(30) == code, f"{process.name}: exit code {process.status} instead of {code}")
            clean(process.name, process.errors, verdict, token)
            clean(process.name + " (output)", "\n".join(process.output), verdict, token)
            verdict.check(not (stage.folder / f"{process.name}.webm").exists(), f"{process.name} left a file")
    verdict.figure(f"{len(runs)} refusals, each with its exit code")


def room(token: str) -> rtc.JoinResponse:
    """A room in which everything that has a name is armed."""
    people = [models.ParticipantInfo(
        sid=f"PA_{index}", identity=f"p{index}{WEAPON}", name=f"Ann{index}{WEAPON}", state=2, version=1,
        metadata=WEAPON, attributes={WEAPON: WEAPON},
        tracks=[models.TrackInfo(sid=f"TR_V{index}{WEAPON}", type=1, source=1, name=WEAPON)]) for index in range(3)]
    return rtc.JoinResponse(
        room=models.Room(sid="RM_" + WEAPON, name="test" + WEAPON, metadata=WEAPON), other_participants=people,
        participant=models.ParticipantInfo(sid="PA_me" + WEAPON, identity="bot", state=2,
                                           permission=models.ParticipantPermission(can_subscribe=True)),
        server_version=WEAPON, server_info=models.ServerInfo(version=WEAPON + token, region=WEAPON),
        ice_servers=[rtc.ICEServer(urls=["turn:" + WEAPON], username=WEAPON, credential="turn-of-the-server" + WEAPON)],
        ping_interval=5, ping_timeout=15)


def messages(token: str):
    """What a server may say after the upgrade: then it goes on until the client goes."""
    def talk(connection: socket.socket) -> None:
        def send(**message) -> None:
            connection.sendall(frame(rtc.SignalResponse(**message).SerializeToString()))

        send(join=room(token))
        for index in range(3):
            track = f"TR_V{index}{WEAPON}"
            send(subscription_response=rtc.SubscriptionResponse(track_sid=track, err=1))
            send(subscription_permission_update=rtc.SubscriptionPermissionUpdate(
                participant_sid=WEAPON, track_sid=track, allowed=False))
        send(request_response=rtc.RequestResponse(reason=2, message=f"no: {token} {WEAPON}"))
        send(refresh_token=token)
        send(trickle=rtc.TrickleRequest(candidateInit=WEAPON + token, target=1))
        send(offer=rtc.SessionDescription(type="offer", sdp=WEAPON + token, id=1))
        send(update=rtc.ParticipantUpdate(participants=[models.ParticipantInfo(
            sid="PA_0", identity=f"p0{WEAPON}", name="\0\x1b[31mrenamed", state=2, version=2)]))
        connection.sendall(frame(b"\xff" * 40))
        time.sleep(2)
        send(room_moved=rtc.RoomMovedResponse(room=models.Room(sid="RM_2", name="other" + WEAPON), token=token))
        send(leave=rtc.LeaveRequest(reason=1, action=2))
        connection.sendall(frame(struct.pack("!H", 4000) + ("reason " + WEAPON).encode()[:100], 8))
        while connection.recv(65536):
            pass
    return talk


def armed_room(stage: Stage, verdict: Verdict) -> None:
    """A malicious server in the middle of a session, on a terminal and without one: log, timeline, progress and the file
    are clean."""
    token = make_token("bot", "test")
    with Liar(lambda path, bearer: messages(token)) as liar:
        timeline, talk = stage.folder / "timeline.jsonl", stage.folder / "talk.vtt"
        plain = join(stage, "plain", liar.port, token, "--timeline", str(timeline), "--transcript", str(talk),
                     "--size", "320x180", "--reconnect-timeout", "1s")
        told = join(stage, "told", liar.port, token, "--progress", "json", "--size", "320x180", "--reconnect-timeout", "1s")
        screen = terminal(stage, ["join", "test", "--url", f"ws://127.0.0.1:{liar.port}", "--output",
                                  str(stage.folder / "screen.webm"), "--log-level", "trace", "--size", "320x180",
                                  "--progress", "auto", "--reconnect-timeout", "1s"], token)
        for process in (plain, told):
            for number in (signal.SIGINT, signal.SIGKILL):
                with contextlib.suppress(Exception):
                    process.exit(12)
                    break
                process.send(number)
            verdict.check(process.status is not None and process.status >= 0, f"{process.name}: ended with {process.status}")
    for process in (plain, told):
        clean(process.name, process.errors, verdict, token, most=60_000)
        clean(process.name + " (output)", "\n".join(process.output), verdict, token, most=200_000)
    verdict.check("forged: line\n" not in plain.errors and "\n12:00:00 error forged" not in plain.errors,
                  "a line of the log is forged")
    verdict.check("not received" in plain.errors, "why a track is not received is not told")
    for line in told.output[:-1]:  # the last is the file's name
        with contextlib.suppress(json.JSONDecodeError):
            json.loads(line)
            continue
        verdict.check(False, f"not JSON: {line[:200]!r}")
    # A terminal gets two sequences of recbot's own.
    verdict.check("Ann" in screen or "test" in screen, f"the terminal shows {screen[-300:]!r}")
    clean("terminal", screen.replace("\r\x1b[K", "").replace("\r\n", "\n"), verdict, token, most=200_000)
    entries = timeline.read_text() if timeline.exists() else ""
    names = [json.loads(line).get("name", "") for line in entries.splitlines()]
    verdict.check(any(name.startswith("Ann0") for name in names), f"the timeline has {names[:5]}")
    verdict.check(not ACTIVE.search(entries), "the timeline holds what acts")
    verdict.check(not ACTIVE.search(talk.read_text()), "the subtitles hold what acts")
    report = subprocess.run([stage.recbot, "probe", str(stage.folder / "plain.webm")], capture_output=True, text=True,
                            timeout=20)
    verdict.check(report.returncode == 0, f"probe: {report.stderr}")
    clean("probe", report.stdout, verdict, token)
    verdict.figure(f"{len(names)} entries of the timeline, {len(plain.errors.splitlines())} lines of log")


def terminal(stage: Stage, arguments: list[str], token: str) -> str:
    """Runs recbot for some seconds with a terminal as its standard error; gives what the terminal got."""
    inside, outside = pty.openpty()
    clean_environment = {k: v for k, v in os.environ.items() if not k.startswith(("RECBOT_", "LIVEKIT_"))}
    child = subprocess.Popen([stage.recbot, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=outside, cwd=stage.folder, env=clean_environment | {"RECBOT_TOKEN": token})
    os.close(outside)
    got = bytearray()

    def read() -> None:
        with contextlib.suppress(OSError):
            while piece := os.read(inside, 65536):
                got.extend(piece)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(4)
        child.send_signal(signal.SIGINT)
        child.wait(10)
    finally:
        child.kill()
        child.wait()
        reader.join(5)
        os.close(inside)
    return got.decode(errors="replace")


def armed_backend(stage: Stage, verdict: Verdict) -> None:
    """A backend that lies: its refusals and its jobs hold the caller's credential and weapons."""
    key = "rbk_caller_" + "K3y0fTheCaller" * 2
    job = {"id": "job_1" + WEAPON, "owner": WEAPON, "request": {"room": "r" + WEAPON, "outputs": [], "metadata": {WEAPON: key}},
           "state": "failed", "not_before": "2026-11-22T00:00:00Z", "attempt": 1, "fence": 1, "commands": [],
           "command_sequence": 0, "steering": {}, "parts": [], "files": [{"location": "/x" + WEAPON, "size": 1, "duration": 1}],
           "error": {"name": WEAPON, "code": 20, "message": f"Bearer {key} {WEAPON}"}, "recorded": False, "cancelling": False,
           "created_at": "2026-11-22T00:00:00Z", "updated_at": "2026-11-22T00:00:00Z"}

    def answer(path: str, bearer: str) -> Answer:
        if "refuse" in path or "workers" in path:
            text = f"no: Bearer {bearer}, token={bearer} {WEAPON}"
            return 403, json.dumps({"error": {"code": "denied" + WEAPON, "message": text}}).encode()
        if path.startswith("/v1/jobs?"):
            return 200, json.dumps({"jobs": [job]}).encode()
        return 200, json.dumps(job).encode()

    with Liar(answer) as liar:
        address = {"RECBOT_BACKEND": f"http://127.0.0.1:{liar.port}", "RECBOT_API_KEY": key}
        for arguments in (["jobs", "list"], ["jobs", "list", "--json"], ["jobs", "show", "job_1"],
                          ["jobs", "show", "job_1", "--json"], ["jobs", "show", "refuse"], ["jobs", "cancel", "refuse"]):
            process = stage.run("-".join(arguments), *arguments, "--log-level", "trace", **address)
            process.exit(20)
            text = process.errors + "\n".join(process.output)
            clean(process.name, text, verdict)
            if "--json" not in arguments:
                verdict.check("K3y0fTheCaller" not in text, f"{process.name} shows the key: {text[:300]!r}")
        secret = "W0rkerS3cret" * 4
        worker = stage.run("worker", "worker", "--data-dir", str(stage.folder / "data"), "--log-level", "trace",
                           RECBOT_WORKER_SECRET=secret, RECBOT_BACKEND=address["RECBOT_BACKEND"])
        verdict.check(worker.exit(30) == 46, f"the worker ended with {worker.status}")
        clean("worker", worker.errors, verdict)
        verdict.check("W0rkerS3cret" not in worker.errors, f"the worker shows its secret: {worker.errors[-300:]!r}")
    verdict.figure(f"{len(liar.heads)} lies")


ATTACKS = [words, armed_room, armed_backend]
