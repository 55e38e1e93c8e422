"""A proxy before a room server that fills the room with people who are not there: of any number, with tracks, and as
restless as one likes. Whoever really is in the room goes through unchanged, media included."""

import asyncio
import threading

import aiohttp
from aiohttp import web
from livekit.protocol import models, rtc


def phantom(number: int, version: int = 1, muted: bool = True, gone: bool = False, **fields) -> models.ParticipantInfo:
    """Somebody with a camera and a microphone who does not exist."""
    info = models.ParticipantInfo(
        sid=f"PA_phantom{number}", identity=f"phantom-{number:05}", name=f"Phantom {number}", version=version,
        state=models.ParticipantInfo.DISCONNECTED if gone else models.ParticipantInfo.ACTIVE, joined_at=1_700_000_000,
        **fields)
    if gone:
        return info
    for kind, source, letter in ((models.VIDEO, models.CAMERA, "V"), (models.AUDIO, models.MICROPHONE, "A")):
        info.tracks.add(sid=f"TR_phantom{letter}{number}", type=kind, source=source, muted=muted,
                        name=models.TrackSource.Name(source).lower(), width=1280, height=720,
                        stream=models.TrackSource.Name(source).lower())
    return info


def update(*people: models.ParticipantInfo) -> bytes:
    """A message that tells of these."""
    return rtc.SignalResponse(update=rtc.ParticipantUpdate(participants=people)).SerializeToString()


class CrowdingProxy:
    """Listens on a free port of loopback and passes on to the room server at `url`. A context manager.

    `people`: how many phantoms are told of in each join response. `flood`: messages that are sent again and again to
    whoever has joined, as fast as they are taken, from the moment at which `pour` is called.
    """

    def __init__(self, url: str, people: int, muted: bool = True, flood: list[bytes] | None = None):
        self.target = url.replace("ws", "http", 1)
        self.phantoms = [phantom(number, muted=muted) for number in range(people)]
        self.flood = flood or []
        self.asked = 0  # phantom tracks that were asked for
        self.refused = 0  # phantom tracks that were not wanted
        self.poured = 0
        self.port = 0
        self.loop = asyncio.new_event_loop()
        self.pouring = asyncio.Event()
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    @property
    def url(self) -> str:
        """Where a recorder joins."""
        return f"ws://127.0.0.1:{self.port}"

    def __enter__(self) -> "CrowdingProxy":
        self.thread.start()
        self.ready.wait(10)
        return self

    def __exit__(self, *_) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

    def pour(self) -> None:
        """Lets the flood begin."""
        self.loop.call_soon_threadsafe(self.pouring.set)

    def run(self) -> None:
        """The thread: serves until it is stopped."""
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self.start())
        self.loop.run_forever()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.run_until_complete(self.runner.cleanup())
        self.loop.close()

    async def start(self) -> None:
        """Opens the port."""
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self.serve)
        self.runner = web.AppRunner(app)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]
        self.ready.set()

    async def serve(self, request: web.Request) -> web.StreamResponse:
        """One client: a WebSocket is passed on message by message."""
        headers = {"Authorization": request.headers.get("Authorization", "")}
        async with aiohttp.ClientSession() as session:
            if request.headers.get("Upgrade", "").lower() != "websocket":
                async with session.get(self.target + request.path_qs, headers=headers) as reply:
                    return web.Response(status=reply.status, body=await reply.read())
            async with session.ws_connect(self.target + request.path_qs, headers=headers, max_msg_size=0) as server:
                client = web.WebSocketResponse(max_msg_size=0)
                await client.prepare(request)
                joined = asyncio.Event()
                flood = asyncio.create_task(self.overflow(client, joined))
                ways = [asyncio.create_task(self.down(server, client, joined)),
                        asyncio.create_task(self.up(client, server))]
                await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                for task in (flood, *ways):
                    task.cancel()
                await asyncio.gather(flood, *ways, return_exceptions=True)
                await client.close()
                return client

    async def down(self, server, client, joined: asyncio.Event) -> None:
        """From the server: the join response tells of the phantoms too."""
        async for message in server:
            data = message.data
            if message.type == aiohttp.WSMsgType.BINARY and self.phantoms:
                response = rtc.SignalResponse.FromString(data)
                if response.WhichOneof("message") == "join":
                    response.join.other_participants.extend(self.phantoms)
                    data = response.SerializeToString()
            await client.send_bytes(data)
            joined.set()

    async def up(self, client, server) -> None:
        """From the client: of phantoms the server hears nothing."""
        async for message in client:
            request = rtc.SignalRequest.FromString(message.data)
            kind = request.WhichOneof("message")
            if kind == "subscription":
                count = sum(sid.startswith("TR_phantom") for sid in request.subscription.track_sids)
                if request.subscription.subscribe:
                    self.asked += count
                else:
                    self.refused += count
                real = [sid for sid in request.subscription.track_sids if not sid.startswith("TR_phantom")]
                of_real = [of for of in request.subscription.participant_tracks
                           if not of.participant_sid.startswith("PA_phantom")]
                if not real and not of_real:
                    continue
                del request.subscription.track_sids[:]
                del request.subscription.participant_tracks[:]
                request.subscription.track_sids.extend(real)
                request.subscription.participant_tracks.extend(of_real)
                await server.send_bytes(request.SerializeToString())
                continue
            if kind == "track_setting" and any(sid.startswith("TR_phantom") for sid in request.track_setting.track_sids):
                continue
            await server.send_bytes(message.data)

    async def overflow(self, client, joined: asyncio.Event) -> None:
        """Sends the flood, as fast as it is taken."""
        await joined.wait()
        await self.pouring.wait()
        while self.flood:
            for data in self.flood:
                await client.send_bytes(data)
                self.poured += 1
            await asyncio.sleep(0)
