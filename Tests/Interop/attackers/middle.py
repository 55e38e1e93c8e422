"""A room server as a malicious one would be: stands before a real one, passes signalling on, and says more."""

import asyncio
import contextlib
import threading

import aiohttp
from aiohttp import web
from livekit.protocol import rtc

ATTACKS: list = []


class Middle:
    """Listens on a free port. A context manager; `refresh`, `trickle` and `say` go to every client that is there."""

    def __init__(self, url: str):
        self.target = url
        self.sent = 0
        self.clients: set[web.WebSocketResponse] = set()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)

    def __enter__(self) -> "Middle":
        self.thread.start()
        self.wait(self.open())
        return self

    def __exit__(self, *_) -> None:
        self.wait(self.runner.cleanup())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

    def wait(self, work):
        """Runs something on the loop's thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(20)

    async def open(self) -> None:
        """Listens."""
        app = web.Application()
        app.router.add_get("/rtc", self.join)
        app.router.add_get("/rtc/validate", self.validate)
        self.runner = web.AppRunner(app, shutdown_timeout=1)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"ws://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"  # noqa: SLF001

    async def validate(self, request: web.Request) -> web.Response:
        """Passes a check on."""
        headers = {"Authorization": request.headers.get("Authorization", "")}
        async with aiohttp.ClientSession() as session:
            async with session.get(self.target.replace("ws", "http", 1) + request.path_qs, headers=headers) as answer:
                return web.Response(status=answer.status, body=await answer.read())

    async def join(self, request: web.Request) -> web.StreamResponse:
        """Passes messages on in both directions until one side closes."""
        headers = {"Authorization": request.headers.get("Authorization", "")}
        async with aiohttp.ClientSession() as session:
            try:
                server = await session.ws_connect(self.target + request.path_qs, headers=headers)
            except aiohttp.WSServerHandshakeError as error:
                return web.Response(status=error.status, text="invalid authorization token")
            client = web.WebSocketResponse()
            await client.prepare(request)
            self.clients.add(client)
            up = asyncio.ensure_future(self.pass_on(client, server))
            try:
                await self.pass_on(server, client)
            finally:
                self.clients.discard(client)
                up.cancel()
                await client.close()
                await server.close()
            return client

    @staticmethod
    async def pass_on(source, sink) -> None:
        """One direction."""
        with contextlib.suppress(ConnectionError, aiohttp.ClientError):
            async for message in source:
                if message.type == aiohttp.WSMsgType.BINARY:
                    await sink.send_bytes(message.data)
                elif message.type == aiohttp.WSMsgType.TEXT:
                    await sink.send_str(message.data)

    def say(self, message: bytes | str) -> None:
        """Says something to the clients, as it is."""
        async def send() -> None:
            for client in list(self.clients):
                with contextlib.suppress(ConnectionError, aiohttp.ClientError):
                    await (client.send_str(message) if isinstance(message, str) else client.send_bytes(message))
        self.sent += 1
        self.wait(send())

    def refresh(self, token: str) -> None:
        """Sends a token to use from now on."""
        self.say(rtc.SignalResponse(refresh_token=token).SerializeToString())

    def trickle(self, candidate: str) -> None:
        """Sends a candidate for the connection of which the server is the offerer."""
        self.say(rtc.SignalResponse(trickle=rtc.TrickleRequest(candidateInit=candidate, target=rtc.SUBSCRIBER))
                 .SerializeToString())

    def cut(self) -> None:
        """Closes the clients' connections."""
        async def close() -> None:
            for client in list(self.clients):
                await client.close()
        self.wait(close())
