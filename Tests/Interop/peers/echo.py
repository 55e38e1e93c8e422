"""aiortc against peer-echo: VP8, sound of every codec and data channels both ways, with either side offering, and over a
TURN relay.

peer-echo sends back what it receives, so a picture that comes back in its colour has passed both directions.
"""
import asyncio
import contextlib
import fractions
import json
import secrets
import socket
import struct
import time

import aioice.ice
import av
import numpy
from aiortc import (
    MediaStreamTrack,
    RTCConfiguration,
    RTCPeerConnection,
    RTCRtpSender,
    RTCSessionDescription,
)
from aiortc.sdp import candidate_from_sdp

from stage import Failed, Stage, free_port
from verdict import Verdict

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
        self.errors = []
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
                self.errors.append(event["text"])
            self.events.setdefault(kind, asyncio.Queue()).put_nowait(event)

    def say(self, command, **fields):
        self.process.stdin.write((json.dumps({"do": command, **fields}) + "\n").encode())

    async def hear(self, kind):
        return await self.events.setdefault(kind, asyncio.Queue()).get()

    async def stop(self):
        try:
            self.say("close")
            await asyncio.wait_for(self.process.wait(), 5)
        finally:
            if self.process.returncode is None:
                self.process.kill()
                await self.process.wait()
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


async def meet(binary, aiortc_offers, verdict, turn=(), sound="opus"):
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
            if sound != "opus":
                # aiortc sends the first of them, and decodes what comes back as Opus.
                known = RTCRtpSender.getCapabilities("audio").codecs
                microphone = next(one for one in pc.getTransceivers() if one.kind == "audio")
                microphone.setCodecPreferences([codec for name in (sound, "opus") for codec in known
                                                if codec.mimeType.lower() == f"audio/{name}".lower()])
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
        while not received.complete() and not echo.errors and time.monotonic() < end:
            await asyncio.sleep(0.1)
        echo.say("statistics")
        statistics = await asyncio.wait_for(echo.hear("statistics"), 5)
        verdict.check(not echo.errors, f"peer-echo: {echo.errors}")
        verdict.check(
            received.complete(),
            f"pictures {received.pictures} in {sorted(received.colours)}, tone pieces {received.tones}, "
            f"messages {sorted(received.messages)}, state {pc.connectionState}",
        )
        verdict.figure(f"{received.pictures} pictures, {received.tones} tone pieces")
        verdict.check(
            (statistics["width"], statistics["height"]) == (WIDTH, HEIGHT)
            and statistics["malformed"] == 0
            and statistics["clockedVideo"] > 0
            and statistics["clockedAudio"] > 0,
            f"peer-echo: { {key: value for key, value in statistics.items() if key != 'type'} }",
        )
        verdict.check(statistics["sounds"] == [sound], f"peer-echo received {statistics['sounds']}, not {sound}")
        if turn:
            relayed = all(" typ relay" in line for line in echo.all_candidates) and echo.all_candidates
            verdict.check(relayed, f"not all candidates of peer-echo are relayed: {echo.all_candidates}")
            verdict.figure(f"{len(echo.all_candidates)} candidates, all relayed")
    finally:
        for task in tasks:
            task.cancel()
        await pc.close()
        await echo.stop()


def offerer(stage: Stage, verdict: Verdict) -> None:
    """aiortc offers: pictures, sound and messages both ways."""
    perform(meet(stage.tool("peer-echo"), True, verdict))


def answerer(stage: Stage, verdict: Verdict) -> None:
    """aiortc answers: pictures, sound and messages both ways."""
    perform(meet(stage.tool("peer-echo"), False, verdict))


def telephone(stage: Stage, verdict: Verdict) -> None:
    """aiortc sends PCMU, PCMA and G.722: peer-echo decodes them, and the tone comes back as Opus."""
    for codec in ("PCMU", "PCMA", "G722"):
        perform(meet(stage.tool("peer-echo"), True, verdict, sound=codec))


def relay(stage: Stage, verdict: Verdict) -> None:
    """All that peer-echo sends goes through a TURN server."""
    port = free_port()
    password = secrets.token_hex(8)
    server = stage.relay("127.0.0.1", port, password, "--allow-loopback-peers")
    end = time.monotonic() + 5
    # Ready is who answers: TCP listens before UDP does. A Binding request (RFC 8489 section 6).
    request = struct.pack("!HHI", 0x0001, 0, 0x2112A442) + secrets.token_bytes(12)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        asking.settimeout(0.1)
        asking.connect(("127.0.0.1", port))
        while time.monotonic() < end and server.status is None:
            try:
                asking.send(request)
                asking.recv(1500)
                break
            except TimeoutError:
                continue
            except OSError:  # nobody listens yet
                time.sleep(0.05)
    turn = ("--turn", f"turn:127.0.0.1:{port}", "u", password)
    perform(meet(stage.tool("peer-echo"), True, verdict, turn))


def perform(meeting) -> None:
    """Runs a meeting in bounded time."""
    try:
        asyncio.run(asyncio.wait_for(meeting, LIMIT + 15))
    except asyncio.TimeoutError:
        raise Failed(f"not over after {LIMIT + 15} s") from None
