"""Forged datagrams in a call's sockets: sent from the true peer's address and port by somebody who sees the packets.

The attacker reads what passes on the loopback interface and writes whole IP packets, as somebody on the path can; it has
no keys. The bot and the room server are attacked, each in the other's name.
"""

import contextlib
import os
import pathlib
import random
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterator

import attackers
from scenarios.common import in_step, load
from stage import Process, Recorder, Stage
from verdict import Verdict

RATE = 2000  # datagrams a second
GROWTH = 12 * 1024  # KiB of memory that a flood may cost for good: what had not been touched before
OUTGOING = 4  # packet(7): seen on its way out; the loopback interface shows everything twice

Flow = tuple[tuple[str, int], tuple[str, int]]


def obstacle() -> str:
    """Why there can be no raw sockets here; empty when there can."""
    try:
        socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW).close()
        socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800)).close()
    except OSError as error:
        return f"no raw sockets: {error.strerror}"
    return ""


def ports(process: Process) -> set[int]:
    """The UDP ports that a process has open."""
    inodes = set()
    for entry in pathlib.Path(f"/proc/{process.child.pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            target = os.readlink(entry)
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    found = set()
    for line in pathlib.Path("/proc/net/udp").read_text().splitlines()[1:]:
        fields = line.split()
        if fields[9] in inodes:
            found.add(int(fields[1].rsplit(":", 1)[1], 16))
    return found


class Tap:
    """Sees the datagrams of the loopback interface and sends forged ones. A context manager."""

    def __init__(self, heard: Callable[[Flow, bytes], None] | None = None):
        self.seen: dict[Flow, list[bytes]] = {}
        self.heard = heard or self.keep
        self.sent = 0
        self.ended = False
        self.raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
        self.ear = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        self.ear.bind(("lo", 0x0800))
        self.ear.settimeout(0.2)
        self.thread = threading.Thread(target=self.listen, daemon=True)
        self.thread.start()

    def __enter__(self) -> "Tap":
        return self

    def __exit__(self, *_) -> None:
        self.ended = True
        self.thread.join()
        self.raw.close()
        self.ear.close()

    def listen(self) -> None:
        """The listening thread: tells of every UDP datagram."""
        while not self.ended:
            try:
                packet, address = self.ear.recvfrom(65536)
            except TimeoutError:
                continue
            header = 4 * (packet[0] & 15)
            # What is forged here goes by a mark in the field that IP uses for fragments.
            if address[2] == OUTGOING or packet[9] != socket.IPPROTO_UDP or packet[4:6] == MARK:
                continue
            source, destination = struct.unpack("!HH", packet[header:header + 4])
            flow = ((socket.inet_ntoa(packet[12:16]), source), (socket.inet_ntoa(packet[16:20]), destination))
            self.heard(flow, packet[header + 8:])

    def keep(self, flow: Flow, payload: bytes) -> None:
        """Keeps the newest datagrams of each flow."""
        kept = self.seen.setdefault(flow, [])
        kept.append(payload)
        if len(kept) > 400:
            del kept[:200]

    def send(self, flow: Flow, payload: bytes) -> None:
        """Sends a datagram in the name of a flow's source."""
        (source, port), (destination, target) = flow
        length = 28 + len(payload)
        ip = struct.pack("!BBH2sHBBH4s4s", 0x45, 0, length, MARK, 0, 64, socket.IPPROTO_UDP, 0,
                         socket.inet_aton(source), socket.inet_aton(destination))
        # Without a sum, which IPv4 allows (RFC 768).
        udp = struct.pack("!HHHH", port, target, 8 + len(payload), 0)
        with contextlib.suppress(OSError):
            self.raw.sendto(ip + udp + payload, (destination, 0))
            self.sent += 1


MARK = b"\xfa\xce"


def record(kind: int, body: bytes, epoch: int = 0, number: int = 0, length: int | None = None,
           version: int = 0xfefd) -> bytes:
    """A DTLS record."""
    return struct.pack("!BHH", kind, version, epoch) + number.to_bytes(6, "big") + struct.pack(
        "!H", len(body) if length is None else length) + body


def alerts() -> Iterator[bytes]:
    """Alerts in clear text: handshake_failure, bad_record_mac, internal_error, close_notify."""
    for version in (0xfefd, 0xfeff):
        for description in (40, 20, 80, 0):
            for level in (2, 1):
                yield record(21, bytes((level, description)), number=(1 << 48) - 1, version=version)


def message(kind: int, body: bytes, length: int | None = None, sequence: int = 0, count: int | None = None) -> bytes:
    """A handshake message, or a fragment that lies about itself."""
    whole = len(body) if length is None else length
    part = len(body) if count is None else count
    return bytes((kind,)) + whole.to_bytes(3, "big") + struct.pack("!H", sequence) + bytes(3) + part.to_bytes(3, "big") + body


def dtls(chance: random.Random) -> bytes:
    """A forged record, or several in a datagram."""
    kinds = [
        lambda: record(chance.choice((20, 21, 22, 23, 24)), chance.randbytes(chance.choice((1, 4, 16, 24, 25, 40, 300))),
                       1, chance.choice((0, chance.randrange(200), (1 << 48) - 1, chance.getrandbits(48)))),
        lambda: chance.choice(list(alerts())),
        lambda: record(22, message(chance.choice((0, 1, 2, 3, 11, 16, 20)), chance.randbytes(60))),
        lambda: record(22, message(chance.choice((1, 2, 11)), chance.randbytes(20), chance.choice((4, 0xffffff)))),
        lambda: record(22, message(1, chance.randbytes(20), count=900)),
        lambda: record(20, b"\x01"),
        lambda: record(23, chance.randbytes(30), length=chance.choice((3, 60000))),
        lambda: record(22, message(1, chance.randbytes(60)), epoch=chance.choice((2, 0xffff))),
    ]
    return b"".join(chance.choice(kinds)() for _ in range(chance.choice((1, 1, 3))))


def rtp(chance: random.Random, seen: list[bytes]) -> bytes:
    """A replayed packet, one with a wrong tag or number, or one of a new source."""
    known = [payload for payload in seen if len(payload) > 12 and payload[0] >> 6 == 2 and not 192 <= payload[1] <= 223]
    if not known or chance.random() < 0.4:
        return struct.pack("!BBHII", 0x80, chance.choice((96, 111)), chance.getrandbits(16), chance.getrandbits(32),
                           chance.getrandbits(32)) + chance.randbytes(chance.randrange(1, 400))
    packet = bytearray(chance.choice(known))
    way = chance.randrange(4)
    if way == 1:
        packet[-1] ^= 1
    elif way == 2:
        packet[2:4] = struct.pack("!H", struct.unpack("!H", packet[2:4])[0] + chance.randrange(1, 40000) & 0xffff)
    elif way == 3:
        del packet[chance.randrange(12, len(packet)):]
    return bytes(packet)


def rtcp(chance: random.Random, seen: list[bytes]) -> bytes:
    """BYE for sources that are there, in clear text or with a wrong tag; torn and replayed reports."""
    known = [payload for payload in seen if len(payload) > 12 and payload[0] >> 6 == 2]
    sources = [payload[8:12] for payload in known if not 192 <= payload[1] <= 223] or [bytes(4)]
    goodbye = struct.pack("!BBH", 0x80, 201, 1) + chance.choice(sources) + struct.pack("!BBH", 0x81, 203, 1)
    goodbye += chance.choice(sources)
    reports = [payload for payload in known if 192 <= payload[1] <= 223]
    way = chance.randrange(4)
    if way == 0:
        return goodbye
    if way == 1:
        return goodbye + struct.pack("!I", 1 << 31 | chance.getrandbits(31)) + chance.randbytes(16)
    if way == 2 and reports:
        return chance.choice(reports)
    return struct.pack("!BBH", 0x80 | chance.getrandbits(5), 200 + chance.randrange(8), chance.getrandbits(16)) + \
        chance.randbytes(chance.randrange(4, 80))


def sctp(chance: random.Random) -> bytes:
    """ABORT, INIT, SHUTDOWN outside of DTLS."""
    return struct.pack("!HHII", 5000, 5000, chance.choice((0, chance.getrandbits(32))), 0) + chance.choice(
        (b"\x06\0\0\x04", b"\x07\0\0\x08" + bytes(4), b"\x01\0\0\x14" + chance.randbytes(16)))


def stun(kind: int, transaction: bytes, attributes: bytes, length: int | None = None, sealed: bool = True) -> bytes:
    """A STUN message; sealed by a fingerprint, which needs no key."""
    size = len(attributes) + (8 if sealed else 0) if length is None else length
    text = struct.pack("!HHI", kind, size, 0x2112a442) + transaction + attributes
    if sealed:
        text += struct.pack("!HHI", 0x8028, 4, zlib.crc32(text) ^ 0x5354554e)
    return text


def error(code: int, transaction: bytes, sealed: bool) -> bytes:
    """An error response."""
    return stun(0x0111, transaction, struct.pack("!HHHBB", 9, 4, 0, code // 100, code % 100), sealed=sealed)


def ice(chance: random.Random, seen: list[bytes]) -> bytes:
    """Requests without and with a wrong integrity, responses, errors, lying lengths."""
    known = [payload for payload in seen if payload[:2] == b"\0\x01" and len(payload) > 40]
    transaction = chance.choice(known)[8:20] if known and chance.random() < 0.5 else chance.randbytes(12)
    way = chance.randrange(6)
    if way == 0:
        return error(chance.choice((300, 400, 401, 403, 420, 438, 487, 500)), transaction, chance.random() < 0.8)
    if way == 1:
        return stun(1, transaction, struct.pack("!HH", 6, 9) + b"aaaa:bbbb\0\0\0" + struct.pack("!HH", 0x25, 0))
    if way == 2 and known:
        request = bytearray(chance.choice(known))
        request[-chance.randrange(9, 28)] ^= 0x40
        return bytes(request)
    if way == 3:
        return stun(1, transaction, chance.randbytes(40), chance.choice((0, 4, 44, 2000, 0xfffc)), sealed=False)
    if way == 4:
        return stun(0x0101, transaction, struct.pack("!HHBBHI", 0x20, 8, 0, 1, 7, 7))
    return stun(chance.choice((1, 0x11, 0x101, 0x111)), transaction, b"\0\x06" + struct.pack("!H", 600) + b"xx\0\0")


def flood(tap: Tap, flows: list[Flow], seconds: float, chance: random.Random, make: list[Callable]) -> None:
    """Sends `RATE` forged datagrams a second in the name of each flow's source, in turn."""
    began = time.monotonic()
    number = 0
    while (now := time.monotonic() - began) < seconds:
        while number < now * RATE:
            flow = flows[number % len(flows)]
            tap.send(flow, chance.choice(make)(tap.seen.get(flow, [])))
            number += 1
        time.sleep(0.002)


def between(tap: Tap, one: Process, other: Process) -> list[Flow]:
    """The flows by which two processes talk, both ways, that carry most."""
    first, second = ports(one), ports(other)
    ways = []
    for here, there in ((first, second), (second, first)):
        found = [flow for flow in tap.seen if flow[0][1] in here and flow[1][1] in there]
        ways += sorted(found, key=lambda flow: -len(tap.seen[flow]))[:2]
    return ways


def unharmed(recorder: Recorder, verdict: Verdict) -> None:
    """The room's connection was never lost."""
    phases = {Recorder.progress(text).get("phase") for text in recorder.output}
    verdict.check("reconnecting" not in phases, f"{recorder.name} had to reconnect")


def forged_datagrams(stage: Stage, verdict: Verdict) -> None:
    """A call goes on under 2,000 forged datagrams a second of every kind: nothing is missing, and no memory grows."""
    if reason := obstacle():
        verdict.figure(f"skipped: {reason}")
        return
    chance = random.Random(attackers.SEED)
    server = stage.server()
    person = stage.publisher("ann", "--size", "480x270", colour="green").join()
    person.tell("talk", "talking")
    bot = stage.recorder("attacked", "--size", "640x360")
    stage.until(bot.recording() + 1.5)
    kinds = {"DTLS": [lambda _: dtls(chance)],
             "media": [lambda seen: rtp(chance, seen), lambda seen: rtcp(chance, seen)],
             "STUN and SCTP": [lambda seen: ice(chance, seen), lambda _: sctp(chance)]}
    with Tap() as tap:
        time.sleep(1.5)
        flows = between(tap, bot, server)
        if not verdict.check(len(flows) >= 2, f"no flows between bot and server: {flows}"):
            return
        # The first seconds touch what was not touched before.
        flood(tap, flows, 1, chance, sum(kinds.values(), []))
        before = {process.name: process.memory() for process in (bot, server)}
        for make in kinds.values():
            flood(tap, flows, 20 if attackers.LONG else 3, chance, make)
        for process in (bot, server):
            grown = process.memory() - before[process.name]
            verdict.check(grown < GROWTH, f"{process.name} grew by {grown} KiB")
            verdict.figure(f"{process.name} {grown:+} KiB")
        verdict.figure(f"{tap.sent} forged to {len(flows)} flows")
    stage.until(time.time() + 2)
    bot.stop()
    unharmed(bot, verdict)
    recording = load(bot, verdict)
    shown = recording.shown(person.colour, 0)
    in_step(recording, [person], shown + 0.5, recording.duration - 0.5, verdict)


def seen_checks_again(stage: Stage, verdict: Verdict) -> None:
    """Checks that were seen on the path are sent again from a thousand ports: nobody is pushed out."""
    if reason := obstacle():
        verdict.figure(f"skipped: {reason}")
        return
    server = stage.server()
    person = stage.publisher("ann", "--size", "480x270", colour="green").join()
    person.tell("talk", "talking")
    with Tap() as tap:
        bot = stage.recorder("replayed", "--size", "640x360")
        stage.until(bot.recording() + 1)
        flows = between(tap, bot, server)
        checks = [(flow, payload) for flow in flows for payload in tap.seen[flow] if payload[:2] == b"\0\x01"]
        if not verdict.check(bool(checks), "no check was seen"):
            return
        before = {process.name: process.memory() for process in (bot, server)}
        for number in range(8 * RATE):
            (source, destination), payload = checks[number % len(checks)]
            tap.send(((source[0], 20000 + number % 1000), destination), payload)
            if number % 20 == 0:
                time.sleep(20 / RATE)
        for process in (bot, server):
            grown = process.memory() - before[process.name]
            verdict.check(grown < GROWTH, f"{process.name} grew by {grown} KiB")
            verdict.figure(f"{process.name} {grown:+} KiB")
        verdict.figure(f"{tap.sent} sent again")
    bot.stop()
    unharmed(bot, verdict)
    recording = load(bot, verdict)
    shown = recording.shown(person.colour, 0)
    in_step(recording, [person], shown + 0.5, recording.duration - 0.5, verdict)


def alerts_while_joining(stage: Stage, verdict: Verdict) -> None:
    """Each datagram of a handshake is answered, and preceded, by alerts in clear text, and each check by errors."""
    if reason := obstacle():
        verdict.figure(f"skipped: {reason}")
        return
    stage.server()
    person = stage.publisher("ann", "--size", "480x270", colour="green").join()
    bots: dict[int, bool] = {}
    bot: Process | None = None
    known: dict[Flow, int] = {}

    def is_bots(port: int) -> bool:
        """Whether the bot has a port; looked up once for each."""
        if port not in bots and bot:
            with contextlib.suppress(OSError):  # it has ended
                bots[port] = port in ports(bot)
        return bots.get(port, False)

    def answer(flow: Flow, payload: bytes) -> None:
        # Not into what others have with each other: the publisher's library is not ours, and more rooms may be on this machine.
        if len(payload) < 20 or not (is_bots(flow[0][1]) or is_bots(flow[1][1])):
            return
        back = (flow[1], flow[0])
        if payload[0] in range(20, 64) and known.get(flow, 0) < 60:
            known[flow] = known.get(flow, 0) + 1
            for forged in alerts():
                tap.send(flow, forged)
                tap.send(back, forged)
        elif payload[:2] == b"\0\x01":
            for code in (300, 401, 487):
                tap.send(back, error(code, payload[8:20], True))

    with Tap(answer) as tap:
        joining = time.time()
        bot = stage.recorder("alerted", "--size", "640x360")
        taken = bot.recording(20) - joining
        verdict.check(taken < 10, f"it took {taken:.1f} s to join")
        stage.until(time.time() + 5)
        verdict.check(bool(known), "no handshake was seen")
        verdict.figure(f"joined after {taken:.1f} s, {tap.sent} forged")
    bot.stop()
    unharmed(bot, verdict)
    recording = load(bot, verdict)
    shown = recording.shown(person.colour, 0)
    verdict.check(shown < 5, f"the first picture comes after {shown:.1f} s")
    in_step(recording, [person], shown + 0.5, recording.duration - 0.5, verdict)


ATTACKS = [forged_datagrams, seen_checks_again, alerts_while_joining]
