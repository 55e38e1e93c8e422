"""Connections that are held open, requests that come slowly, heads with two meanings or with none."""

import asyncio
import concurrent.futures
import json
import random
import socket
import sys
import threading
import time
import urllib.request

from livekit import rtc

import attackers
from stage import HERE, KEY, SECRET, Failed, Process, Stage, free_port, make_token
from verdict import Verdict, ms, worst

# The real clients are at 127.0.0.1; nothing chooses another address for them.
ATTACKER = "127.0.0.3"
# A client joins, and is answered, within so many seconds whatever others do.
PATIENCE = 1.0
PAGES = ("/healthz", "/readyz", "/metrics")


def servers(stage: Stage) -> dict[str, int]:
    """Starts a room server, a backend, and a worker with its page; gives their ports."""
    stage.server()
    port, page = free_port(), free_port()
    data = stage.folder / "data"
    data.mkdir(mode=0o700)
    backend = stage.run(
        "backend", "serve", "--port", str(port), "--data-dir", str(data), "--log-level", stage.log_level,
        LIVEKIT_URL=stage.url, LIVEKIT_API_KEY=KEY, LIVEKIT_API_SECRET=SECRET, RECBOT_WORKER_SECRET="w" * 32)
    backend.line(lambda text: "Backend on" in text, 20)
    stage.run("worker", "worker", "--backend", f"http://127.0.0.1:{port}", "--bind", f"127.0.0.1:{page}", "--data-dir",
              str(stage.folder / "work"), "--log-level", stage.log_level, RECBOT_WORKER_SECRET="w" * 32)
    for _ in range(200):
        try:
            get(page, "/readyz")
            break
        except OSError:
            time.sleep(0.1)
    return {"room server": int(stage.url.rsplit(":", 1)[1]), "backend": port, "worker": page}


def health(server: str) -> str:
    """The path of a server's simplest answer."""
    return "/" if server == "room server" else "/healthz"


def flood(stage: Stage, name: str, port: int, *options: str) -> Process:
    """Begins to hold connections open; waits until all have been made once."""
    process = stage.start(Process(
        name, [sys.executable, str(HERE / "publishers" / "flood.py"), "--port", str(port), *options], stage.folder))
    process.line(lambda text: json.loads(text)["made"] >= 5000, 20)
    return process


def join(url: str, identity: str) -> float:
    """Joins a room with a real client and leaves; gives the seconds that joining took."""
    async def once() -> float:
        room = rtc.Room()
        began = time.monotonic()
        await room.connect(url, make_token(identity, "attacked", hidden=None, canPublish=True))
        took = time.monotonic() - began
        await room.disconnect()
        return took
    return asyncio.run(asyncio.wait_for(once(), 30))


def get(port: int, path: str) -> float:
    """Asks for a page over a new connection; gives the seconds that the answer took."""
    began = time.monotonic()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=15) as answer:
        answer.read()
    return time.monotonic() - began


def talk(port: int, request: bytes, timeout: float = 3.0) -> bytes:
    """Sends bytes and gives all that comes back until the server closes, or for so long."""
    answer = b""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout) as connection:
            end = time.monotonic() + timeout
            connection.sendall(request)
            while (left := end - time.monotonic()) > 0:
                connection.settimeout(left)
                if not (chunk := connection.recv(65536)):
                    break
                answer += chunk
    except OSError:
        pass  # closed in the middle: an answer too
    return answer


def half_open(stage: Stage, verdict: Verdict) -> None:
    """5,000 half-open connections from one address, then from a hundred, at each server: others get in at once."""
    ports = servers(stage)
    alone = join(stage.url, "warm-up")
    many = ",".join(f"127.0.1.{n}" for n in range(1, 101))
    for what, sources in (("one address", ATTACKER), ("100 addresses", many)):
        floods = [flood(stage, f"flood-{name[0]}-{what[0]}", port, "--sources", sources, "--head", "GET /rt")
                  for name, port in ports.items()]
        joins = [join(stage.url, f"guest-{n}") for n in range(4)]
        asked = [get(ports[name], path) for name in ("backend", "worker") for path in PAGES * 2]
        for flooder in floods:
            verdict.check(flooder.status is None, f"{what}: the attacker has ended: {flooder.tail()}")
        last = [json.loads(flooder.output[-1]) for flooder in floods]
        verdict.timely(worst(joins) < PATIENCE, f"{what}: joining took {ms(worst(joins))}")
        verdict.timely(worst(asked) < PATIENCE, f"{what}: backend and worker answered after {ms(worst(asked))}")
        verdict.figure(f"{what}: {sum(one['made'] for one in last)} made, joins {ms(worst(joins))} "
                       f"({ms(alone)} alone), backend and worker {ms(worst(asked))}")
        for flooder in floods:
            flooder.close()
            stage.processes.remove(flooder)


def drip(port: int, beginning: bytes, drop: bytes, patience: float) -> tuple[float, bytes]:
    """Sends something a little at a time; gives when the server ended it, and the first line of its answer."""
    began = time.monotonic()
    answer = b""
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        connection.settimeout(0.2)
        try:
            connection.sendall(beginning)
            while time.monotonic() < began + patience:
                connection.sendall(drop)
                try:
                    if not (chunk := connection.recv(4096)):
                        break
                    answer += chunk
                except TimeoutError:
                    pass
            else:
                return float("inf"), answer
        except OSError:
            pass
    return time.monotonic() - began, answer.split(b"\r\n")[0]


def slow_requests(stage: Stage, verdict: Verdict) -> None:
    """Heads and bodies that come drop by drop, and connections that say nothing, are ended by the clock alone."""
    ports = servers(stage)
    head = b"GET / HTTP/1.1\r\nHost: a\r\nX: "
    body = b"POST /twirp/livekit.RoomService/ListRooms HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\n"
    hook = b"POST /webhooks/livekit HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\nContent-Length: 9999\r\n\r\n"
    attempts = {("room server", "head"): (head, b"x", 15), ("room server", "body"): (body, b"{", 15),
                ("room server", "nothing"): (b"", b"", 15), ("backend", "head"): (head, b"x", 15),
                ("backend", "nothing"): (b"", b"", 15), ("worker", "head"): (head, b"x", 15),
                ("worker", "nothing"): (b"", b"", 15)}
    if attackers.LONG:
        attempts["backend", "body"] = (hook, b"{", 40)
    with concurrent.futures.ThreadPoolExecutor(len(attempts)) as pool:
        running = {what: pool.submit(drip, ports[what[0]], *how) for what, how in attempts.items()}
        ends = {what: run.result() for what, run in running.items()}
    for (server, what), (seconds, answer) in ends.items():
        limit = attempts[server, what][2]
        verdict.check(seconds < limit, f"{server}, slow {what}: still open after {limit} s ({answer})")
        verdict.figure(f"{server} {what} {seconds:.1f} s")
    for server, port in ports.items():
        get(port, health(server))


# What is refused. Each is followed by a whole good request, which nobody must answer.
HEADS = {
    "no host": b"GET {path} HTTP/1.1\r\n\r\n",
    "two hosts": b"GET {path} HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    "the same host twice": b"GET {path} HTTP/1.1\r\nHost: a\r\nhOST: a\r\n\r\n",
    "a host that is none": b"GET {path} HTTP/1.1\r\nHost: a/b@c\r\n\r\n",
    "length and chunks":
        b"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and length":
        b"POST {path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
    "two lengths": b"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 4\r\n\r\n",
    "the same length twice": b"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
    "a list of lengths": b"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 0, 0\r\n\r\n",
    "a signed length": b"POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: +0\r\n\r\n",
    "another coding": b"POST {path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "a coding with a tab": b"POST {path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    "a space before the colon": b"POST {path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "chunks in HTTP/1.0": b"POST {path} HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "a folded header": b"GET {path} HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
    "a bare CR": b"GET {path} HTTP/1.1\r\nHost: a\r\nX: a\rHost: b\r\n\r\n",
    "a NUL": b"GET {path} HTTP/1.1\r\nHost: a\r\nX: \x00\r\n\r\n",
    "another version": b"GET {path} HTTP/2.0\r\nHost: a\r\n\r\n",
    "many headers": b"GET {path} HTTP/1.1\r\nHost: a\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(300)) + b"\r\n",
    "a long header": b"GET {path} HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 300_000 + b"\r\n\r\n",
    "a long target": b"GET {path}?" + b"x" * 300_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
    "many long headers": b"GET {path} HTTP/1.1\r\nHost: a\r\n" + (b"X: " + b"x" * 20_000 + b"\r\n") * 20 + b"\r\n",
}


def two_meanings(stage: Stage, verdict: Verdict) -> None:
    """Heads that two readers could understand in two ways are refused, and nothing behind them is answered."""
    ports = servers(stage)
    for server, port in ports.items():
        path = health(server).encode()
        good = b"GET %b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" % path
        verdict.check(talk(port, good).startswith(b"HTTP/1.1 200"), f"{server}: a good request is not answered")
        old = talk(port, b"GET %b HTTP/1.0\r\n\r\n" % path)
        verdict.check(b" 200 " in old[:16], f"{server}: HTTP/1.0 without Host: {old[:40]}")
        for name, head in HEADS.items():
            answer = talk(port, head.replace(b"{path}", path) + good)
            status = answer[9:12]
            refused = not answer or status in (b"400", b"408", b"413", b"414", b"431", b"501", b"505")
            verdict.check(refused, f"{server}: {name}: {answer[:60]}")
            alone = answer.count(b"HTTP/1.1 ") <= 1
            verdict.check(alone, f"{server}: {name}: what follows is answered: {answer[:200]}")
            if "host" in name:
                verdict.check(status == b"400", f"{server}: {name} is {status}, not 400")
        # A bad one behind a good one: the good one is answered, then the bad one is refused, in this order.
        bad = HEADS["two hosts"].replace(b"{path}", path)
        pair = talk(port, good.replace(b"Connection: close\r\n", b"") + bad + good)
        found = [part[:3] for part in pair.split(b"HTTP/1.1 ")[1:]]
        verdict.check(found == [b"200", b"400"], f"{server}: a bad head behind a good one: {found}")
    verdict.figure(f"{len(HEADS)} heads at {len(ports)} servers")


SEEDS = [
    b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /rtc/validate?access_token=x HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /rtc?access_token=x HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\x82\x85aaaahello",
    b"POST /twirp/livekit.RoomService/ListRooms HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\n"
    b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    b"POST /v1/jobs HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\nTrailer: x\r\n\r\n",
    b"PUT /mailbox/v1/room/seat HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
    b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\nHEAD / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
]
# What a mutation puts in.
WORDS = [b"\r\n", b"\n", b"\r", b"\0", b" ", b":", b"%00", b"Host: b\r\n", b"Content-Length: 99999999999999999999\r\n",
         b"Transfer-Encoding: chunked\r\n", b"Connection: upgrade, close\r\n", b"Upgrade: websocket, h2c\r\n",
         b"HTTP/1.1", b"HTTP/0.9", b"\xff\xfe", b"ffffffffffffffff\r\n", b"-1\r\n", b"?" * 50, b"/" * 50, b"[" * 600,
         b"Authorization: Bearer a.b.c\r\n", b"Sec-WebSocket-Key: x\r\n", b"X: " + b"y" * 5000 + b"\r\n"]


def mutated(seed: int) -> bytes:
    """A request with some random changes, the same for the same seed."""
    dice = random.Random(seed)
    text = bytearray(dice.choice(SEEDS))
    for _ in range(dice.randint(1, 6)):
        at = dice.randint(0, len(text))
        match dice.randrange(6):
            case 0: text[at:at] = dice.choice(WORDS)
            case 1: del text[at:at + dice.randint(1, 8)]
            case 2: text[at:at + 1] = bytes([dice.randrange(256)])
            case 3: text[at:at] = text[max(0, at - dice.randint(1, 60)):at]
            case 4: text[at:at] = dice.choice(SEEDS)
            case _: text = text[:at] if dice.random() < 0.3 else text
    return bytes(text)


def mutated_heads(stage: Stage, verdict: Verdict) -> None:
    """Thousands of damaged requests, whole and cut: all servers live, and answer a good one afterwards."""
    ports = servers(stage)
    count = 20_000 if attackers.LONG else 1500
    end = time.monotonic() + (240 if attackers.LONG else 20)
    sent = {server: 0 for server in ports}
    lock = threading.Lock()

    def attack(server: str, port: int, first: int) -> None:
        for number in range(first, count, 6):
            if time.monotonic() > end:
                return
            request = mutated(attackers.SEED + number)
            try:
                with socket.create_connection(("127.0.0.1", port), 2) as connection:
                    connection.sendall(request)
                    connection.shutdown(socket.SHUT_WR)
                    connection.settimeout(0.2)
                    connection.recv(4096)
            except OSError:
                pass  # refused in one way or the other
            with lock:
                sent[server] += 1

    with concurrent.futures.ThreadPoolExecutor(18) as pool:
        tasks = [pool.submit(attack, server, port, first) for server, port in ports.items() for first in range(6)]
        for task in tasks:
            task.result()
    for server, port in ports.items():
        try:
            took = get(port, health(server))
            verdict.timely(took < PATIENCE, f"{server}: a good request takes {ms(took)} afterwards")
        except OSError as error:
            verdict.check(False, f"{server}: {error}, with seed {attackers.SEED}")
        verdict.check(sent[server] >= min(count, 500), f"{server}: only {sent[server]} were sent in time")
    for process in stage.processes:
        if process.status is not None:
            raise Failed(f"{process.name} ended with {process.status}: {process.tail()}")
    verdict.figure(", ".join(f"{server} {number} requests" for server, number in sent.items()))


ATTACKS = [half_open, slow_requests, two_meanings, mutated_heads]
