"""LiveKit's Egress API, driven by LiveKit's own SDK, and webhooks verified by others' receivers."""

import asyncio
import http.server
import json
import pathlib
import threading
import time

import standardwebhooks
from judge import Recording
from livekit import api
from scenarios.common import continuous
from service.desk import PATIENCE, Service
from stage import KEY, SECRET, Stage
from verdict import Verdict

STATUS = api.EgressStatus
ENDED = {STATUS.EGRESS_COMPLETE, STATUS.EGRESS_FAILED, STATUS.EGRESS_ABORTED, STATUS.EGRESS_LIMIT_REACHED}
RATE = 24
SMALL = api.EncodingOptions(width=640, height=360, framerate=RATE, video_bitrate=800)
LARGE = 0.3  # of the canvas


class Hooks:
    """Receivers of both forms of webhooks, each verified by the library that applications use."""

    def __init__(self):
        self.livekit = api.WebhookReceiver(api.TokenVerifier(KEY, SECRET))
        self.standard: standardwebhooks.Webhook | None = None
        self.events: list = []
        self.messages: list[dict] = []
        self.faults: list[str] = []
        hooks = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """One request."""

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                try:
                    hooks.take(self.path, body, self.headers)
                except Exception as error:  # whatever the library has against it
                    hooks.faults.append(f"{self.path}: {type(error).__name__} {error}")
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_) -> None:
                """Says nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, path: str, body: bytes, headers) -> None:
        """Verifies and keeps a message; raises what the library raises."""
        if path == "/livekit":
            if headers["Content-Type"] != "application/webhook+json":
                raise ValueError(f"Content-Type {headers['Content-Type']}")
            self.events.append(self.livekit.receive(body.decode(), headers["Authorization"]))
        else:
            self.standard.verify(body, dict(headers))
            self.messages.append(json.loads(body))

    def told(self, egress: str) -> list[str]:
        """The names of the events about an egress, in order."""
        return [event.event for event in self.events if event.egress_info.egress_id == egress]

    def close(self) -> None:
        """Stops listening."""
        self.server.shutdown()
        self.server.server_close()


def egress(stage: Stage, verdict: Verdict) -> None:
    """A room, one person of it, and one track: started, listed, changed, stopped, told of, and right."""
    hooks = Hooks()
    service = Service(stage, settings={"RECBOT_WEBHOOK_URLS": f"{hooks.url}/standard"})
    hooks.standard = standardwebhooks.Webhook(service.hook_secret)
    try:
        asyncio.run(record(service, hooks, verdict))
    finally:
        hooks.close()
        service.close()


async def record(service: Service, hooks: Hooks, verdict: Verdict) -> None:
    """The scenario's steps."""
    stage = service.stage
    ann = stage.publisher("ann", "--size", "320x180", colour="red", room="talk")
    bob = stage.publisher("bob", "--size", "320x180", colour="green", room="talk")
    service.worker()
    for person in (ann, bob):
        person.event("ready", timeout=30)
        person.join()
    ann.tell("talk")
    webhooks = [api.WebhookConfig(url=f"{hooks.url}/livekit", signing_key=KEY)]
    async with (api.LiveKitAPI(service.url(), KEY, SECRET) as client,
                api.LiveKitAPI(stage.url.replace("ws", "http", 1), KEY, SECRET) as rooms):
        asked = time.time()
        room = await client.egress.start_room_composite_egress(api.RoomCompositeEgressRequest(
            room_name="talk", layout="grid", advanced=SMALL, webhooks=webhooks,
            file_outputs=[api.EncodedFileOutput(filepath="calls/{room_name}-all.webm")]))
        verdict.check(room.status == STATUS.EGRESS_STARTING and room.room_name == "talk"
                      and room.room_composite.layout == "grid", f"the answer to the start is {room}")
        person = await client.egress.start_participant_egress(api.ParticipantEgressRequest(
            room_name="talk", identity="bob", advanced=SMALL, webhooks=webhooks,
            file_outputs=[api.EncodedFileOutput(filepath="calls/{publisher_identity}")]))
        await reaches(client, room, {STATUS.EGRESS_ACTIVE})
        verdict.figure(f"active after {time.time() - asked:.1f} s")
        await reaches(client, person, {STATUS.EGRESS_ACTIVE})
        active = await client.egress.list_egress(api.ListEgressRequest(room_name="talk", active=True))
        verdict.check({item.egress_id for item in active.items} == {room.egress_id, person.egress_id},
                      f"active are {[item.egress_id for item in active.items]}")
        await asyncio.sleep(3)
        await client.egress.update_layout(api.UpdateLayoutRequest(egress_id=room.egress_id, layout="speaker"))
        told = time.time()
        await asyncio.sleep(4)
        for info in (room, person):
            stopped = await client.egress.stop_egress(api.StopEgressRequest(egress_id=info.egress_id))
            verdict.check(stopped.status == STATUS.EGRESS_ENDING, f"after the stop the status is {stopped.status}")
        done = {name: await reaches(client, info, ENDED) for name, info in (("room", room), ("person", person))}
        verdict.check(await refused(client.egress.stop_egress(api.StopEgressRequest(egress_id=room.egress_id)))
                      == "failed_precondition", "a second stop is not refused")
        # One track of the two that ann publishes.
        [publisher] = [someone for someone in (await rooms.room.list_participants(
            api.ListParticipantsRequest(room="talk"))).participants if someone.identity == "ann"]
        [camera] = [track.sid for track in publisher.tracks if track.type == api.TrackType.VIDEO]
        track = await client.egress.start_track_egress(api.TrackEgressRequest(
            room_name="talk", track_id=camera, webhooks=webhooks,
            file=api.DirectFileOutput(filepath="calls/{track_id}.webm")))
        await reaches(client, track, {STATUS.EGRESS_ACTIVE})
        await asyncio.sleep(3)
        await client.egress.stop_egress(api.StopEgressRequest(egress_id=track.egress_id))
        done["track"] = await reaches(client, track, ENDED)
    for name, info in done.items():
        verdict.check(info.status == STATUS.EGRESS_COMPLETE, f"{name}: {STATUS.Name(info.status)} {info.error}")
    if all(info.status == STATUS.EGRESS_COMPLETE for info in done.values()):
        judge(done, told, camera, (ann, bob), verdict)
    for name, info in done.items():
        await asyncio.to_thread(service.wait, lambda info=info: "egress_ended" in hooks.told(info.egress_id),
                                f"{name}: no webhook of the end: {hooks.told(info.egress_id)} {hooks.faults}")
        names = hooks.told(info.egress_id)
        verdict.check(names[0] == "egress_started" and names[-1] == "egress_ended"
                      and set(names[1:-1]) == {"egress_updated"}, f"{name}: webhooks {names}")
    last = [event.egress_info for event in hooks.events if event.event == "egress_ended"]
    verdict.check({info.status for info in last} == {STATUS.EGRESS_COMPLETE}
                  and all(info.file_results for info in last), "the webhooks of the end do not tell the files")
    verdict.check(not hooks.faults, f"webhooks: {hooks.faults}")
    verdict.check({message["type"] for message in hooks.messages} >= {"job.created", "job.started", "job.completed"},
                  f"in the standard form came {[message['type'] for message in hooks.messages]}")
    verdict.figure(f"{len(hooks.events)} + {len(hooks.messages)} webhooks verified")
    verdict.check(service.drained(service.workers[0]) == 0, f"the worker: {service.workers[0].tail()}")


def judge(done: dict, told: float, camera: str, people: tuple, verdict: Verdict) -> None:
    """Who is in the files."""
    ann, bob = people
    files = {name: info.file_results[0] for name, info in done.items()}
    names = {"room": "calls/talk-all.webm", "person": "calls/bob.webm", "track": f"calls/{camera}.webm"}
    verdict.check({name: file.filename for name, file in files.items()} == names,
                  f"names: {[file.filename for file in files.values()]}")
    for name, file in files.items():
        verdict.check(pathlib.Path(file.location).stat().st_size == file.size, f"{name}: the size is not {file.size}")
    room = Recording.load(files["room"].location)
    continuous(room, verdict, 1 / RATE)
    verdict.check(room.full_size == (640, 360), f"the picture has {room.full_size}")
    verdict.check(abs(files["room"].duration / 1e9 - room.duration) < 0.2, "the told duration is not that of the file")
    change = told - room.zero
    ratio = room.areas(ann.colour) > 2 * room.areas(bob.colour)
    verdict.check(-0.1 <= room.turns(ratio, change - 0.2, lasting=0.5) - change <= 2.5, "the layout was not changed")
    for name, here, elsewhere in (("person", bob, ann), ("track", ann, bob)):
        recording = Recording.load(files[name].location)
        continuous(recording, verdict, 1 / RATE)
        verdict.check(recording.areas(here.colour).max() > LARGE, f"{name}: {here.name} is not shown")
        verdict.check(recording.areas(elsewhere.colour).max() < 0.002, f"{name}: {elsewhere.name} is shown too")


def refusals(stage: Stage, verdict: Verdict) -> None:
    """What recbot doesn't do, and who may not ask: each with the error that the SDK understands."""
    service = Service(stage)
    try:
        asyncio.run(ask(service, verdict))
    finally:
        service.close()


async def ask(service: Service, verdict: Verdict) -> None:
    """The scenario's steps."""
    webm = api.EncodedFileOutput(filepath="a.webm")
    async with api.LiveKitAPI(service.url(), KEY, SECRET) as client:
        async def start(**fields) -> str:
            return await refused(client.egress.start_room_composite_egress(
                api.RoomCompositeEgressRequest(**({"room_name": "talk", "file_outputs": [webm]} | fields))))
        answers = {
            "MP4": await start(file_outputs=[api.EncodedFileOutput(file_type=api.EncodedFileType.MP4, filepath="a")]),
            "an .mp4 name": await start(file_outputs=[api.EncodedFileOutput(filepath="a.mp4")]),
            "no room": await start(room_name=""),
            "no output": await start(file_outputs=[]),
            "credentials": await start(file_outputs=[api.EncodedFileOutput(s3=api.S3Upload(secret="x", bucket="b"))]),
            "H.264": await start(advanced=api.EncodingOptions(video_codec=api.VideoCodec.H264_HIGH)),
        }
        verdict.check(set(answers.values()) == {"invalid_argument"}, f"{answers}")
        answers = {
            "RTMP": await start(stream_outputs=[api.StreamOutput(urls=["rtmp://example.com/x"])]),
            "HLS": await start(segment_outputs=[api.SegmentedFileOutput(filename_prefix="x")]),
            "images": await start(image_outputs=[api.ImageOutput()]),
            "a page": await start(custom_base_url="https://example.com/"),
            "web": await refused(client.egress.start_web_egress(api.WebEgressRequest(url="https://example.com/"))),
            "streams": await refused(client.egress.update_stream(api.UpdateStreamRequest(egress_id="EG_x"))),
        }
        verdict.check(set(answers.values()) == {"unimplemented"}, f"{answers}")
        unknown = await refused(client.egress.stop_egress(api.StopEgressRequest(egress_id="EG_unknown")))
        verdict.check(unknown == "not_found", f"an unknown egress: {unknown}")
        # Nobody is at work: it waits in the queue, and is over when it is stopped.
        info = await client.egress.start_track_composite_egress(api.TrackCompositeEgressRequest(
            room_name="talk", audio_track_id="TR_a", video_track_id="TR_v", file=webm))
        stopped = await client.egress.stop_egress(api.StopEgressRequest(egress_id=info.egress_id))
        verdict.check(stopped.status == STATUS.EGRESS_ABORTED, f"stopped before its start: {stopped.status}")
        listed = await client.egress.list_egress(api.ListEgressRequest(active=True))
        verdict.check(not listed.items, "a refused request became a job")
    for name, key, secret in (("a wrong secret", KEY, SECRET + "x"), ("an unknown key", "other", SECRET)):
        async with api.LiveKitAPI(service.url(), key, secret) as client:
            answer = await refused(client.egress.list_egress(api.ListEgressRequest()))
            verdict.check(answer not in ("", "internal"), f"{name} is let in")
    verdict.figure("every refusal is understood")


async def refused(call) -> str:
    """The code of the error that a call ends with; empty when it is let through."""
    try:
        await call
    except api.TwirpError as error:
        return error.code
    except Exception as error:  # a plain 401, as LiveKit's own servers answer
        return type(error).__name__
    return ""


async def reaches(client, info, statuses: set, timeout: float = PATIENCE):
    """Waits until an egress has one of some statuses; gives what is known of it then."""
    end = time.monotonic() + timeout
    while True:
        [now] = (await client.egress.list_egress(api.ListEgressRequest(egress_id=info.egress_id))).items
        if now.status in statuses or now.status in ENDED or time.monotonic() > end:
            return now
        await asyncio.sleep(0.1)


SCENARIOS = {scenario.__name__: scenario for scenario in (egress, refusals)}
