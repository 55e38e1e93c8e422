"""People whose pictures and sound are encoded by Chromium, in a LiveKit room: the page makes the media and the connection,
the signalling is done here."""

import asyncio
import json
import pathlib
import threading
import time

import aiohttp
from livekit.protocol import models, rtc

from browser import Browser
from stage import COLOURS, PITCHES, Failed, Stage, make_token

LAYERS = ((models.LOW, 4), (models.MEDIUM, 2), (models.HIGH, 1))


class WebPage(Browser):
    """A browser whose page holds such people."""

    def __init__(self, folder: pathlib.Path, name: str = "people"):
        super().__init__(folder, name)
        self.run(pathlib.Path(__file__).with_name("web_people.js").read_text() + "; undefined")


class WebPerson:
    """Somebody of a page, in the room `test`. `codec`: as in SDP; `mode`: layers in one stream (`L3T3_KEY`), or "" for
    three streams of their own (simulcast)."""

    def __init__(self, stage: Stage, page: WebPage, name: str, colour: str, codec: str, mode: str,
                 size: tuple[int, int] = (640, 360), fps: int = 30):
        self.stage, self.page, self.name, self.display = stage, page, name, name.capitalize()
        self.colour, self.pitch, self.codec, self.mode = COLOURS[colour], PITCHES[colour], codec, mode
        self.size, self.fps = size, fps
        self.published: list[models.TrackInfo] = []
        self.failure = ""
        self.ended = threading.Event()
        self.ready = threading.Event()

    def join(self) -> "WebPerson":
        """Joins and publishes; returns when the media flows."""
        encodings = ([{"scalabilityMode": self.mode}] if self.mode else
                     [{"rid": rid, "scaleResolutionDownBy": down} for rid, down in (("q", 4), ("h", 2), ("f", 1))])
        self.ids = self.ask("appear", {
            "colour": self.colour, "pitch": self.pitch, "width": self.size[0], "height": self.size[1], "fps": self.fps,
            "mimeType": f"video/{self.codec}", "encodings": encodings})
        self.thread = threading.Thread(target=lambda: asyncio.run(self.run()), daemon=True)
        self.thread.start()
        self.stage.start(self)
        if not self.ready.wait(20) or self.failure:
            raise Failed(f"{self.name}: not published: {self.failure}")
        self.page.until(f"people.{self.name}.connection.connectionState === 'connected'")
        return self

    def ask(self, function: str, *arguments):
        """Calls a function of the page about this person."""
        return self.page.run(f"{function}({json.dumps([self.name, *arguments])[1:-1]})")

    def resize(self, width: int, height: int) -> float:
        """Gives the picture another size; tells when, by the wall clock."""
        return self.ask("resize", width, height) / 1000

    @property
    def sent(self) -> list[dict]:
        """See the page's function."""
        return self.ask("sent")

    def close(self) -> None:
        """Leaves."""
        self.ended.set()
        self.thread.join(10)

    async def run(self) -> None:
        """The thread's work: in the room until `close`."""
        try:
            token = make_token(self.name, "test", canPublish=True, canSubscribe=False, hidden=None)
            async with aiohttp.ClientSession() as session:
                async with session.ws_connect(f"{self.stage.url}/rtc?protocol=9&auto_subscribe=0",
                                              headers={"Authorization": f"Bearer {token}"}) as socket:
                    tasks = [asyncio.create_task(self.hear(socket)), asyncio.create_task(self.ping(socket))]
                    while not self.ended.is_set() and not any(task.done() for task in tasks):
                        await asyncio.sleep(0.05)
                    for task in tasks:
                        task.cancel()
                    await asyncio.gather(*tasks)
        except asyncio.CancelledError:
            pass
        except Exception as error:  # told by who waits for it
            self.failure = f"{type(error).__name__}: {error}"
            self.ready.set()

    async def say(self, socket: aiohttp.ClientWebSocketResponse, **message) -> None:
        await socket.send_bytes(rtc.SignalRequest(**message).SerializeToString())

    async def ping(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Keeps the session."""
        while True:
            await self.say(socket, ping_req=rtc.Ping(timestamp=int(time.time() * 1000)))
            await asyncio.sleep(3)

    async def hear(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Does what the server's messages call for."""
        async for message in socket:
            response = rtc.SignalResponse.FromString(message.data)
            kind = response.WhichOneof("message")
            if kind == "join":
                await self.announce(socket)
            elif kind == "track_published":
                self.published.append(response.track_published.track)
                if len(self.published) == 2:
                    sdp = await asyncio.to_thread(self.ask, "offer")
                    await self.say(socket, offer=rtc.SessionDescription(type="offer", sdp=sdp, id=1))
            elif kind == "answer":
                await asyncio.to_thread(self.ask, "take", response.answer.sdp)
                self.ready.set()
            elif kind == "trickle" and response.trickle.target == rtc.PUBLISHER:
                await asyncio.to_thread(self.ask, "reach", json.loads(response.trickle.candidateInit))

    async def announce(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Says what will be published."""
        width, height = self.size
        layers = [models.VideoLayer(quality=quality, width=width // down, height=height // down)
                  for quality, down in LAYERS]
        way = models.VideoLayer.MULTIPLE_SPATIAL_LAYERS_PER_STREAM if self.mode else models.VideoLayer.ONE_SPATIAL_LAYER_PER_STREAM
        codec = rtc.SimulcastCodec(codec=self.codec.lower(), cid=self.ids["video"], layers=layers, video_layer_mode=way)
        await self.say(socket, add_track=rtc.AddTrackRequest(
            cid=self.ids["video"], name="camera", type=models.VIDEO, source=models.CAMERA, width=width, height=height,
            layers=layers, simulcast_codecs=[codec]))
        await self.say(socket, add_track=rtc.AddTrackRequest(
            cid=self.ids["audio"], name="microphone", type=models.AUDIO, source=models.MICROPHONE))
