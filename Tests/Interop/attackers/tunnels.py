"""Connections to the room server's port for media over TCP (RFC 6544): strangers, liars, and somebody of the room."""

import asyncio
import random
import re
import socket
import struct
import time

import aiohttp
from livekit.protocol import rtc

import attackers
from scenarios.common import in_step, load
from stage import Failed, Stage, free_port, make_token
from verdict import Verdict

ATTACKER = "127.0.0.3"
STRANGERS = 1500
INSIDERS = 64
PLACES = 8  # connections that the agent of one client has
PACE = 0.02  # seconds between the pieces of a flood: some 20 MiB a second
INTRODUCTION = 5.0  # seconds in which a connection must say whom it wants
GROWTH = 24 * 1024  # KiB


def check(ufrag: str) -> bytes:
    """A framed Binding request for an agent, without a password."""
    name = f"{ufrag}:evil".encode()
    attribute = struct.pack(">HH", 6, len(name)) + name + bytes(-len(name) & 3)
    message = struct.pack(">HHI", 1, len(attribute), 0x2112A442) + b"transactionx" + attribute
    return struct.pack(">H", len(message)) + message


def dial(port: int, first: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), 5, source_address=(ATTACKER, 0))
    connection.sendall(first)
    return connection


def closed(connection: socket.socket, within: float) -> bool:
    """Whether the server closes a connection within so many seconds, whatever it sends before."""
    end = time.monotonic() + within
    try:
        while (left := end - time.monotonic()) > 0:
            connection.settimeout(left)
            if not connection.recv(65536):
                return True
    except TimeoutError:
        return False
    except OSError:
        return True  # reset
    return False


class Insider:
    """Somebody who is in the room by a token, and learns there what the server's agent is called."""

    def __init__(self, stage: Stage):
        self.url, self.leaving = stage.url, asyncio.Event()
        self.loop = asyncio.new_event_loop()

    async def learn(self) -> str:
        """Joins; gives the fragment of the server's first offer."""
        self.session = aiohttp.ClientSession()
        token = make_token("mallory", "test")
        self.socket = await self.session.ws_connect(
            f"{self.url}/rtc?protocol=9&auto_subscribe=1", headers={"Authorization": f"Bearer {token}"})
        async for message in self.socket:
            response = rtc.SignalResponse.FromString(message.data)
            if response.WhichOneof("message") == "offer":
                return re.search(r"a=ice-ufrag:(\S+)", response.offer.sdp)[1]
        raise Failed("no offer came")

    async def leave(self) -> None:
        await self.socket.send_bytes(rtc.SignalRequest(leave=rtc.LeaveRequest()).SerializeToString())
        await self.session.close()


def strangers_at_the_tcp_port(stage: Stage, verdict: Verdict) -> None:
    """Silent connections, lies and floods at the port for media over TCP: each is ended, and a recording goes on."""
    chance = random.Random(attackers.SEED)
    port = free_port()
    server = stage.server("0", "--ice-tcp-port", str(port))
    ann = stage.publisher("ann", "--size", "320x180", colour="red").join()
    recorder = stage.recorder("attacked")
    began = recorder.recording()
    stage.until(began + 2)
    before = server.memory()

    silent = [dial(port) for _ in range(STRANGERS)]
    # The oldest of those who say nothing make room at once; the last have their time.
    verdict.check(all(closed(connection, 1) for connection in silent[:STRANGERS - 200]), "strangers are kept")
    lies = [b"\0\0" * 30, b"GET / HTTP/1.1\r\n\r\n" * 4000, check("nobody"), check("x" * 600), b"\x00\x03abc",
            b"\x16\x03\x01\x02\x00\x01" * 3000,
            *(struct.pack(">H", 40) + chance.randbytes(40) for _ in range(100))]
    for lie in lies:
        connection = dial(port)
        try:
            connection.sendall(lie)
        except OSError:
            pass  # it is ended while it talks
        verdict.check(closed(connection, INTRODUCTION + 2), f"a liar is kept: {lie[:20]!r}")
        connection.close()
    slow = dial(port, b"\xff\xff" + bytes(1000))
    began_slow = time.monotonic()
    verdict.check(closed(slow, INTRODUCTION + 2), "who never ends its first message is kept")
    verdict.figure(f"a stranger's time {time.monotonic() - began_slow:.1f} s")

    insider = Insider(stage)
    asyncio.set_event_loop(insider.loop)
    ufrag = insider.loop.run_until_complete(asyncio.wait_for(insider.learn(), 10))
    inside = [dial(port, check(ufrag)) for _ in range(INSIDERS)]
    verdict.check(all(closed(connection, 1) for connection in inside[PLACES:]), "an agent has more connections than places")
    inside = inside[:PLACES]
    junk = (struct.pack(">H", 1200) + chance.randbytes(1200)) * 40
    sent, end = 0, time.monotonic() + 3
    for connection in inside:
        connection.setblocking(False)
    while time.monotonic() < end:
        for connection in inside:
            try:
                sent += connection.send(junk)
            except BlockingIOError:
                pass
            except OSError:
                verdict.check(False, "somebody of the room is thrown out for junk")
        time.sleep(PACE)
    growth = server.memory() - before
    insider.loop.run_until_complete(insider.leave())
    stage.until(time.time() + 1)
    gone = 0
    for connection in inside:
        connection.setblocking(True)
        try:
            for _ in range(3):
                connection.sendall(check(ufrag))
                time.sleep(0.005)
        except OSError:
            pass
        gone += closed(connection, 2)
    verdict.check(gone == PLACES, f"{PLACES - gone} of {PLACES} connections outlive who they were for")
    verdict.check(growth <= GROWTH, f"the server grew by {growth} KiB")
    recorder.stop()
    recording = load(recorder, verdict)
    in_step(recording, [ann], 2.5, recording.duration, verdict)
    verdict.figure(f"{STRANGERS} strangers, {len(lies)} liars, {sent >> 20} MiB of junk, server {growth:+d} KiB")


ATTACKS = [strangers_at_the_tcp_port]
