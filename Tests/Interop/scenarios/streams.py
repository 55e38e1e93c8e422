"""Sound and pictures that go over WebSockets while they are recorded."""

import asyncio
import threading
import time

from aiohttp import WSMsgType, web

from scenarios.common import in_step, load
from scenarios.sinks import Blocks, alone
from stage import Stage
from verdict import Verdict

SHORT = 20  # messages after which the impatient listener hangs up
PICTURE = 320 * 180 * 3 // 2


class Listener:
    """WebSocket servers, each at a path of its own: `/keep/…` keeps what comes, `/short` hangs up after some messages, `/deaf` reads
    nothing, `/no` is none."""

    def __init__(self):
        self.port = 0
        self.messages: dict[str, list[bytes]] = {}
        self.codes: dict[str, int] = {}
        self.connections: dict[str, int] = {}
        self.ready = threading.Event()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_until_complete, args=(self.serve(),), daemon=True)
        self.thread.start()
        self.ready.wait(10)

    async def serve(self) -> None:
        """The thread."""
        app = web.Application()
        app.router.add_get("/{path:.*}", self.hear)
        runner = web.AppRunner(app, shutdown_timeout=1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]  # aiohttp has no other way to ask
        self.end = asyncio.Event()
        self.ready.set()
        await self.end.wait()
        await runner.cleanup()

    async def hear(self, request: web.Request) -> web.StreamResponse:
        """One connection."""
        path = request.path
        self.connections[path] = self.connections.get(path, 0) + 1
        if path == "/no":
            return web.Response(status=403, text="not you")
        link = web.WebSocketResponse(max_msg_size=1 << 24, autoping=True)
        await link.prepare(request)
        if path == "/deaf":
            await self.end.wait()
            return link
        kept = self.messages.setdefault(path, [])
        count = 0
        async for message in link:
            if message.type == WSMsgType.BINARY:
                kept.append(message.data)
                count += 1
                if path == "/short" and count == SHORT:
                    await link.close(code=1001)
        self.codes[path] = link.close_code
        return link

    def stop(self) -> None:
        """Ends it."""
        self.loop.call_soon_threadsafe(self.end.set)
        self.thread.join(10)


def streamed(stage: Stage, verdict: Verdict) -> None:
    """WebSockets get one person's sound and the picture, message by message; one that hangs up is dialled again, one that refuses is
    told of once, one that does not read holds up nobody."""
    stage.server()
    ann, bob = people = [stage.publisher(name, colour=colour).join() for name, colour in (("ann", "red"), ("bob", "green"))]
    listener = Listener()
    url = f"ws://127.0.0.1:{listener.port}"
    recorder = stage.recorder(
        "talk", "--size", "640x360", "--sink", f"audio:ann={url}/keep/ann?key=hush,rate=16000,channels=1,framing=timed",
        "--sink", f"video:mixed={url}/keep/seen,size=320x180,fps=5", "--sink", f"audio:mixed={url}/short",
        "--sink", f"video:mixed={url}/deaf", "--sink", f"audio:bob={url}/no?key=hush")
    began = recorder.recording()
    stage.until(began + 9)
    stopping = time.time()
    recorder.stop()
    verdict.timely(time.time() - stopping < 3, f"the end took {time.time() - stopping:.1f} s")
    listener.stop()

    recording = load(recorder, verdict)
    in_step(recording, people, 1.5, recording.duration, verdict)
    sizes = {path: set(map(len, messages)) for path, messages in listener.messages.items()}
    verdict.check(sizes == {"/keep/ann": {656}, "/keep/seen": {PICTURE}, "/short": {3840}}, f"messages of {sizes} bytes")
    part = Blocks(b"".join(listener.messages.get("/keep/ann", [])), verdict)
    alone(part.sound, ann, bob, 5, verdict)
    verdict.check(part.start + part.length > recording.duration - 0.1, f"the last sound is of {part.start + part.length:.2f} s")
    seen = len(listener.messages.get("/keep/seen", []))
    # It was connected before the recording began.
    verdict.timely(abs(seen - 5 * recording.duration) <= 2, f"{seen} pictures in {recording.duration:.1f} s")
    verdict.check(listener.codes.get("/keep/ann") == 1000 and listener.codes.get("/keep/seen") == 1000, f"closed with {listener.codes}")
    verdict.check(listener.connections.get("/short", 0) >= 3, f"dialled {listener.connections}")
    verdict.check(1 < listener.connections.get("/no", 0) <= 6, f"dialled {listener.connections}")
    ends = recorder.last_progress["sinks"]
    lost = [sink["lost_blocks"] for sink in ends]
    verdict.check(lost[:3] == [0, 0, 0] and lost[3] > 30 and not any(sink["failure"] for sink in ends), f"at the end: {ends}")
    refusals = [line for line in recorder.errors.splitlines() if "/no" in line and "403" in line]
    verdict.check(len(refusals) == 1, f"of the refusal is said {refusals}")
    verdict.check("hush" not in recorder.errors and not any("hush" in line for line in recorder.output), "the key is told")
    verdict.figure(f"{listener.connections.get('/short')} times dialled, {lost[3]} pictures not read")
