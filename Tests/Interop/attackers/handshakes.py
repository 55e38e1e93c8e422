"""Servers that speak TLS as nobody should, and HTTP inside of it: the bot and the command line say so and end as usual."""

import concurrent.futures
import os
import pathlib
import random
import socket
import ssl
import subprocess
import threading
import time

import attackers
from stage import Stage, make_token
from verdict import Verdict

# What is done to the bytes of an honest server.
DAMAGES = ("flip", "cut", "double", "swap", "grow", "drop")
# Instead of a server's first flight: records of RFC 8446 section 5.1, whole and not.
GARBAGE = (
    b"", b"\x16", b"\x16\x03\x03", b"\x16\x03\x03\xff\xff", b"\x16\x03\x03\x40\x00" + b"\x02\xff\xff\xff" * 4096,
    b"\x16\x03\x03\x00\x00" * 20_000, b"\x15\x03\x03\x00\x02\x01\x00" * 20_000, b"\x15\x03\x03\x00\x02\x02\x28",
    b"\x14\x03\x03\x00\x01\x01" * 20_000, b"\x17\x03\x03\x00\x00" * 20_000, b"HTTP/1.1 400 Bad Request\r\n\r\n",
    b"\x16\x03\x03\x00\x04\x0e\x00\x00\x00", b"\x16\x03\x01\x00\x04\x00\x00\x00\x00" * 5_000, b"\x80\x2e\x01\x03\x00" * 999,
)
# Inside of good TLS: what is answered once, and what then follows for ever.
ANSWERS = (
    (b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n", b""),
    (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx", b""),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", b""),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", b""),
    (b"HTTP/9.9 200 OK\r\n\r\n{}", b""), (b"\x00" * 100, b""), (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", b""),
    (b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000, b""), (b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"),
    (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 100 Continue\r\n\r\n"),
    (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\n[\r\n"),
)
HONEST = (b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"jobs":[]}', b"")


def damaged(flight: bytes, damage: str, dice: random.Random) -> bytes:
    """What an attacker on the way makes of a server's bytes."""
    at = dice.randrange(len(flight))
    to = min(len(flight), at + dice.randint(1, 64))
    match damage:
        case "flip":
            return flight[:at] + bytes([flight[at] ^ (1 << dice.randrange(8))]) + flight[at + 1:]
        case "cut":
            return flight[:at]
        case "double":
            return flight[:to] + flight[at:]
        case "swap":
            return flight[:at] + flight[at:to][::-1] + flight[to:]
        case "grow":
            return flight[:at] + dice.randbytes(dice.randint(1, 70_000)) + flight[at:]
        case _:
            return flight[:at] + flight[to:]


class Host:
    """A server on this machine, for as many connections as come: a subclass serves each by `serve`."""

    def __init__(self):
        self.connections = 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        """Serves each connection in a thread of its own, until the socket is closed."""
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        """One connection."""
        raise NotImplementedError

    def close(self) -> None:
        """Takes no more."""
        self.socket.close()


class Liar(Host):
    """Answers each connection by the same plan."""

    def __init__(self, context: ssl.SSLContext, garbage: bytes | None = None, answer: tuple[bytes, bytes] = HONEST,
                 damage: str = "", flight: int = 0, seed: int = 0):
        self.context, self.garbage, self.answer, self.damage, self.flight, self.seed = (
            context, garbage, answer, damage, flight, seed)
        super().__init__()

    def serve(self, connection: socket.socket) -> None:
        """One connection."""
        connection.settimeout(10)
        with connection:
            try:
                if self.garbage is None:
                    self.speak(connection)
                else:
                    connection.recv(65_536)
                    connection.sendall(self.garbage)
                    connection.recv(65_536)
            except (OSError, ssl.SSLError):  # the other side has had enough
                pass

    def speak(self, connection: socket.socket) -> None:
        """TLS over two buffers, so that its bytes can be damaged on their way."""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = self.context.wrap_bio(incoming, outgoing, server_side=True)
        dice, flights, is_open = random.Random(self.seed), 0, False
        while True:
            try:
                if not is_open:
                    tls.do_handshake()
                    is_open = True
                    continue
                if tls.read(65_536):
                    self.reply(tls, connection, outgoing, dice, flights)
                    return
            except ssl.SSLWantReadError:
                flights += self.send(connection, outgoing, dice, flights)
                data = connection.recv(65_536)
                if not data:
                    return
                incoming.write(data)

    def reply(self, tls, connection, outgoing, dice, flights: int) -> None:
        """The answer to what was asked."""
        once, repeated = self.answer
        end = time.monotonic() + 30
        tls.write(once)
        self.send(connection, outgoing, dice, flights)
        while repeated and time.monotonic() < end:
            tls.write(repeated)
            self.send(connection, outgoing, dice, flights + 1)
        connection.recv(65_536)

    def send(self, connection, outgoing, dice, flights: int) -> int:
        """Sends what TLS wants to send, damaged when it is its turn; gives how many flights that were."""
        data = outgoing.read()
        if not data:
            return 0
        connection.sendall(damaged(data, self.damage, dice) if self.damage and flights == self.flight else data)
        return 1


def false_handshakes(stage: Stage, verdict: Verdict) -> None:
    """Damaged and made-up TLS, and endless or impossible answers inside good TLS: one line and an exit code, soon."""
    folder = pathlib.Path(stage.folder)
    certificate, key = folder / "cert.pem", folder / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-keyout", str(key), "-out", str(certificate), "-subj", "/CN=test",
                    "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
    contexts = []
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        context.minimum_version = context.maximum_version = version
        contexts.append(context)
    each = 40 if attackers.LONG else 2
    plans = [dict(garbage=garbage) for garbage in GARBAGE] + [dict(answer=answer) for answer in ANSWERS]
    plans += [dict(damage=damage, flight=flight, seed=attackers.SEED + number)
              for damage in DAMAGES for flight in (0, 1) for number in range(each)]
    # An honest one shows that the others are refused for what they do.
    plans.append({})
    passed: list[bool] = []

    def attempt(number: int, plan: dict, command: str) -> str:
        server = Liar(contexts[number % 2], **plan)
        words = {"list": ["jobs", "list", "--backend", f"https://localhost:{server.port}", "--backend-key", "rbk_x"],
                 "join": ["join", "room", "--url", f"wss://localhost:{server.port}", "--token",
                          make_token("bot", "room"), "--output", f"{command}{number}.webm", "--no-reconnect"]}[command]
        began = time.monotonic()
        try:
            done = subprocess.run([stage.recbot, *words], capture_output=True, text=True, timeout=60, cwd=folder,
                                  env={"PATH": os.environ["PATH"], "SSL_CERT_FILE": str(certificate)})
        except subprocess.TimeoutExpired:
            return f"{command} of {plan}: still there after a minute"
        finally:
            server.close()
        took, lines = time.monotonic() - began, [line for line in done.stderr.splitlines() if line.startswith("recbot: ")]
        # A record's version means nothing in TLS 1.3, and a byte may be swapped with itself.
        may_pass = command == "list" and (not plan or "damage" in plan)
        good = may_pass and done.returncode == 0 or (plan or command == "join") and 0 < done.returncode < 128 and len(lines) == 1
        passed.append(done.returncode == 0)
        return "" if good and took < 45 else f"{command} of {str(plan)[:120]}: {done.returncode} after {took:.1f} s: {done.stderr[-200:]}"

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        found = [pool.submit(attempt, number, plan, command)
                 for number, plan in enumerate(plans) for command in ("list", "join")]
    for fault in filter(None, (one.result() for one in found)):
        verdict.check(False, fault)
    most = sum("damage" in plan for plan in plans) // 8 + 1
    verdict.check(1 <= sum(passed) <= most, f"{sum(passed)} answers were believed, 1 to {most} may be")
    verdict.figure(f"{len(plans)} servers")


ATTACKS = (false_handshakes,)
