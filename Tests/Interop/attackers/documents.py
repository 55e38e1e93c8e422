"""JSON that is none, or too deep, from everybody who may send some: clients, servers, callers, peers, workers."""

import asyncio
import base64
import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import aiohttp
import attackers
import jwt
from attackers.middle import Middle
from browser import Browser
from livekit import rtc as client
from livekit.protocol import rtc
from scenarios.booth import RECORDING, enter, press
from service.desk import Service
from stage import KEY, SECRET, Recorder, Stage, make_token
from verdict import Verdict

DEPTHS = (65, 511, 512, 513, 514, 600, 5000)


def documents() -> list[str]:
    """Texts that no reader of JSON should fall over."""
    texts = [opening * depth for depth in DEPTHS for opening in ("[", '{"a":')]
    texts += ["[" * depth + "]" * depth for depth in DEPTHS]
    texts += ["", "{", '"', '"\\', '"\\ud800"', "1e19", '{"id":1e19}', "9" * 4000, "\x00", '{"a":1,"a":2}', "nul"]
    dice = random.Random(attackers.SEED)
    for _ in range(400 if attackers.LONG else 40):
        text = list('{"room":"a","session":"s","candidate":"c","sdpMLineIndex":0,"id":1,"message":"m"}')
        for _ in range(dice.randint(1, 6)):
            text[dice.randrange(len(text))] = dice.choice('{}[]",:0123456789eE+-.\\u \n')
        texts.append("".join(text))
    return texts


def inside(text: str) -> list[str]:
    """The same as the whole, and as a member that nobody knows."""
    return [text, '{"unknown":' + text, '{"candidate":' + text, '{"attributes":' + text]


def post(url: str, body: bytes, token: str, method: str = "POST", kind: str = "application/json") -> int:
    """The status of the answer; 0 when there is none."""
    return asked(urllib.request.Request(url, body, {"Authorization": f"Bearer {token}", "Content-Type": kind},
                                        method=method))


def asked(request: urllib.request.Request) -> int:
    """The status of the answer to a request; 0 when there is none."""
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def bodies(stage: Stage, verdict: Verdict) -> None:
    """Bodies of the API, of Twirp, of signed webhooks, of a mailbox's seat: an ordinary 400, and the servers go on."""
    service = Service(stage)
    try:
        rooms, backend = stage.url.replace("ws", "http", 1), service.url()
        seat = make_token("ann", "booth", canPublish=True)
        admin = make_token("admin", "test", roomAdmin=True, roomList=True, roomCreate=True, roomRecord=True)

        def vouching(body: bytes) -> str:
            claims = {"iss": KEY, "exp": int(time.time()) + 60,
                      "sha256": base64.b64encode(hashlib.sha256(body).digest()).decode()}
            return jwt.encode(claims, SECRET, algorithm="HS256")

        targets = [
            (f"{backend}/v1/jobs", "POST", lambda _: service.key, (400,)),
            (f"{backend}/v1/schedules", "POST", lambda _: service.key, (400,)),
            (f"{backend}/twirp/livekit.Egress/ListEgress", "POST", lambda _: admin, (400,)),
            (f"{backend}/webhooks/livekit", "POST", vouching, (400,)),
            (f"{rooms}/twirp/livekit.RoomService/ListRooms", "POST", lambda _: admin, (400,)),
            (f"{rooms}/mailbox/v1/booth/seat", "PUT", lambda _: seat, (400,)),
        ]
        count = 0
        for url, method, token, wanted in targets:
            for text in documents():
                for body in {text, '{"session":' + text, '{"room":' + text}:
                    data = body.encode()
                    status = post(url, data, token(data), method)
                    count += 1
                    # An empty body is an empty message, and some damage leaves a text that means something.
                    good = status in wanted or (200 <= status < 300 and (not data or meant(body)))
                    if not verdict.check(good, f"{url}: {body[:40]!r}… ({len(body)} bytes): {status}"):
                        break
            for process in (stage.processes[0], service.backends[0]):
                if not verdict.check(process.status is None, f"{process.name} ended: {process.tail()}"):
                    return
        verdict.check(post(f"{backend}/v1/jobs", b'{"room":"after"}', service.key) == 201, "no job can be posted any more")
        verdict.figure(f"{count} bodies")
    finally:
        service.close()


def meant(text: str) -> bool:
    """True for JSON that is an object."""
    with contextlib.suppress(ValueError, RecursionError):
        return isinstance(json.loads(text), dict)
    return False


def signalling(stage: Stage, verdict: Verdict) -> None:
    """A client with a good token says nonsense to the room server, as text, as protobuf and as candidates."""
    server = stage.server()
    token = make_token("eve", "test", canPublish=True, canPublishData=True)

    async def attack() -> int:
        sent = 0
        async with aiohttp.ClientSession() as session:
            for text in documents():
                for form in inside(text):
                    url = f"{stage.url}/rtc?protocol=16&auto_subscribe=1"
                    async with session.ws_connect(url, headers={"Authorization": f"Bearer {token}"}) as socket:
                        request = rtc.SignalRequest(trickle=rtc.TrickleRequest(candidateInit=form, target=rtc.PUBLISHER))
                        # What the server takes for the end is no fault of its; only its life counts.
                        with contextlib.suppress(ConnectionError, aiohttp.ClientError):
                            await socket.send_bytes(request.SerializeToString())
                            await socket.send_str(form)
                            await socket.send_bytes(form.encode())
                            await socket.send_bytes(b"\xc3\x0c" * 20_000)
                        sent += 4
                    if server.status is not None:
                        return sent
        return sent

    sent = asyncio.run(attack())
    verdict.check(server.status is None, f"the room server ended: {server.tail()}")
    listener = stage.recorder("after", "--size", "320x180")
    listener.recording()
    listener.stop()
    verdict.figure(f"{sent} messages")


def participants(stage: Stage, verdict: Verdict) -> None:
    """A participant who may send data, and the server itself, send a recorder nonsense in mid-recording."""
    stage.server()
    with Middle(stage.url) as middle:
        straight, stage.url = stage.url, middle.url
        recorder = stage.recorder("chatting", "--size", "320x180", "--transcript", str(stage.folder / "chat.jsonl"))
        recorder.recording()

        async def chat() -> int:
            room = client.Room()
            token = make_token("eve", "test", canPublish=True, canPublishData=True, hidden=None)
            await room.connect(straight, token)
            sent = 0
            for text in documents():
                for form in (text, '{"id":"1","message":' + text):
                    for topic in ("lk-chat-topic", "lk.chat", "lk.transcription", ""):
                        await room.local_participant.publish_data(form.encode(), topic=topic)
                        sent += 1
            await room.local_participant.publish_data(json.dumps({"id": "2", "message": "still there"}).encode(),
                                                      topic="lk-chat-topic")
            await asyncio.sleep(1)
            await room.disconnect()
            return sent

        sent = asyncio.run(chat())
        for text in documents():
            for form in inside(text):
                middle.trickle(form)
            middle.say(text)
            middle.say(text.encode())
        time.sleep(1)
        if verdict.check(recorder.status is None, f"the recorder ended: {recorder.tail()}"):
            recorder.stop()
            told = (stage.folder / "chat.jsonl").read_text()
            verdict.check("still there" in told, "the last message is not in the transcript")
        verdict.figure(f"{sent} data messages, {middle.sent} of the server")


def peer_channel(stage: Stage, verdict: Verdict) -> None:
    """The other side of a two-party call sends nonsense on the data channel in mid-recording."""
    stage.server()
    browser = stage.start(Browser(stage.folder))
    enter(stage, browser)
    browser.until("document.body.dataset.state === 'waiting'")
    recorder = stage.start(Recorder("peer", stage.recbot, stage.url, "peer:booth", stage.folder, "--log-level",
                                    stage.log_level))
    recorder.recording()
    browser.until(RECORDING)
    # Whenever the page says something, all of the texts go before it.
    browser.run("window.sent = 0; const say = RTCDataChannel.prototype.send; RTCDataChannel.prototype.send = "
                f"function (message) {{ for (const text of {json.dumps([t for t in documents() if len(t) < 4096])}) "
                "{ say.call(this, text); say.call(this, new TextEncoder().encode(text)); window.sent += 2; } "
                "return say.call(this, message); }; 0")
    press(browser, "camera")
    browser.until("window.sent")
    sent = browser.run("window.sent")
    press(browser, "camera")
    time.sleep(1.5)
    if verdict.check(recorder.status is None, f"the recorder ended: {recorder.tail()}"):
        recorder.stop()
    verdict.figure(f"{sent} messages at least")


class Answers:
    """A server that answers everything with the next of some texts, or with half of it and then nothing more."""

    def __init__(self, texts: list[str], stalls: bool = False):
        self.count = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                body = texts[outer.count % len(texts)].encode()
                outer.count += 1
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[:len(body) // 2] if stalls else body)
                if stalls:
                    self.wfile.flush()
                    self.rfile.read(1)

            do_GET = do_POST = do_PUT = do_DELETE = answer

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def answers(stage: Stage, verdict: Verdict) -> None:
    """A backend and a mailbox that answer nonsense: the command line, a worker and a bot say so and end as usual."""
    texts = [text for depth in (513, 512, 5000) for text in ("[" * depth, '{"jobs":' * depth)] + ['{"jobs":[1e99]}', ""]
    for text in texts:
        with Answers([text]) as backend:
            done = subprocess.run([stage.recbot, "jobs", "list"], capture_output=True, text=True, timeout=20,
                                  env={"PATH": os.environ["PATH"], "RECBOT_BACKEND": f"http://127.0.0.1:{backend.port}",
                                       "RECBOT_API_KEY": "rbk_x"}, cwd=stage.folder)
            verdict.check(0 < done.returncode < 128 and len(done.stderr.splitlines()) == 1,
                          f"jobs list, {text[:10]!r}: {done.returncode} {done.stderr[-200:]}")
            stage.url = f"ws://127.0.0.1:{backend.port}"
            name = f"bot{texts.index(text)}"
            bot = subprocess.run([stage.recbot, "join", "peer:booth", "--url", stage.url, "--token",
                                  make_token("bot", "booth", canPublish=True), "--output", f"{name}.webm"],
                                 capture_output=True, text=True, timeout=30, cwd=stage.folder)
            verdict.check(0 < bot.returncode < 128, f"peer room, {text[:10]!r}: {bot.returncode} {bot.stderr[-200:]}")
    with Answers(['{"jobs":[]}'], stalls=True) as backend:
        address = f"127.0.0.1:{backend.port}"
        asked = [stage.run("stalled-list", "jobs", "list", RECBOT_BACKEND=f"http://{address}", RECBOT_API_KEY="rbk_x"),
                 stage.run("stalled-seat", "join", "peer:booth", "--url", f"ws://{address}", "--token",
                           make_token("bot", "booth", canPublish=True), "--output", "stalled.webm")]
        for process in asked:
            status = process.exit(25)
            verdict.check(0 < status < 128, f"half of an answer: {process.name} ended with {status}: {process.tail()}")
    with Answers(['{"assignments":[]}', *texts]) as backend:
        data = stage.folder / "worker"
        data.mkdir(mode=0o700)
        worker = stage.run("worker", "worker", "--backend", f"http://127.0.0.1:{backend.port}", "--name", "w1",
                           RECBOT_WORKER_SECRET="0" * 64, RECBOT_DATA_DIR=str(data))
        end = time.monotonic() + 8
        while backend.count < len(texts) and worker.status is None and time.monotonic() < end:
            time.sleep(0.1)
        worker.send(signal.SIGTERM)
        # A worker that was never answered well says that there is no backend, and ends.
        verdict.check(0 <= worker.exit(15) < 128, f"the worker ended with {worker.status}: {worker.tail()}")
        verdict.figure(f"{len(texts)} answers, {backend.count} to the worker")


def commands(stage: Stage, verdict: Verdict) -> None:
    """The control socket of a recording, and the orders of a worker: nonsense is refused, line by line."""
    stage.server()
    recorder = stage.recorder("controlled", "--size", "320x180")
    recorder.recording()
    path = next((line for line in pathlib.Path("/proc/net/unix").read_text().splitlines()
                 if "recbot" in line and "controlled" in line), "")
    path = path.split()[-1] if path else ""
    if verdict.check(bool(path), "there is no control socket"):
        count = 0
        for text in [text for text in documents() if "\n" not in text]:
            with contextlib.suppress(ConnectionError), socket.socket(socket.AF_UNIX) as connection:
                connection.settimeout(5)
                connection.connect(path)
                for line in {text, '{"command":"status","x":' + text, '{"command":' + text}:
                    with contextlib.suppress(ConnectionError):
                        connection.sendall(line.encode() + b"\n")
                        count += 1
                with contextlib.suppress(OSError):
                    connection.recv(65536)
            if recorder.status is not None:
                break
        verdict.check(recorder.status is None, f"the recorder ended: {recorder.tail()}")
        verdict.figure(f"{count} commands")
    if recorder.status is None:
        recorder.stop()
    for text in ("[" * 513, "[" * 512, '{"order":' * 600, '{"order":{"_0":' + "[" * 511, ""):
        done = subprocess.run([stage.recbot, "record"], input=text.encode() + b"\n", capture_output=True, timeout=20,
                              cwd=stage.folder)
        verdict.check(0 < done.returncode < 128, f"record, {text[:12]!r}: {done.returncode} {done.stderr[-200:]}")


ATTACKS = [bodies, signalling, participants, peer_channel, answers, commands]
