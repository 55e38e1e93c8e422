#!/usr/bin/env python3
"""A watching participant: joins a room with the LiveKit SDK (libwebrtc) and tells as JSON lines what it receives.

Every second it prints, for each subscribed track, the bytes and frames received, the picture size, the mean colour, or
the level of the sound; room events (subscribed, muted, data, speakers, names …) as they come. At the end one `summary`
line with totals, flashes and beeps per participant.
"""

import argparse
import asyncio
import collections
import signal
import time

import numpy
from livekit import rtc

from common import emit, make_token


class Watch:
    """What one subscribed track has given so far."""

    def __init__(self, identity: str, publication, track):
        self.identity, self.sid, self.name = identity, publication.sid, publication.name
        self.kind = "audio" if track.kind == rtc.TrackKind.KIND_AUDIO else "video"
        self.track = track
        self.bytes = 0
        self.total = 0
        self.recent = 0
        self.size = (0, 0)
        self.sizes: list[tuple[int, int]] = []
        self.colour = ""
        self.colours: collections.Counter[str] = collections.Counter()
        self.level = 0.0
        self.onsets: list[float] = []
        self.bright = False

    async def measure(self) -> None:
        """Asks libwebrtc what has come for the track; not while it has nothing to say (between two connections)."""
        try:
            found = await asyncio.wait_for(self.track.get_stats(), 0.5)
        except (asyncio.TimeoutError, RuntimeError):
            return
        received = [one.inbound_rtp.inbound.bytes_received for one in found if one.HasField("inbound_rtp")]
        self.bytes = max([self.bytes, *received])

    def report(self) -> dict:
        fields = {"identity": self.identity, "track": self.sid, "name": self.name, "kind": self.kind,
                  "frames": self.recent, "total": self.total, "bytes": self.bytes}
        if self.kind == "video":
            fields |= {"size": f"{self.size[0]}x{self.size[1]}", "colour": self.colour}
        else:
            fields |= {"level": round(self.level, 4)}
        self.recent = 0
        self.level = 0.0
        return fields

    def summary(self) -> dict:
        """All of it. The colour is that of most frames: libwebrtc may send a black one when a camera goes."""
        fields = self.report() | {"sizes": [f"{a}x{b}" for a, b in self.sizes], "onsets": [round(t, 4) for t in self.onsets]}
        if self.colours:
            fields["colour"] = self.colours.most_common(1)[0][0]
        return fields

    async def video(self, stream: rtc.VideoStream) -> None:
        async for event in stream:
            frame = event.frame
            self.total += 1
            self.recent += 1
            size = (frame.width, frame.height)
            if size != self.size:
                self.size = size
                self.sizes.append(size)
            width, height = size
            data = numpy.frombuffer(frame.data, numpy.uint8)
            luma = data[: width * height].reshape(height, width)[height // 4:-height // 4, width // 4:-width // 4]
            chroma = ((width + 1) // 2) * ((height + 1) // 2)
            y = float(luma.mean())
            u = float(data[width * height:][:chroma].mean())
            v = float(data[width * height + chroma:][:chroma].mean())
            bright = y > 215
            if bright and not self.bright:
                self.onsets.append(time.time())
            self.bright = bright
            if not bright:
                self.colour = rgb(y, u, v)
                self.colours[self.colour] += 1

    async def audio(self, stream: rtc.AudioStream) -> None:
        loud = False
        async for event in stream:
            samples = numpy.frombuffer(event.frame.data, numpy.int16).astype(numpy.float32) / 32768
            self.total += 1
            self.recent += 1
            level = float(numpy.sqrt((samples ** 2).mean())) if samples.size else 0.0
            self.level = max(self.level, level)
            if level > 0.2 and not loud:
                self.onsets.append(time.time())
                loud = True
            elif level < 0.05:
                loud = False


def rgb(y: float, u: float, v: float) -> str:
    """RRGGBB of a BT.601 limited range colour."""
    c, d, e = 1.164 * (y - 16), u - 128, v - 128
    parts = (c + 1.596 * e, c - 0.392 * d - 0.813 * e, c + 2.017 * d)
    return "".join(f"{min(255, max(0, round(part))):02x}" for part in parts)


class Watcher:
    """The client: follows every track for as long as it is subscribed."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.room = rtc.Room()
        self.watches: dict[str, Watch] = {}
        self.tasks: dict[str, asyncio.Task] = {}
        self.streams: set[asyncio.Task] = set()
        self.stopping = asyncio.Event()

    def listen(self) -> None:
        room = self.room
        room.on("participant_connected", lambda p: emit("connected", identity=p.identity, name=p.name))
        room.on("participant_disconnected", lambda p: emit("gone", identity=p.identity,
                                                           reason=int(p.disconnect_reason or 0)))
        room.on("track_published", lambda pub, p: emit("published", identity=p.identity, track=pub.sid, name=pub.name))
        room.on("track_unpublished", lambda pub, p: emit("unpublished", identity=p.identity, track=pub.sid))
        room.on("track_muted", lambda p, pub: emit("muted", identity=p.identity, track=pub.sid, name=pub.name))
        room.on("track_unmuted", lambda p, pub: emit("unmuted", identity=p.identity, track=pub.sid, name=pub.name))
        room.on("data_received", lambda d: emit("data", text=d.data.decode("utf-8", "replace"), topic=d.topic,
                                                identity=d.participant.identity if d.participant else None))
        room.on("active_speakers_changed", lambda s: emit("speakers", identities=[p.identity for p in s]))
        room.on("participant_name_changed", lambda p, *_: emit("named", identity=p.identity, name=p.name))
        room.on("participant_metadata_changed", lambda p, *_: emit("metadata", identity=p.identity, text=p.metadata))
        room.on("reconnecting", lambda: emit("reconnecting"))
        room.on("reconnected", lambda: emit("reconnected"))
        room.on("disconnected", self.disconnected)
        room.on("track_subscribed", self.subscribed)
        room.on("track_unsubscribed", self.unsubscribed)

    def disconnected(self, reason) -> None:
        emit("disconnected", reason=int(reason or 0))
        self.stopping.set()

    def subscribed(self, track, publication, participant) -> None:
        emit("subscribed", identity=participant.identity, track=publication.sid, name=publication.name)
        watch = Watch(participant.identity, publication, track)
        self.watches[publication.sid] = watch
        if self.options.quality and watch.kind == "video":
            quality = {"low": rtc.VideoQuality.VIDEO_QUALITY_LOW, "medium": rtc.VideoQuality.VIDEO_QUALITY_MEDIUM,
                       "high": rtc.VideoQuality.VIDEO_QUALITY_HIGH}[self.options.quality]
            publication.set_video_quality(quality)
        if watch.kind == "video":
            work = watch.video(rtc.VideoStream(track, format=rtc.VideoBufferType.I420))
        else:
            work = watch.audio(rtc.AudioStream(track, sample_rate=48_000, num_channels=1))
        self.tasks[publication.sid] = asyncio.create_task(work)

    def unsubscribed(self, track, publication, participant) -> None:
        emit("unsubscribed", identity=participant.identity, track=publication.sid)
        if (task := self.tasks.pop(publication.sid, None)) is not None:
            task.cancel()

    async def run(self) -> None:
        o = self.options
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stopping.set)
        token = o.token or make_token(o.api_key, o.api_secret, o.room, o.identity, hidden=o.hidden)
        self.listen()
        how = rtc.RoomOptions()
        if o.e2ee:
            how.encryption = rtc.E2EEOptions()
            how.encryption.key_provider_options.shared_key = o.e2ee.encode()
        await self.room.connect(o.url, token, how)
        emit("joined", sid=self.room.local_participant.sid, people=sorted(self.room.remote_participants))
        end = time.time() + o.duration if o.duration else float("inf")
        while not self.stopping.is_set() and time.time() < end:
            try:
                await asyncio.wait_for(self.stopping.wait(), min(1.0, max(0.01, end - time.time())))
            except asyncio.TimeoutError:
                pass
            for sid in list(self.tasks):
                await self.watches[sid].measure()
                emit("track", **self.watches[sid].report())
        await self.room.disconnect()
        for task in self.tasks.values():
            task.cancel()
        emit("summary", tracks=[watch.summary() for watch in self.watches.values()])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--token", default="")
    parser.add_argument("--api-key", default="devkey")
    parser.add_argument("--api-secret", default="")
    parser.add_argument("--room", default="test")
    parser.add_argument("--identity", default="watcher")
    parser.add_argument("--hidden", action="store_true")
    parser.add_argument("--quality", choices=["low", "medium", "high"], default="")
    parser.add_argument("--e2ee", default="", metavar="PASSPHRASE", help="read what is encrypted end to end")
    parser.add_argument("--duration", type=float, default=0.0, help="seconds; without it until it is told to stop")
    options = parser.parse_args()

    async def run() -> None:
        await Watcher(options).run()

    try:
        asyncio.run(run())
    except rtc.ConnectError as error:
        emit("failed", action="join", error=error.message)
        raise SystemExit(1) from error


if __name__ == "__main__":
    main()
