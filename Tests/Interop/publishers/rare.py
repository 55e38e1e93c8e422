#!/usr/bin/env python3
"""A synthetic participant on aiortc, for codecs that Google's libwebrtc in the LiveKit SDK does not send: PCMU, PCMA, G.722,
H.265; for another maker's H.264; and for sound that is sent as loud as it is (libwebrtc brings it to one level).

Picture and sound are those of `publish.py`: one colour, white for 60 ms from each whole second, and a beep at the same
instants. What it does is printed as JSON lines; SIGTERM makes it leave.
"""

import argparse
import asyncio
import contextlib
import fractions
import json
import signal
import time

import aiohttp
import aioice.ice
import av
import numpy
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCRtpSender, RTCSessionDescription
from aiortc.sdp import candidate_from_sdp
from livekit.protocol import models, rtc

import h265
from common import emit, make_token
from publish import FLASH, SAMPLE_RATE, Voice

# Only loopback is touched.
aioice.ice.get_host_addresses = lambda use_ipv4, use_ipv6: ["127.0.0.1"]

FRAMES = 30
CHUNKS = 50  # of 20 ms, in a second


class Clocked(MediaStreamTrack):
    """A track that gives a frame at each whole part of a second of the wall clock."""

    rate = 1
    clock = 90_000

    def __init__(self):
        super().__init__()
        self.number = 0  # of frames since 1970

    async def tick(self) -> int:
        """Waits for the instant of the next frame; gives its number."""
        self.number = max(self.number + 1, int(time.time() * self.rate) - 1)
        await asyncio.sleep(max(0, self.number / self.rate - time.time()))
        return self.number

    def stamped(self, frame):
        """The frame with its time."""
        frame.pts = self.number * (self.clock // self.rate)
        frame.time_base = fractions.Fraction(1, self.clock)
        return frame


class Camera(Clocked):
    """One colour, white as each second begins."""

    kind = "video"
    rate = FRAMES

    def __init__(self, colour: str):
        super().__init__()
        self.colour = [int(colour[at:at + 2], 16) for at in (0, 2, 4)]

    async def recv(self):
        phase = await self.tick() % FRAMES / FRAMES
        pixels = numpy.full((180, 320, 3), 255 if phase < FLASH else self.colour, numpy.uint8)
        return self.stamped(av.VideoFrame.from_ndarray(pixels, format="rgb24"))


class Microphone(Clocked):
    """A beep as each second begins; or only the noise of somebody who talks, in some seconds of each so many."""

    kind = "audio"
    rate = CHUNKS
    clock = SAMPLE_RATE

    def __init__(self, options: argparse.Namespace):
        super().__init__()
        self.voice = Voice(options.frequency, seed=1)
        self.noise = (self.voice.noise * (32_000 / numpy.abs(self.voice.noise).max()) * options.volume).astype(numpy.int16)
        self.talk = options.talk
        self.hiss = numpy.random.default_rng(2).normal(0, options.hiss, SAMPLE_RATE).astype(numpy.int16)

    async def recv(self):
        number = await self.tick()
        samples = self.talks(number) if self.talk else numpy.concatenate(
            [self.voice.chunk(2 * number + half, False) for half in (0, 1)])
        frame = av.AudioFrame.from_ndarray(samples.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = SAMPLE_RATE
        return self.stamped(frame)


    def talks(self, number: int) -> numpy.ndarray:
        """The noise of a talker in its seconds, else silence; both with what the microphone hisses."""
        period, began, ended = self.talk
        count = SAMPLE_RATE // CHUNKS
        hiss = self.hiss[number % CHUNKS * count:][:count]
        if not began <= number // CHUNKS % period < ended:
            return hiss
        start = number % (self.noise.size // count) * count
        return (self.noise[start:start + count].astype(numpy.int32) + hiss).clip(-32768, 32767).astype(numpy.int16)


class Caller:
    """The connection to the room."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.pc = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.receiving = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.published = 0

    async def publish(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Announces both tracks."""
        o = self.options
        for track, source, codec in ((Camera(o.colour), models.CAMERA, f"video/{o.pictures}"),
                                     (Microphone(o), models.MICROPHONE, f"audio/{o.sound}")):
            sender = self.pc.addTrack(track)
            transceiver = next(one for one in self.pc.getTransceivers() if one.sender is sender)
            known = RTCRtpSender.getCapabilities(track.kind).codecs
            transceiver.setCodecPreferences([one for one in known if one.mimeType.lower() == codec.lower()])
            kind = models.VIDEO if track.kind == "video" else models.AUDIO
            await self.say(socket, add_track=rtc.AddTrackRequest(
                cid=track.id, name=track.kind, type=kind, source=source, width=320, height=180,
                simulcast_codecs=[rtc.SimulcastCodec(codec=codec, cid=track.id)]))

    @staticmethod
    async def say(socket: aiohttp.ClientWebSocketResponse, **fields) -> None:
        """Sends a signal."""
        await socket.send_bytes(rtc.SignalRequest(**fields).SerializeToString())

    async def offer(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Offers what was announced."""
        await self.pc.setLocalDescription(await self.pc.createOffer())
        await self.say(socket, offer=rtc.SessionDescription(type="offer", sdp=self.pc.localDescription.sdp))

    async def hear(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Does what the server's signals ask for, until it ends the connection."""
        async for message in socket:
            signal_response = rtc.SignalResponse.FromString(message.data)
            kind = signal_response.WhichOneof("message")
            if kind == "join":
                emit("joined")
                await self.publish(socket)
            elif kind == "track_published":
                emit("published", mime=signal_response.track_published.track.mime_type)
                self.published += 1
                if self.published == 2:
                    await self.offer(socket)
            elif kind == "answer":
                await self.pc.setRemoteDescription(RTCSessionDescription(signal_response.answer.sdp, "answer"))
            elif kind == "offer":
                await self.answer(socket, signal_response.offer)
            elif kind == "trickle":
                is_publisher = signal_response.trickle.target == rtc.PUBLISHER
                await self.candidate(self.pc if is_publisher else self.receiving, signal_response.trickle.candidateInit)
            elif kind in ("leave", "request_response"):
                emit(kind, text=str(signal_response).replace("\n", " "))

    async def answer(self, socket: aiohttp.ClientWebSocketResponse, offer: rtc.SessionDescription) -> None:
        """Answers the server, which ends the session of who does not; nothing is subscribed."""
        await self.receiving.setRemoteDescription(RTCSessionDescription(offer.sdp, "offer"))
        await self.receiving.setLocalDescription(await self.receiving.createAnswer())
        answer = rtc.SessionDescription(type="answer", sdp=self.receiving.localDescription.sdp, id=offer.id)
        await self.say(socket, answer=answer)

    @staticmethod
    async def candidate(connection: RTCPeerConnection, init: str) -> None:
        """Takes up an address of the server."""
        fields = json.loads(init)
        if fields["candidate"]:
            candidate = candidate_from_sdp(fields["candidate"].removeprefix("candidate:"))
            candidate.sdpMid, candidate.sdpMLineIndex = fields.get("sdpMid"), fields.get("sdpMLineIndex")
            await connection.addIceCandidate(candidate)

    async def ping(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Keeps the session."""
        while True:
            await self.say(socket, ping_req=rtc.Ping(timestamp=int(time.time() * 1000)))
            await asyncio.sleep(3)

    async def run(self) -> None:
        """Is in the room until SIGTERM."""
        o = self.options
        ended = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, ended.set)
        self.pc.on("connectionstatechange", lambda: emit(self.pc.connectionState))
        token = make_token(o.api_key, o.api_secret, o.room, o.identity, o.name)
        async with aiohttp.ClientSession() as session:
            async with session.ws_connect(f"{o.url}/rtc?protocol=9&auto_subscribe=0",
                                          headers={"Authorization": f"Bearer {token}"}) as socket:
                tasks = [asyncio.create_task(self.hear(socket)), asyncio.create_task(self.ping(socket)),
                         asyncio.create_task(ended.wait())]
                done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in rest:
                    task.cancel()
                with contextlib.suppress(ConnectionError):
                    await self.say(socket, leave=rtc.LeaveRequest())
                await self.pc.close()
                await self.receiving.close()
                for task in done:
                    task.result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--api-key", required=True)
    parser.add_argument("--api-secret", required=True)
    parser.add_argument("--room", required=True)
    parser.add_argument("--identity", required=True)
    parser.add_argument("--name", default="")
    parser.add_argument("--sound", default="opus", choices=["opus", "PCMU", "PCMA", "G722"])
    parser.add_argument("--pictures", default="VP8", choices=["VP8", "H264", "H265"])
    parser.add_argument("--pixels", default="yuv420p", help="the form of H.265's pictures")
    parser.add_argument("--colour", required=True)
    parser.add_argument("--frequency", type=float, required=True)
    parser.add_argument("--volume", type=float, default=1.0, help="of the microphone, a factor of at most 1")
    parser.add_argument("--talk", type=int, nargs=3, metavar=("PERIOD", "FROM", "TO"),
                        help="no beeps, but noise from one second to another of each so many of the wall clock")
    parser.add_argument("--hiss", type=float, default=0.0, metavar="LEVEL",
                        help="with --talk: the root mean square of white noise that the microphone adds, of 32768")
    options = parser.parse_args()
    h265.install(options.pixels)
    asyncio.run(Caller(options).run())


if __name__ == "__main__":
    main()
