#!/usr/bin/env python3
"""A synthetic participant: joins a room with the LiveKit SDK (libwebrtc) and publishes a known picture and sound.

Camera: one solid colour; its middle is white for 60 ms from each whole second of the shared wall clock. (Not all of it: flashes
of three large layers are more than a client with a low estimate of its way gets sent in time, and it leaves out pictures.)
Microphone: a beep of 60 ms from the same instants; while it talks, speech-like noise between the beeps.
Screen share: a second solid colour with black bars, without flashes.
What it does is printed as JSON lines with wall-clock times, for a judge to compare with a recording.

Script steps, `;`-separated, in seconds after `--epoch` (default: the moment when all is published):
  mute-camera unmute-camera mute-microphone unmute-microphone publish-camera unpublish-camera
  publish-microphone unpublish-microphone share-screen unshare-screen leave join
  key=INDEX:PASSPHRASE (what is sent is encrypted with it from now on) ratchet (the key's next step)
  name=TEXT metadata=TEXT avatar=TEXT attribute=KEY:VALUE data=TEXT lossy=TEXT chat=TEXT caption=TEXT colour=RRGGBB size=WxH
  stall=SECONDS (the microphone's capture stops without a mute, and goes on)
  talk hush   and spans: t=2-5:talk
With `--commands` the same actions are also taken from standard input, one a line; its end makes the client leave.
"""

import argparse
import asyncio
import math
import signal
import sys
import time

import numpy
from livekit import rtc

import pattern
from common import emit, make_token, parse_script, parse_size, yuv

FLASH = 0.060
SAMPLE_RATE = 48_000
CHUNK = SAMPLE_RATE // 100


def solid(width: int, height: int, colour: tuple[int, int, int], bars: bool = False,
          stripes: int = 0, noise: int = -1, middle: tuple[int, int, int] | None = None) -> rtc.VideoFrame:
    """An I420 frame of one colour; with `bars`, black bars mark it as a shared screen; `middle`: another colour in the middle.

    With `stripes`, the left half is black and white columns, each so many pixels wide: a picture that was made smaller
    on its way comes out grey there. With `noise`, the right third is noise of this seed, in squares.
    """
    luma = numpy.full((height, width), colour[0], numpy.uint8)
    if bars:
        luma[:: max(2, height // 8)] = 16
    blue = numpy.full((height // 2, width // 2), colour[1], numpy.uint8)
    red = numpy.full((height // 2, width // 2), colour[2], numpy.uint8)
    if stripes:
        half = width // 4 * 2
        luma[:, :half] = numpy.where(numpy.arange(half) // stripes % 2, 235, 16)
        blue[:, :half // 2] = red[:, :half // 2] = 128
    if noise >= 0:
        blocks = numpy.random.default_rng(noise).integers(16, 235, (height // 8 + 1, width // 24 + 1), numpy.uint8)
        luma[:, width // 3 * 2:] = blocks.repeat(8, 0).repeat(8, 1)[:height, :width - width // 3 * 2]
        blue[:, width // 3:] = red[:, width // 3:] = 128
    if middle:
        for plane, value in zip((luma, blue, red), middle):
            rows, columns = plane.shape
            plane[rows // 5:rows - rows // 5, columns // 5:columns - columns // 5] = value
    data = luma.tobytes() + blue.tobytes() + red.tobytes()
    return rtc.VideoFrame(width, height, rtc.VideoBufferType.I420, bytearray(data))


def numbered(index: int, width: int, height: int) -> rtc.VideoFrame:
    """A grey frame that says which it is."""
    data = bytearray(width * height * 3 // 2)
    planes = numpy.frombuffer(data, numpy.uint8)
    planes[:width * height] = pattern.luma(index % (1 << pattern.BITS), width, height).reshape(-1)
    planes[width * height:] = 128
    return rtc.VideoFrame(width, height, rtc.VideoBufferType.I420, data)


class Voice:
    """Makes the microphone's sound for any wall-clock instant: beeps each second, noise while talking."""

    def __init__(self, frequency: float, seed: int):
        self.frequency = frequency
        # A loop of noise in the band of a voice, shaped into syllables of 200 ms: loud, but nothing like a higher beep.
        spectrum = numpy.fft.rfft(numpy.random.default_rng(seed).standard_normal(SAMPLE_RATE * 2))
        pitches = numpy.fft.rfftfreq(SAMPLE_RATE * 2, 1 / SAMPLE_RATE)
        spectrum[(pitches < 150) | (pitches > 1200)] = 0
        noise = numpy.fft.irfft(spectrum)
        noise /= numpy.abs(noise).max()
        at = numpy.arange(noise.size) / SAMPLE_RATE
        self.noise = noise * (0.35 + 0.25 * numpy.sin(2 * math.pi * 5 * at)) * 20_000

    def chunk(self, tick: int, talking: bool) -> numpy.ndarray:
        """10 ms of sound; `tick` counts chunks of the wall clock since 1970."""
        first = tick * CHUNK
        phase = tick % 100
        if phase < round(FLASH * 100):
            at = (numpy.arange(CHUNK) + first % SAMPLE_RATE) / SAMPLE_RATE
            return (numpy.sin(2 * math.pi * self.frequency * at) * 20_000).astype(numpy.int16)
        # Silence around the beep keeps its onset unmistakable.
        if talking and 12 <= phase < 94:
            start = first % (self.noise.size - CHUNK)
            return self.noise[start:start + CHUNK].astype(numpy.int16)
        return numpy.zeros(CHUNK, numpy.int16)


class Participant:
    """One participant and its tracks; joins and leaves as the script says."""

    def __init__(self, options: argparse.Namespace):
        self.options = options
        self.steps, self.talks = parse_script(options.script)
        self.size = parse_size(options.size)
        self.screen_size = parse_size(options.screen_size)
        self.voice = Voice(options.frequency, seed=sum(options.identity.encode()))
        self.epoch = options.epoch or math.inf
        self.room: rtc.Room | None = None
        self.sources: dict[str, rtc.VideoSource | rtc.AudioSource] = {}
        self.publications: dict[str, rtc.LocalTrackPublication] = {}
        self.stopping = asyncio.Event()
        self.talks_until_told = False
        self.stalled_until = 0.0
        self.colour = options.colour
        self.rotation = 0
        self.paint()

    def paint(self) -> None:
        """Makes the camera's two pictures; they may change at any time, as when a phone is turned."""
        self.frames = [solid(*self.size, yuv(self.colour), stripes=self.options.stripes, noise=seed)
                       for seed in (range(8) if self.options.noise else [-1])]
        white = yuv("ffffff")
        self.flash = solid(*self.size, white) if self.options.whole_flash else solid(*self.size, yuv(self.colour), middle=white)

    def token(self) -> str:
        o = self.options
        if o.token:
            return o.token
        return make_token(o.api_key, o.api_secret, o.room, o.identity, o.name)

    async def join(self) -> None:
        self.room = rtc.Room()
        room = self.room
        room.on("disconnected", lambda reason: emit("disconnected", reason=int(reason or 0)))
        room.on("reconnecting", lambda: emit("reconnecting"))
        room.on("reconnected", lambda: emit("reconnected"))
        how = rtc.RoomOptions(auto_subscribe=self.options.subscribe)
        if self.options.e2ee:
            how.encryption = rtc.E2EEOptions()
            how.encryption.key_provider_options.shared_key = self.options.e2ee.encode()
        await room.connect(self.options.url, self.token(), how)
        emit("joined", sid=room.local_participant.sid, identity=self.options.identity)
        if not self.options.no_camera:
            await self.publish("camera")
        if not self.options.no_microphone:
            await self.publish("microphone")
        if self.options.screen:
            await self.publish("screen")
        emit("complete")

    async def publish(self, kind: str) -> None:
        if self.room is None or kind in self.publications:
            return
        o = self.options
        if kind == "microphone":
            # No queue: a chunk is captured at the instant at which it is handed over, as a video frame is.
            source = rtc.AudioSource(SAMPLE_RATE, 1, queue_size_ms=0)
            track = rtc.LocalAudioTrack.create_audio_track("microphone", source)
            how = rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE, red=o.red, dtx=o.dtx)
        else:
            size = self.size if kind == "camera" else self.screen_size
            source = rtc.VideoSource(*size, is_screencast=kind == "screen")
            track = rtc.LocalVideoTrack.create_video_track(kind, source)
            how = rtc.TrackPublishOptions(
                source=rtc.TrackSource.SOURCE_CAMERA if kind == "camera" else rtc.TrackSource.SOURCE_SCREENSHARE,
                video_codec=rtc.VideoCodec.Value(o.codec), simulcast=o.simulcast and kind == "camera")
            if o.scalability:
                how.scalability_mode = o.scalability
            # The SDK's presets would also lower the frame rate.
            how.video_encoding.max_bitrate = o.bitrate or max(400_000, size[0] * size[1] * 4)
            how.video_encoding.max_framerate = o.fps
        self.sources[kind] = source
        publication = await self.room.local_participant.publish_track(track, how)
        self.publications[kind] = publication
        emit("published", kind=kind, track=publication.sid, simulcast=publication.simulcasted)

    async def unpublish(self, kind: str) -> None:
        publication = self.publications.pop(kind, None)
        self.sources.pop(kind, None)
        if publication is not None and self.room is not None:
            await self.room.local_participant.unpublish_track(publication.sid)
            emit("unpublished", kind=kind, track=publication.sid)

    async def leave(self) -> None:
        room, self.room = self.room, None
        self.publications.clear()
        self.sources.clear()
        if room is not None:
            await room.disconnect()
            emit("left")

    def mute(self, kind: str, muted: bool) -> None:
        publication = self.publications.get(kind)
        if publication is None or publication.track is None:
            emit("skipped", action="mute", kind=kind)
            return
        if muted:
            publication.track.mute()
        else:
            publication.track.unmute()
        emit("muted" if muted else "unmuted", kind=kind, track=publication.sid)

    async def perform(self, action: str, argument: str) -> None:
        verb, _, kind = action.partition("-")
        if action == "join":
            await self.join()
        elif action == "leave":
            await self.leave()
        elif action == "share-screen":
            await self.publish("screen")
        elif action == "unshare-screen":
            await self.unpublish("screen")
        elif verb in ("mute", "unmute"):
            self.mute(kind, verb == "mute")
        elif verb == "publish":
            await self.publish(kind)
        elif verb == "unpublish":
            await self.unpublish(kind)
        elif action in ("talk", "hush"):
            self.talks_until_told = action == "talk"
        elif action == "stall":
            self.stalled_until = time.time() + float(argument)
            emit("stalled", until=self.stalled_until)
        elif action == "colour":
            self.colour = argument
            self.paint()
            emit("colour", colour=argument)
        elif action == "size":
            self.size = parse_size(argument)
            self.paint()
            emit("size", size=argument)
        elif action == "rotate":
            # Clockwise, as a phone says how its picture is to be turned.
            self.rotation = int(argument) // 90
            emit("rotated", degrees=int(argument))
        elif self.room is None:
            emit("skipped", action=action)
        elif action == "key":
            index, _, passphrase = argument.partition(":")
            self.room.e2ee_manager.key_provider.set_shared_key(passphrase.encode(), int(index))
            for cryptor in self.room.e2ee_manager.frame_cryptors():
                cryptor.set_key_index(int(index))
            emit("key", index=int(index))
        elif action == "ratchet":
            key = self.room.e2ee_manager.key_provider.ratchet_shared_key(0)
            emit("ratcheted", key=key.hex())
        elif action in ("data", "lossy"):
            await self.room.local_participant.publish_data(argument, reliable=action == "data", topic="test")
            emit("sent", text=argument, reliable=action == "data")
        elif action == "chat":
            # `\\n` in a command stands for a line break, `*N` at its end repeats the text.
            text, _, times = argument.replace("\\n", "\n").partition("*")
            info = await self.room.local_participant.send_text(text * int(times or 1), topic="lk.chat")
            emit("sent", text=argument, id=info.stream_id)
        elif action == "caption":
            track = self.publications["microphone"].sid
            for words, final in ((argument[:len(argument) // 2], False), (argument, True)):
                await self.room.local_participant.publish_transcription(rtc.Transcription(
                    self.options.identity, track, [rtc.TranscriptionSegment("1", words, 0, 0, "en", final)]))
                await asyncio.sleep(0 if final else 1)
            emit("sent", text=argument)
        elif action == "name":
            await self.room.local_participant.set_name(argument)
            emit("named", name=argument)
        elif action == "metadata":
            await self.room.local_participant.set_metadata(argument)
            emit("metadata", metadata=argument)
        elif action == "avatar":
            await self.room.local_participant.set_attributes({"avatar": argument})
            emit("avatar", avatar=argument)
        elif action == "attribute":
            key, _, value = argument.partition(":")
            await self.room.local_participant.set_attributes({key: value})
            emit("attribute", key=key, value=value)
        else:
            raise ValueError(f"unknown action {action!r}")

    async def run_script(self) -> None:
        for at, action, argument in self.steps:
            await asyncio.sleep(max(0.0, self.epoch + at - time.time()))
            await self.attempt(action, argument)

    async def attempt(self, action: str, argument: str) -> None:
        try:
            await self.perform(action, argument)
        except ValueError:
            raise
        except Exception as error:  # the SDK's own error types have no common base
            emit("failed", action=action, error=str(error))

    async def run_commands(self) -> None:
        """Takes actions from standard input until it ends; whoever started this client is gone then."""
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            action, _, argument = line.decode().strip().partition("=")
            await self.attempt(action, argument)
        self.stopping.set()

    async def run_video(self) -> None:
        """Captures at wall-clock multiples of the frame period; a late frame is skipped, not sent in a burst."""
        fps = self.options.fps
        screen = solid(*self.screen_size, yuv(self.options.screen_colour), bars=True)
        index = math.floor(time.time() * fps) + 1
        while not self.stopping.is_set():
            await asyncio.sleep(max(0.0, index / fps - time.time()))
            index = max(index, math.floor(time.time() * fps))
            at = index / fps
            # One clock for both: libwebrtc aligns capture times to its monotonic clock.
            stamp = int(at * 1_000_000)
            flashing = at % 1.0 < FLASH - 0.5 / fps
            if (source := self.sources.get("camera")) is not None:
                frame = self.flash if flashing else self.frames[index % len(self.frames)]
                if self.options.pattern:
                    frame = numbered(index, *self.size)
                source.capture_frame(frame, timestamp_us=stamp, rotation=self.rotation)
            if (source := self.sources.get("screen")) is not None:
                source.capture_frame(screen, timestamp_us=stamp)
            index += 1

    async def run_audio(self) -> None:
        """Captures 10 ms chunks on the wall clock; after a stall the missed ones follow at once, none is left out."""
        tick = math.floor(time.time() * 100) + 1
        source = None
        settled = 0
        talking = False
        while not self.stopping.is_set():
            await asyncio.sleep(max(0.0, tick / 100 - time.time()))
            if self.sources.get("microphone") is not source:
                source = self.sources.get("microphone")
                settled = tick + 100
            # While a track comes up a chunk may take long: there is nothing yet that could be continuous.
            if tick < settled and time.time() * 100 - tick > 3:
                tick = math.floor(time.time() * 100)
            now = tick / 100 - self.epoch
            talks = self.talks_until_told or any(start <= now < end for start, end in self.talks)
            if talks != talking:
                talking = talks
                emit("talking" if talking else "silent")
            if source is not None and tick / 100 >= self.stalled_until:
                samples = self.voice.chunk(tick, talking)
                await source.capture_frame(rtc.AudioFrame(samples.tobytes(), SAMPLE_RATE, 1, CHUNK))
            tick += 1

    async def run_stats(self) -> None:
        """Every two seconds, what libwebrtc says of each outgoing stream: whether it can ramp up."""
        while not self.stopping.is_set():
            await asyncio.sleep(2)
            if self.room is None:
                continue
            stats = await self.room.get_rtc_stats()
            codecs = {entry.codec.rtc.id: entry.codec.codec.mime_type for entry in stats.publisher_stats
                      if entry.WhichOneof("stats") == "codec"}
            for entry in stats.publisher_stats:
                kind = entry.WhichOneof("stats")
                if kind == "outbound_rtp":
                    sent, stream = entry.outbound_rtp.outbound, entry.outbound_rtp.stream
                    emit("outbound", kind=stream.kind, codec=codecs.get(stream.codec_id, ""), rid=sent.rid,
                         fps=sent.frames_per_second, size=f"{sent.frame_width}x{sent.frame_height}",
                         target=sent.target_bitrate, limited=int(sent.quality_limitation_reason), nacks=sent.nack_count, plis=sent.pli_count,
                         keyframes=sent.key_frames_encoded, bytes=entry.outbound_rtp.sent.bytes_sent,
                         packets=entry.outbound_rtp.sent.packets_sent)
                elif kind == "candidate_pair" and entry.candidate_pair.candidate_pair.nominated:
                    pair = entry.candidate_pair.candidate_pair
                    emit("path", available=pair.available_outgoing_bitrate, rtt=pair.current_round_trip_time)

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self.stopping.set)
        if self.options.start:
            await asyncio.sleep(max(0.0, self.options.start - time.time()))
        tasks = [asyncio.create_task(self.run_video()), asyncio.create_task(self.run_audio())]
        if self.options.stats:
            tasks.append(asyncio.create_task(self.run_stats()))
        try:
            if not self.options.wait and not any(action == "join" for _, action, _ in self.steps[:1]):
                await self.join()
            if self.epoch == math.inf:
                self.epoch = time.time()
            emit("ready", epoch=self.epoch)
            tasks.append(asyncio.create_task(self.run_script()))
            end = asyncio.create_task(self.stopping.wait())
            timeout = self.options.duration and max(0.0, self.epoch + self.options.duration - time.time())
            pending = {end, *tasks[:2]}
            if self.options.commands:
                tasks.append(asyncio.create_task(self.run_commands()))
                pending.add(tasks[-1])
            done, _ = await asyncio.wait(pending, timeout=timeout or None, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self.stopping.set()
            await self.leave()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            emit("stopped")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True)
    parser.add_argument("--token", default="")
    parser.add_argument("--api-key", default="devkey")
    parser.add_argument("--api-secret", default="")
    parser.add_argument("--room", default="test")
    parser.add_argument("--identity", required=True)
    parser.add_argument("--name", default="")
    parser.add_argument("--colour", default="3060c0", help="RRGGBB of the camera")
    parser.add_argument("--size", default="640x360")
    parser.add_argument("--fps", type=int, default=30)
    parser.add_argument("--bitrate", type=int, default=0, help="upper limit of the camera in bit/s")
    parser.add_argument("--codec", default="VP8", choices=rtc.VideoCodec.keys(), help="of the pictures")
    parser.add_argument("--scalability", default="", metavar="MODE", help="layers in one stream, as L3T3_KEY")
    parser.add_argument("--simulcast", action="store_true")
    parser.add_argument("--pattern", action="store_true", help="pictures with their number (pattern.py), no flashes")
    parser.add_argument("--red", action="store_true", help="offer RED for sound")
    parser.add_argument("--dtx", action="store_true", help="let Opus stop in silence")
    parser.add_argument("--screen", action="store_true", help="share a screen from the start")
    parser.add_argument("--screen-size", default="1280x720")
    parser.add_argument("--screen-colour", default="d0d0a0")
    parser.add_argument("--no-camera", action="store_true")
    parser.add_argument("--no-microphone", action="store_true")
    parser.add_argument("--e2ee", default="", metavar="PASSPHRASE", help="encrypt media and messages end to end")
    parser.add_argument("--subscribe", action="store_true", help="also receive the others' tracks")
    parser.add_argument("--frequency", type=float, default=880.0, help="pitch of the beep in Hz")
    parser.add_argument("--start", type=float, default=0.0, help="wall-clock time at which to join")
    parser.add_argument("--epoch", type=float, default=0.0, help="wall-clock time of the script's t=0")
    parser.add_argument("--duration", type=float, default=0.0, help="seconds after the epoch until it leaves")
    parser.add_argument("--script", default="")
    parser.add_argument("--commands", action="store_true", help="take actions from standard input too")
    parser.add_argument("--wait", action="store_true", help="don't join before the command or step `join`")
    parser.add_argument("--stripes", type=int, default=0, metavar="N",
                        help="the left half of the camera's picture is columns of N pixels, black and white")
    parser.add_argument("--noise", action="store_true",
                        help="the right third of the camera's picture is noise, so that it takes all of --bitrate")
    parser.add_argument("--whole-flash", action="store_true", help="flashes fill the picture, for who looks for edges, or at its sides")
    parser.add_argument("--stats", action="store_true", help="also print the SDK's sending statistics")
    options = parser.parse_args()

    async def run() -> None:
        await Participant(options).run()

    try:
        asyncio.run(run())
    except ValueError as error:
        parser.error(str(error))
    except rtc.ConnectError as error:
        emit("failed", action="join", error=error.message)
        raise SystemExit(1) from error


if __name__ == "__main__":
    main()
