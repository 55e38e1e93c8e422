"""Sinks of jobs: a program that is given the sound of a job's recording over a WebSocket, from whichever worker has the job."""

import asyncio
import pathlib
import signal
import threading
import time

import numpy as np
from aiohttp import WSMsgType, web

from judge import decodes
from livekit import api
from service.desk import Service
from service.egress import ENDED, reaches
from service.losses import begin, finish, holder, process
from stage import KEY, SECRET, Stage
from verdict import Verdict

RATE = 16_000


class Listener:
    """A WebSocket server that keeps what it is sent, by connection."""

    def __init__(self):
        self.calls: list[tuple[str, bytearray, set[int]]] = []  # what was asked for, the bytes, the messages' sizes
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._ready.wait(10)

    async def _hear(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        call = (request.path_qs, bytearray(), set())
        self.calls.append(call)
        async for message in socket:
            if message.type == WSMsgType.BINARY:
                call[1].extend(message.data)
                call[2].add(len(message.data))
        return socket

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)

        async def serve() -> None:
            app = web.Application()
            app.router.add_get("/{path:.*}", self._hear)
            self._runner = web.AppRunner(app)
            await self._runner.setup()
            site = web.TCPSite(self._runner, "127.0.0.1", 0)
            await site.start()
            self.port = site._server.sockets[0].getsockname()[1]
            self._ready.set()

        self._loop.run_until_complete(serve())
        self._loop.run_forever()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)


def listened(stage: Stage, verdict: Verdict) -> None:
    """A job's sound goes to a WebSocket from the first worker, and from the second after the first is killed. Who may dial no private
    address, and who finds nobody, record all the same, and the job says what its sinks lack."""
    service, listener = Service(stage), Listener()
    try:
        refusals(service, verdict)
        service.worker()
        ann, job = begin(service, "room", "--sink", f"audio:mixed=ws://127.0.0.1:{listener.port}/hear?key=secret,rate={RATE},channels=1",
                         "--sink", f"video:ann=ws://127.0.0.1:{listener.port}/see,size=160x90,fps=5")
        shown = service.ask("jobs", "show", job)
        verdict.check("/hear?…" in shown and "secret" not in shown, f"jobs show: {shown}")
        service.worker()
        stage.until(time.time() + 4.0)
        first = process(service, holder(service, job))
        first.send(signal.SIGKILL)
        service.wait(lambda: holder(service, job) not in ("", first.name), "nobody took the job", timeout=30)
        service.reaches(job, {"running"}, 10)
        stage.until(time.time() + 4.0)
        if not finish(service, job, verdict, parts=2):
            return
        heard = [call for call in listener.calls if call[0] == "/hear?key=secret"]
        seen = [call for call in listener.calls if call[0] == "/see"]
        verdict.check(len(heard) == len(seen) == 2, f"connections: {[call[0] for call in listener.calls]}")
        for _, data, sizes in heard:
            sound = np.frombuffer(bytes(data[: len(data) // 2 * 2]), "<i2").astype(np.float32) / 32768
            verdict.check(sizes == {RATE // 50 * 2}, f"messages of {sizes} bytes")
            verdict.check(len(sound) / RATE > 2.5, f"{len(sound) / RATE:.1f} s of sound")
            # A beep each second.
            level = np.abs(sound[: len(sound) // 160 * 160]).reshape(-1, 160).max(axis=1)
            beeps = int(((level[1:] > 0.1) & (level[:-1] <= 0.1)).sum())
            verdict.check(beeps >= 2, f"{beeps} beeps in {len(sound) / RATE:.1f} s")
        for _, data, sizes in seen:
            verdict.check(sizes == {160 * 90 * 3 // 2} and len(data) // 21_600 >= 10, f"{len(data) // 21_600} pictures, of {sizes} bytes")
        verdict.figure(f"{[round(len(data) / 2 / RATE, 1) for _, data, _ in heard]} s of sound from two workers")
        ann.tell("leave", "left")
        asyncio.run(track_egress(service, listener, verdict))
        lacking(service, verdict)
    finally:
        listener.close()
        service.close()


async def track_egress(service: Service, listener: Listener, verdict: Verdict) -> None:
    """LiveKit's SDK asks for the sound of two people, who beep each at a pitch: each one's, and nobody else's, comes to its WebSocket."""
    stage = service.stage
    ann, bob = (stage.publisher(name, colour=colour, room="talk") for name, colour in (("ann", "red"), ("bob", "green")))
    for person in (ann, bob):
        person.event("ready", timeout=30)
        person.join()
    async with (api.LiveKitAPI(service.url(), KEY, SECRET) as client,
                api.LiveKitAPI(stage.url.replace("ws", "http", 1), KEY, SECRET) as rooms):
        sounds = {}
        for _ in range(100):
            people = (await rooms.room.list_participants(api.ListParticipantsRequest(room="talk"))).participants
            sounds = {person.identity: track.sid for person in people for track in person.tracks if track.type == api.TrackType.AUDIO}
            if len(sounds) == 2:
                break
            await asyncio.sleep(0.1)
        infos = [await client.egress.start_track_egress(api.TrackEgressRequest(
            room_name="talk", track_id=sounds[name], websocket_url=f"ws://127.0.0.1:{listener.port}/{name}?key=secret"))
            for name in ("ann", "bob")]
        verdict.check(all("secret" not in info.track.websocket_url and "127.0.0.1" in info.track.websocket_url for info in infos),
                      f"the answers: {infos}")
        await asyncio.sleep(8)
        for info in infos:
            await client.egress.stop_egress(api.StopEgressRequest(egress_id=info.egress_id))
        done = [await reaches(client, info, ENDED) for info in infos]
    verdict.check(all(info.status == api.EgressStatus.EGRESS_COMPLETE and not info.error for info in done), f"the ends: {done}")
    for one, other in ((ann, bob), (bob, ann)):
        calls = [call for call in listener.calls if call[0] == f"/{one.name}?key=secret"]
        if not verdict.check(len(calls) == 1, f"{one.name}: {len(calls)} connections"):
            continue
        [(_, data, sizes)] = calls
        verdict.check(sizes == {48_000 // 50 * 2 * 2}, f"{one.name}: messages of {sizes} bytes")
        sound = np.frombuffer(bytes(data[: len(data) // 4 * 4]), "<i2").astype(np.float32).reshape(-1, 2).mean(axis=1) / 32768
        own, others = tone(sound, one.pitch), tone(sound, other.pitch)
        verdict.check(len(sound) / 48_000 > 5 and own > 0.002 and own > 10 * others,
                      f"{one.name}: {len(sound) / 48_000:.1f} s, beeps {own:.4f}, the other's {others:.4f}")
    for person in (ann, bob):
        person.tell("leave", "left")


def tone(sound: np.ndarray, pitch: float) -> float:
    """How loud a pitch is: the mean over blocks of a tenth of a second."""
    blocks = sound[: len(sound) // 4800 * 4800].reshape(-1, 4800)
    return float(np.abs(blocks @ np.exp(-2j * np.pi * pitch * np.arange(4800) / 48_000)).mean()) / 4800 if len(blocks) else 0.0


def lacking(service: Service, verdict: Verdict) -> None:
    """Sinks that cannot be had cost the recording nothing, and the job says so."""
    for worker in service.workers:
        if worker.child.poll() is None:
            worker.send(signal.SIGTERM)
            worker.exit(20)
    for policy, reason in (("refuse", "is not encrypted: only wss: is allowed"), ("allow", "refused")):
        service.common["RECBOT_PRIVATE_ADDRESSES"] = policy
        worker = service.worker()
        ann, job = begin(service, f"room-{policy}", "--sink", "audio:mixed=ws://127.0.0.1:9/x?secret")
        service.stage.until(time.time() + 2.0)
        service.ask("jobs", "control", job, "stop")
        done = service.reaches(job, {"completed", "failed", "cancelled"}, 40)
        error = done.get("error", {})
        verdict.check(done["state"] == "completed" and error.get("name") == "sinkFailed" and reason in error["message"].lower()
                      and "secret" not in error["message"], f"a sink that cannot be had: {done['state']} {error}")
        path = pathlib.Path(done["files"][0]["location"])
        verdict.check(not decodes(str(path)), "the recording does not decode")
        ann.tell("leave", "left")
        worker.send(signal.SIGTERM)
        worker.exit(20)


def refusals(service: Service, verdict: Verdict) -> None:
    """What can't be is refused in one line, by the command and by the backend."""
    for words, reason in (("audio:mixed=unix:x.sock", "write =wss://"), ("audio:mixed=ws://x,rate=1", "the rate is one of"),
                          ("sound=ws://x", "write audio:mixed"), ("video:ann=ws://x,fps=7", "fps is one of")):
        told = service.ask("jobs", "submit", "room", "--sink", words, status=64)
        verdict.check(reason in told and "\n" not in told.strip(), f"--sink {words}: {told}")
    told = service.ask("jobs", "submit", "room", *["--sink", "audio:mixed=ws://x"] * 9, status=64)
    verdict.check("sinks: at most 8" in told, f"nine sinks: {told}")
