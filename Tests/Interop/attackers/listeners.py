"""WebSocket servers that lie, flood and stand still: what a sink says to them, and the recording that goes on."""

import base64
import contextlib
import hashlib
import random
import socket
import struct
import time

import attackers
from attackers.handshakes import Host
from scenarios.common import in_step, load
from stage import Stage
from verdict import Verdict, ms

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
# Said instead of the upgrade.
REFUSALS = (
    b"", b"\x00" * 100_000, b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: x\r\n\r\n",
    b"HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1/\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 100_000,
    b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 100_000, b"HTTP/1.1 100 Continue\r\n\r\n" * 10_000,
)


def frame(opcode: int, data: bytes = b"", length: int | None = None, first: int = 0x80) -> bytes:
    """A frame as a server sends it (RFC 6455 section 5.2); with another length than it has, where that is wanted."""
    length = len(data) if length is None else length
    size = bytes([length]) if length < 126 else b"\x7e" + struct.pack(">H", length) if length < 65536 else b"\x7f" + struct.pack(">Q", length)
    return bytes([first | opcode]) + size + data


# Said after it: once, and then for ever.
SPEECHES = (
    (frame(9, b"x" * 125), frame(9, b"x" * 125)), (frame(2, b"", 1 << 62), b""), (frame(2, b"", 1 << 40), b"x" * 4096),
    (frame(9, b"x" * 9000), b""), (frame(2, b"x", first=0x00), frame(0, b"x" * 1000, first=0x00)), (frame(3, b"x"), b""),
    (frame(2, b"x", first=0xF0), b""), (frame(8, b"\x00"), b""), (frame(8, b"\x03\xe8" + b"\xff" * 200), b""), (b"\x82\xfe", b""),
    (b"", frame(1, b"\xff" * 60_000)), (frame(10, b"x" * 125) * 1000, b""),
)


class Speaker(Host):
    """Answers every connection in the same way, and reads nothing of what comes then."""

    def __init__(self, refusal: bytes | None, speech: tuple[bytes, bytes], seed: int):
        self.refusal, self.speech, self.dice = refusal, speech, random.Random(seed)
        self.said = 0
        self.isOver = False
        super().__init__()

    def serve(self, connection: socket.socket) -> None:
        """One connection."""
        with connection, contextlib.suppress(OSError):
            connection.settimeout(2)
            head = b""
            while b"\r\n\r\n" not in head and (part := connection.recv(4096)):
                head += part
            if self.refusal is not None:
                connection.sendall(self.refusal)
            else:
                key = next(line.split(b":", 1)[1].strip() for line in head.split(b"\r\n") if line.lower().startswith(b"sec-websocket-key"))
                accept = base64.b64encode(hashlib.sha1(key + GUID).digest())
                connection.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Accept: "
                                   + accept + b"\r\n\r\n" + self.speech[0])
            while not self.isOver:
                # Who takes nothing more is tried again.
                with contextlib.suppress(TimeoutError):
                    if self.speech[1]:
                        self.said += connection.send(self.speech[1] * self.dice.randint(1, 20))
                    else:
                        time.sleep(0.1)

    def close(self) -> None:
        self.isOver = True
        super().close()


def false_listeners(stage: Stage, verdict: Verdict) -> None:
    """Twenty WebSocket servers that refuse oddly, damage frames, flood with pings and messages, and read nothing: each sink's warning is
    a line, and the recording beside them is whole."""
    stage.server()
    people = [stage.publisher("ann", colour="red").join()]
    speakers = [Speaker(refusal, (b"", b""), attackers.SEED) for refusal in REFUSALS]
    speakers += [Speaker(None, speech, attackers.SEED) for speech in SPEECHES]
    sizes, stops = [], []
    # A recording has sixteen sinks at most.
    for number in (0, 1):
        group = speakers[number::2]
        sinks = [option for speaker in group for option in ("--sink", f"audio:mixed=ws://127.0.0.1:{speaker.port}/hush?hush")]
        recorder = stage.recorder(f"talk{number}", "--size", "320x180", *sinks)
        began = recorder.recording()
        stage.until(began + 8)
        stopping = time.time()
        recorder.stop()
        stops.append(time.time() - stopping)
        recording = load(recorder, verdict)
        in_step(recording, people, 1.5, recording.duration, verdict)
        sizes.append(recorder.resident)
        for line in recorder.errors.splitlines():
            verdict.check("warning recbot: a sink's WebSocket is not connected" in line or "were not read in time" in line,
                          f"standard error has {line[:200]!r}")
        verdict.check("?hush" not in recorder.errors, "a query is told")
        ends = recorder.last_progress["sinks"]
        verdict.check(not any(sink["failure"] for sink in ends), f"at the end: {ends}")
    for speaker in speakers:
        speaker.close()
        verdict.check(speaker.connections >= 1, f"a server was not dialled: {speaker.refusal} {speaker.speech[0][:40]}")
    verdict.timely(max(stops) < 3, f"the end took {ms(max(stops))}")
    verdict.check(max(sizes) < 200, f"{max(sizes)} MB resident")
    verdict.figure(f"{len(speakers)} servers, {sum(speaker.said for speaker in speakers) >> 20} MiB of speech, {max(sizes)} MB resident, "
                   f"ends after {ms(max(stops))}")


ATTACKS = (false_listeners,)
