"""An HTTP proxy in front of a store that fails on purpose: seeded, so that a run can be repeated."""

import calendar
import http.client
import http.server
import random
import socket
import struct
import threading
import time
from email.utils import formatdate

SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>"
INTERNAL = b"<Error><Code>InternalError</Code><Message>We encountered an internal error.</Message></Error>"
SKEWED = b"<Error><Code>RequestTimeTooSkewed</Code><Message>The difference is too large.</Message></Error>"


class Proxy:
    """Listens on a free port and passes on to `target` (a port of this machine).

    `rate` is the share of requests that fail; `kinds` are the faults. `delay` seconds pass before a body is passed on.
    `corrupt` decides, for a request, whether a byte of its body is changed on the way.
    """

    KINDS = ("reset", "reset-in-body", "503", "500", "lost-answer", "cut-answer", "200-error", "stall")

    def __init__(self, target: int, seed: int = 0, rate: float = 0.0, kinds=KINDS, delay: float = 0.0, corrupt=None,
                 clock: float = 0.0):
        self.target, self.rate, self.kinds, self.delay = target, rate, kinds, delay
        self.corrupt, self.clock = corrupt, clock
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.requests: list[tuple[str, str, int]] = []  # method, path, status (0: none)
        self.faults: list[str] = []
        proxy = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                proxy.handle(self)

            do_PUT = do_POST = do_HEAD = do_DELETE = do_GET

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):  # connections end in every way here
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

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def count(self, method: str, text: str = "") -> int:
        """Requests that the store answered with success."""
        with self.lock:
            return sum(m == method and text in path and 200 <= status < 300 for m, path, status in self.requests)

    def note(self, handler, status: int) -> None:
        with self.lock:
            self.requests.append((handler.command, handler.path, status))

    def fault(self, handler) -> str | None:
        with self.lock:
            if self.random.random() >= self.rate:
                return None
            kind = self.random.choice(self.kinds)
            if kind == "200-error" and not (handler.command == "POST" and "uploadId" in handler.path):
                kind = "500"
            self.faults.append(kind)
            return kind

    def handle(self, handler) -> None:
        try:
            self.answer(handler)
        except OSError:
            handler.close_connection = True

    def reset(self, handler) -> None:
        """Ends the connection with RST."""
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.connection.close()
        handler.close_connection = True

    def say(self, handler, status: int, body: bytes, headers=()) -> None:
        self.note(handler, status)
        handler.send_response_only(status)
        for name, value in headers:
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        if handler.command != "HEAD":
            handler.wfile.write(body)

    def answer(self, handler) -> None:
        length = int(handler.headers.get("content-length") or 0)
        kind = self.fault(handler)
        if kind == "reset":
            return self.reset(handler)
        if kind == "reset-in-body":
            handler.rfile.read(length // 2)
            return self.reset(handler)
        body = bytearray(handler.rfile.read(length))
        if kind == "stall":
            time.sleep(3)
            return self.reset(handler)
        if kind == "503":
            return self.say(handler, 503, SLOW_DOWN, [("retry-after", "1")])
        if kind == "500":
            return self.say(handler, 500, INTERNAL)
        if kind == "200-error":
            return self.say(handler, 200, INTERNAL)
        if self.clock:
            theirs = time.strptime(handler.headers["x-amz-date"], "%Y%m%dT%H%M%SZ")
            now = time.time() + self.clock
            if abs(calendar.timegm(theirs) - now) > 900:
                return self.say(handler, 403, SKEWED, [("date", formatdate(now, usegmt=True))])
        if self.delay and length:
            time.sleep(self.delay)
        if body and self.corrupt and self.corrupt(handler):
            body[len(body) // 2] ^= 1
        upstream = http.client.HTTPConnection("127.0.0.1", self.target, timeout=60)
        headers = {name: value for name, value in handler.headers.items() if name.lower() != "connection"}
        upstream.request(handler.command, handler.path, bytes(body) if length else None, headers)
        response = upstream.getresponse()
        data = response.read()
        if kind == "lost-answer":
            self.note(handler, response.status)
            return self.reset(handler)
        self.note(handler, response.status)
        handler.send_response_only(response.status)
        for name, value in response.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                handler.send_header(name, value)
        size = response.getheader("content-length") if handler.command == "HEAD" else str(len(data))
        handler.send_header("content-length", size or "0")
        handler.end_headers()
        if kind == "cut-answer":
            handler.wfile.write(data[: len(data) // 2])
            return self.reset(handler)
        handler.wfile.write(data)
        upstream.close()
