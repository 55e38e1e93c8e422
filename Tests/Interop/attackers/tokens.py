"""Tokens that are no tokens: without a credential, on every endpoint that reads one, and from a malicious server."""

import base64
import hashlib
import hmac
import json
import random
import signal
import statistics
import time
import urllib.request

import attackers
from attackers.documents import asked
from attackers.middle import Middle
from service.desk import Service
from stage import KEY, Stage, make_token
from verdict import Verdict, ms

CALLER_SECRET = "callers-secret-of-more-than-32-bytes-for-attacks"
ROOM_SERVER = (
    ("GET", "/rtc/validate?access_token={}"), ("GET", "/rtc/validate"), ("GET", "/rtc"), ("UPGRADE", "/rtc"),
    ("POST", "/twirp/livekit.RoomService/ListRooms"), ("GET", "/mailbox/v1/booth"), ("PUT", "/mailbox/v1/booth/seat"))
BACKEND = (
    ("GET", "/v1/jobs"), ("POST", "/v1/jobs"), ("POST", "/v1/tokens"), ("POST", "/v1/workers/claim"),
    ("POST", "/twirp/livekit.Egress/ListEgress"), ("POST", "/webhooks/livekit"))


def encode(data: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def forge(header: str, claims: str = "{}", secret: str = "") -> str:
    """A token of any header and claims."""
    text = f"{encode(header.encode())}.{encode(claims.encode())}"
    return f"{text}.{encode(hmac.new(secret.encode(), text.encode(), hashlib.sha256).digest())}"


def bad_tokens() -> dict[str, str]:
    """By what is wrong with them; none needs a secret."""
    good = '{"alg":"HS256","typ":"JWT"}'
    tokens = {f"header number {number}": forge(f'{{"alg":"HS256","z":{number}}}')
              for number in ("1e19", "-1e19", "1e400", "9" * 400, "[1e99]")}
    for depth in (511, 512, 513, 514, 5000):
        tokens[f"header {depth} deep"] = forge("[" * depth)
        tokens[f"claims {depth} deep"] = forge(good, "[" * depth)
        tokens[f"claims {depth} objects deep"] = forge(good, '{"iss":' * depth)
    tokens["header 500 deep, closed"] = forge('{"alg":"HS256","z":' + "[" * 500 + "]" * 500 + "}")
    tokens["claims number"] = forge(good, '{"iss":"devkey","exp":1e19,"nbf":-1e400}')
    tokens["signed by nobody"] = forge(good, json.dumps({"iss": KEY, "exp": 4e18, "video": {"roomJoin": True}}))
    tokens["8 KiB of garbage"] = "Zm9vYmFy" * 1024
    tokens["many dots"] = "." * 8000
    tokens["not UTF-8"] = f"{encode(bytes([0xff] * 40))}.{encode(bytes([0xc0, 0x80]))}.AA"
    tokens["the 41 bytes"] = encode(b'{"alg":"HS256","z":1e19}') + ".e30.AA"
    dice = random.Random(attackers.SEED)
    real = make_token("eve", "test", secret="another secret of at least thirty-two bytes")
    for number in range(200 if attackers.LONG else 40):
        letters = bytearray(real.encode())
        for _ in range(dice.randint(1, 4)):
            letters[dice.randrange(len(letters))] = dice.choice(b"ABCabc019-_.")
        tokens[f"mutation {number}"] = letters.decode()
    return tokens


def ask(base: str, method: str, path: str, token: str, body: bytes | None = None, **headers: str) -> int:
    """The status of the answer; 0 when there is none."""
    fields = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
    if method == "UPGRADE":
        fields |= {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
                   "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
        method = "GET"
    if "{}" in path:
        del fields["Authorization"]
    return asked(urllib.request.Request(base + path.format(token), body, fields, method=method))


def refused_tokens(stage: Stage, verdict: Verdict) -> None:
    """Every bad token on every endpoint is an ordinary 401 at once, and both servers go on."""
    service = Service(stage, settings={"RECBOT_API_SECRET": CALLER_SECRET})
    try:
        rooms = stage.url.replace("ws", "http", 1)
        server, backend = stage.processes[0], service.backends[0]
        count, times = 0, []
        tokens = bad_tokens()
        for base, endpoints, process in ((rooms, ROOM_SERVER, server), (service.url(), BACKEND, backend)):
            for method, path in endpoints:
                body = b"{}" if method in ("POST", "PUT") else None
                for name, token in tokens.items():
                    began = time.monotonic()
                    status = ask(base, method, path, token, body)
                    times.append(time.monotonic() - began)
                    count += 1
                    # A head of more than the server reads is refused as such.
                    wanted = (401,) if len(token) < 8192 else (400, 401, 431)
                    if not verdict.check(status in wanted, f"{method} {path}: {name}: {status}"):
                        break
                if not verdict.check(process.status is None, f"{process.name} ended: {process.tail()}"):
                    return
        verdict.timely(max(times) < 2, f"an answer took {ms(max(times))}")
        verdict.figure(f"{count} refusals, {ms(statistics.median(times))} each, {ms(max(times))} at most")
        good = make_token("ann", "test", canPublish=True)
        verdict.check(ask(rooms, "GET", "/rtc/validate", good) == 200, "a good token is refused afterwards")
        verdict.check(ask(service.url(), "GET", "/v1/jobs", service.key) == 200, "a good key is refused afterwards")
        # The last character's spare bits: one signature has one spelling.
        letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        spelt = [good[:-1] + letter for letter in letters if letter != good[-1]]
        verdict.check(all(ask(rooms, "GET", "/rtc/validate", token) == 401 for token in spelt),
                      "a signature with changed spare bits is taken")
    finally:
        service.close()


def processor_time(stage: Stage, verdict: Verdict) -> None:
    """Tokens meant to cost much, in a row, cost a network thread next to nothing."""
    server = stage.server()
    base = stage.url.replace("ws", "http", 1)
    deep = '{"alg":"HS256","z":' + "[" * 500 + "]" * 500 + "}"
    tokens = [forge(deep), forge('{"alg":"HS256"}', '{"a":' * 900), "Zm9v" * 1900, "." * 7000,
              forge('{"alg":"HS256"}', '{"iss":"devkey","x":[' + "1," * 2500 + "1]}")]
    fields = f"/proc/{server.child.pid}/stat"

    def used() -> float:
        words = open(fields, encoding="ascii").read().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / 100

    for token in tokens:  # what is made once is not what is measured
        ask(base, "UPGRADE", "/rtc", token)
    rounds = 200 if attackers.LONG else 60
    before, began = used(), time.monotonic()
    for _ in range(rounds):
        for token in tokens:
            status = ask(base, "UPGRADE", "/rtc", token)
            verdict.check(status == 401, f"status {status}")
    spent = (used() - before) / (rounds * len(tokens))
    # A connection and its answer are in it, too: the token alone is measured by the benchmark.
    verdict.check(spent < 0.002, f"{spent * 1e6:.0f} µs of processor for each refused join")
    verdict.figure(f"{spent * 1e6:.0f} µs for each of {rounds * len(tokens)} refused joins, connection and all, "
                   f"{time.monotonic() - began:.1f} s")


def refreshed_tokens(stage: Stage, verdict: Verdict) -> None:
    """A server sends tokens that are none to refresh the recorder's, and cuts the connection: it goes on, or\n    ends as with any token that is refused."""
    stage.server()
    with Middle(stage.url) as middle:
        stage.url = middle.url
        recorder = stage.recorder("refreshed", "--size", "320x180", "--token", make_token("refreshed", "test"))
        recorder.recording()
        for token in bad_tokens().values():
            middle.refresh(token)
        time.sleep(1)
        verdict.check(recorder.status is None, f"the recorder ended: {recorder.tail()}")
        middle.refresh(forge('{"alg":"HS256","z":1e19}'))
        middle.cut()
        time.sleep(2)
        # It tries what it was sent, which is the server's business, and is refused; the file stands.
        recorder.send(signal.SIGINT)
        status = recorder.exit(15)
        verdict.check(status >= 0 and recorder.path.exists(), f"the recorder ended with {status}: {recorder.tail()}")
        verdict.figure(f"{middle.sent} tokens, exit code {status}")


ATTACKS = [refused_tokens, processor_time, refreshed_tokens]
