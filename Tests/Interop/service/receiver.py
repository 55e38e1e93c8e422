"""A receiver of webhooks: the application's side, written from the Standard Webhooks specification."""

import base64
import hashlib
import hmac
import http.server
import json
import threading
import time


class Receiver:
    """Takes webhooks on a port of its own, checks their signatures, and keeps them in the order in which they came."""

    def __init__(self, secret: str):
        self.key = base64.b64decode(secret.removeprefix("whsec_"))
        self.messages: list[dict] = []
        self.faults: list[str] = []
        self.lock = threading.Lock()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """One request."""

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                receiver.take(self.headers, body)
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_) -> None:
                """Says nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, headers, body: bytes) -> None:
        """Checks and keeps a message."""
        name, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
        wanted = base64.b64encode(hmac.digest(self.key, f"{name}.{at}.".encode() + body, hashlib.sha256)).decode()
        with self.lock:
            if f"v1,{wanted}" not in headers.get("webhook-signature", "").split():
                self.faults.append(f"{name}: the signature is wrong")
            if not at.isdigit() or abs(int(at) - time.time()) > 300:
                self.faults.append(f"{name}: the time is {at}")
            self.messages.append({"id": name, "body": json.loads(body)})

    def told(self, job: str) -> list[str]:
        """What was told of a job, in order, repetitions of the same message left out."""
        seen: dict[str, str] = {}
        with self.lock:
            for message in self.messages:
                if job in json.dumps(message["body"]):
                    seen.setdefault(message["id"], message["body"]["type"])
        return list(seen.values())

    def close(self) -> None:
        """Stops listening."""
        self.server.shutdown()
        self.server.server_close()
