#!/usr/bin/env python3
"""aiortc against peer-echo: VP8, Opus and data channels both ways, with either side offering, and over a TURN relay.

peer-echo sends back what it receives, so a picture that comes back in its colour has passed both directions.
Usage: test_aiortc.py PEER_ECHO [offerer] [answerer] [relay]     (default: all three; exit status 0 = all passed)
"""
import asyncio
import contextlib
import fractions
import json
import os
import secrets
import shutil
import signal
import socket
import sys
import time

import aioice.ice
import av
import numpy
from aiortc import (
    MediaStreamTrack,
    RTCConfiguration,
    RTCPeerConnection,
    RTCSessionDescription,
)
from aiortc.sdp import candidate_from_sdp

# Only loopback is touched, and it works on a machine without any other interface.
aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: ["127.0.0.1"]

LIMIT = 20.0
WIDTH, HEIGHT = 320, 180
COLOURS = {"red": (200, 30, 30), "green": (30, 180, 40), "blue": (30, 40, 210)}
TONE = 440


class Colours(MediaStreamTrack):
    """One colour per second, 20 frames a second."""

    kind = "video"

    def __init__(self):
        super().__init__()
        self.number = 0
        self.start = None

    async def recv(self):
        self.start = self.start or time.monotonic()
        await asyncio.sleep(max(0, self.start + self.number / 20 - time.monotonic()))
        name = list(COLOURS)[self.number // 20 % len(COLOURS)]
        pixels = numpy.empty((HEIGHT, WIDTH, 3), numpy.uint8)
        pixels[:] = COLOURS[name]
        # Something that moves, so that frames are not empty.
        column = self.number * 4 % WIDTH
        pixels[:40, column : column + 8] = 255
        frame = av.VideoFrame.from_ndarray(pixels, format="rgb24")
        frame.pts = self.number * 4500
        frame.time_base = fractions.Fraction(1, 90000)
        self.number += 1
        return frame


class Tone(MediaStreamTrack):
    """A sine of TONE hertz in 20 ms pieces."""

    kind = "audio"

    def __init__(self):
        super().__init__()
        self.number = 0
        self.start = None

    async def recv(self):
        self.start = self.start or time.monotonic()
        await asyncio.sleep(max(0, self.start + self.number / 50 - time.monotonic()))
        at = numpy.arange(self.number * 960, (self.number + 1) * 960)
        samples = (8000 * numpy.sin(2 * numpy.pi * TONE * at / 48000)).astype(numpy.int16)
        frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = 48000
        frame.pts = self.number * 960
        frame.time_base = fractions.Fraction(1, 48000)
        self.number += 1
        return frame


class Echo:
    """The peer-echo process."""

    def __init__(self, process):
        self.process = process
        self.waiting = {}
        self.events = {}
        self.candidates = asyncio.Queue()
        self.all_candidates = []
        self.reader = asyncio.ensure_future(self.read())

    @classmethod
    async def start(cls, *arguments):
        return cls(
            await asyncio.create_subprocess_exec(
                *arguments, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
            )
        )

    async def read(self):
        while line := await self.process.stdout.readline():
            event = json.loads(line)
            kind = event["type"]
            if kind == "candidate":
                self.all_candidates.append(event["candidate"])
                await self.candidates.put(event)
            elif kind == "error":
                print("peer-echo:", event["text"], file=sys.stderr)
                os._exit(1)
            self.events.setdefault(kind, asyncio.Queue()).put_nowait(event)

    def say(self, command, **fields):
        self.process.stdin.write((json.dumps({"do": command, **fields}) + "\n").encode())

    async def hear(self, kind):
        return await self.events.setdefault(kind, asyncio.Queue()).get()

    async def stop(self):
        self.say("close")
        await asyncio.wait_for(self.process.wait(), 5)
        self.reader.cancel()


class Received:
    """What came back."""

    def __init__(self):
        self.colours = set()
        self.pictures = 0
        self.tones = 0
        self.messages = set()

    async def watch_video(self, track):
        with contextlib.suppress(Exception):
            while True:
                frame = await track.recv()
                assert (frame.width, frame.height) == (WIDTH, HEIGHT), (frame.width, frame.height)
                mean = frame.to_ndarray(format="rgb24")[60:].reshape(-1, 3).mean(axis=0)
                self.pictures += 1
                for name, colour in COLOURS.items():
                    if abs(mean - colour).max() < 16:
                        self.colours.add(name)

    async def watch_audio(self, track):
        history = numpy.zeros(0)
        with contextlib.suppress(Exception):
            while True:
                frame = await track.recv()
                samples = frame.to_ndarray().reshape(-1).astype(float)
                samples = samples[:: len(frame.layout.channels)]
                history = numpy.concatenate([history, samples])[-9600:]
                if len(history) == 9600 and history.std() > 1000:
                    peak = numpy.argmax(abs(numpy.fft.rfft(history * numpy.hanning(9600)))) * 5
                    if abs(peak - TONE) <= 10:
                        self.tones += 1

    def complete(self):
        return self.colours == set(COLOURS) and self.pictures > 50 and self.tones > 50 and len(self.messages) == 2


def listen(channel, received):
    """Says something on an open channel, and notes it when it comes back."""
    text = f"on {channel.label}"

    @channel.on("message")
    def on_message(message):
        if message == text:
            received.messages.add(message)

    if channel.readyState == "open":
        channel.send(text)
    else:
        channel.on("open", lambda: channel.send(text))


async def run(binary, aiortc_offers, turn=()):
    pc = RTCPeerConnection(RTCConfiguration(iceServers=[]))
    echo = await Echo.start(binary, *turn)
    received = Received()
    tasks = []

    @pc.on("track")
    def on_track(track):
        watch = received.watch_video if track.kind == "video" else received.watch_audio
        tasks.append(asyncio.ensure_future(watch(track)))

    @pc.on("datachannel")
    def on_datachannel(channel):
        listen(channel, received)

    async def trickle():
        while True:
            event = await echo.candidates.get()
            candidate = candidate_from_sdp(event["candidate"].removeprefix("candidate:"))
            candidate.sdpMid = event["mid"]
            candidate.sdpMLineIndex = event["index"]
            await pc.addIceCandidate(candidate)

    try:
        if aiortc_offers:
            pc.addTrack(Colours())
            pc.addTrack(Tone())
            listen(pc.createDataChannel("theirs"), received)
            listen(pc.createDataChannel("second", ordered=False, maxRetransmits=0), received)
            await pc.setLocalDescription(await pc.createOffer())
            echo.say("remote-offer", sdp=pc.localDescription.sdp)
            answer = await echo.hear("answer")
            tasks.append(asyncio.ensure_future(trickle()))
            await pc.setRemoteDescription(RTCSessionDescription(answer["sdp"], "answer"))
        else:
            echo.say("offer")
            offer = await echo.hear("offer")
            await pc.setRemoteDescription(RTCSessionDescription(offer["sdp"], "offer"))
            pc.addTrack(Colours())
            pc.addTrack(Tone())
            listen(pc.createDataChannel("theirs"), received)
            tasks.append(asyncio.ensure_future(trickle()))
            await pc.setLocalDescription(await pc.createAnswer())
            echo.say("remote-answer", sdp=pc.localDescription.sdp)
        end = time.monotonic() + LIMIT
        while not received.complete() and time.monotonic() < end:
            await asyncio.sleep(0.1)
        echo.say("statistics")
        statistics = await asyncio.wait_for(echo.hear("statistics"), 5)
        print(
            f"  pictures {received.pictures} in {sorted(received.colours)}, tone pieces {received.tones}, "
            f"messages {sorted(received.messages)}, state {pc.connectionState}"
        )
        print("  peer-echo:", {key: value for key, value in statistics.items() if key != "type"})
        passed = (
            received.complete()
            and (statistics["width"], statistics["height"]) == (WIDTH, HEIGHT)
            and statistics["malformed"] == 0
            and statistics["clockedVideo"] > 0
            and statistics["clockedAudio"] > 0
        )
        if turn:
            relayed = all(" typ relay" in line for line in echo.all_candidates) and echo.all_candidates
            print(f"  candidates of peer-echo: {len(echo.all_candidates)}, all relayed: {bool(relayed)}")
            passed = passed and bool(relayed)
        return passed
    finally:
        for task in tasks:
            task.cancel()
        await pc.close()
        await echo.stop()


@contextlib.asynccontextmanager
async def turn_server():
    """coturn on loopback, for the time of one run."""
    binary = shutil.which("turnserver") or "/usr/bin/turnserver"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    password = secrets.token_hex(8)
    process = await asyncio.create_subprocess_exec(
        binary, "-n", "--lt-cred-mech", "--user", f"u:{password}", "--realm", "r", "--listening-ip", "127.0.0.1",
        "--relay-ip", "127.0.0.1", "--listening-port", str(port), "--allow-loopback-peers", "--no-tls", "--no-dtls",
        "--no-cli", "--log-file", "/dev/null", "--pidfile", os.devnull,
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        # The TCP side listens when the server is ready.
        for _ in range(100):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            except OSError:
                await asyncio.sleep(0.05)
        yield ("--turn", f"turn:127.0.0.1:{port}", "u", password)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), 3)
        except asyncio.TimeoutError:
            process.kill()
            await process.wait()


async def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    binary, names = sys.argv[1], sys.argv[2:] or ["offerer", "answerer", "relay"]
    failed = []
    for name in names:
        began = time.monotonic()
        print(f"aiortc, {name}:")
        try:
            if name == "relay":
                async with turn_server() as turn:
                    passed = await asyncio.wait_for(run(binary, True, turn), LIMIT + 15)
            else:
                passed = await asyncio.wait_for(run(binary, name == "offerer"), LIMIT + 15)
        except Exception as error:
            print(f"  {type(error).__name__}: {error}")
            passed = False
        print(f"  {'passed' if passed else 'FAILED'} after {time.monotonic() - began:.1f} s")
        if not passed:
            failed.append(name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
