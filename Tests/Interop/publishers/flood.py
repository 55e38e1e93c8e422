#!/usr/bin/env python3
"""Holds many connections open that say little or nothing, and makes those anew that the server closes.

Prints a JSON line each half second: how many it has made so far, and how many of them are open.
"""

import argparse
import errno
import json
import resource
import selectors
import socket
import time

# So many connections a second are made until there are enough, and afterwards in place of those that were closed: more
# would measure this process, not the server.
RATE, AGAIN = 4000, 500
# Linux: the port is chosen when it connects, so that there are enough for every address.
IP_BIND_ADDRESS_NO_PORT = 24


class Flood:
    """The connections, from one source address or from several in turn."""

    def __init__(self, port: int, sources: list[str], head: bytes):
        self.port, self.sources, self.head = port, sources, head
        self.selector = selectors.DefaultSelector()
        self.open: set[socket.socket] = set()
        self.made = 0

    def make(self) -> bool:
        """Makes one more; false when that is not possible now."""
        one = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            one.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
            one.bind((self.sources[self.made % len(self.sources)], 0))
            if one.connect_ex(("127.0.0.1", self.port)) not in (0, errno.EINPROGRESS):
                raise OSError
        except OSError:
            one.close()
            return False
        self.made += 1
        self.open.add(one)
        self.selector.register(one, selectors.EVENT_WRITE)
        return True

    def drop(self, one: socket.socket) -> None:
        """Forgets one that was closed."""
        self.selector.unregister(one)
        self.open.discard(one)
        one.close()

    def serve(self, timeout: float) -> None:
        """Says the little that is to be said, and notices what is closed."""
        for key, mask in self.selector.select(timeout):
            one = key.fileobj
            try:
                if mask & selectors.EVENT_WRITE:
                    one.send(self.head)
                    self.selector.modify(one, selectors.EVENT_READ)
                elif not one.recv(4096):
                    self.drop(one)
            except BlockingIOError:
                pass
            except OSError:
                self.drop(one)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--sources", default="127.0.0.3", help="addresses of 127.0.0.0/8, with commas")
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--head", default="GET /rt")
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, options.count + 1000), most))
    flood = Flood(options.port, options.sources.split(","), options.head.encode())
    began = told = time.monotonic()
    while (now := time.monotonic()) < began + options.seconds:
        allowed = min(int((now - began) * RATE), options.count) + int((now - began) * AGAIN)
        room = min(options.count - len(flood.open), allowed - flood.made, 200)
        while room > 0 and flood.make():
            room -= 1
        flood.serve(0.005)
        if now - told >= 0.5:
            told = now
            print(json.dumps({"made": flood.made, "open": len(flood.open)}), flush=True)


if __name__ == "__main__":
    main()
