"""Sound and pictures that other programs take while they are recorded."""

import os
import pathlib
import socket
import struct
import subprocess
import threading
import time
import types

import numpy as np

from judge import AUDIO_RATE, beeps, levels, rgb
from scenarios.common import in_step, load
from stage import Process, Stage
from verdict import Verdict

UNREAD = 70  # seconds


def sinks(stage: Stage, verdict: Verdict) -> None:
    """ffmpeg hears the mix while it is recorded, timed blocks of one person and a pipe of the other have their sound alone, at the
    recording's times; who comes back goes on, and who does not read holds up nobody."""
    stage.server()
    ann, bob = people = [stage.publisher(name, colour=colour).join() for name, colour in (("ann", "red"), ("bob", "green"))]
    mixed, own = stage.folder / "mixed.sock", stage.folder / "ann.sock"
    pipe, writer = os.pipe()
    recorder = stage.recorder(
        "talk", "--size", "640x360", "--sink", f"audio:mixed=unix:{mixed}",
        "--sink", f"audio:ann=unix:{own},rate=16000,channels=1,framing=timed",
        "--sink", f"audio:bob=fd:{writer},rate=8000,channels=1", descriptors=(writer,))
    os.close(writer)
    piped = Reader(os.fdopen(pipe, "rb", buffering=0))
    began = recorder.recording()
    lazy = connect(mixed)
    heard = stage.folder / "heard.wav"
    listener = stage.start(Process("ffmpeg", [
        "ffmpeg", "-v", "error", "-nostdin", "-f", "s16le", "-ar", "48000", "-ac", "2", "-i", f"unix:{mixed}", "-t", "5", "-y",
        str(heard)], stage.folder))
    first = Reader(connect(own).makefile("rb"))
    stage.until(began + 4)
    first.close()
    stage.until(began + 6)
    again = Reader(connect(own).makefile("rb"))
    stage.until(began + 9)
    listener.exit(5)
    recorder.stop()
    lazy.close()
    parts = [Blocks(reader.finish(), verdict) for reader in (first, again)]

    recording = load(recorder, verdict)
    in_step(recording, people, 1.5, recording.duration, verdict)
    # ffmpeg, which reads as a player does.
    mix = sound(subprocess.run(["ffmpeg", "-v", "error", "-i", str(heard), "-ac", "1", "-f", "f32le", "-"], capture_output=True,
                               check=True, stdin=subprocess.DEVNULL).stdout, np.float32, AUDIO_RATE)
    for person in people:
        count = len(beeps(mix, person.pitch, 0, 5))
        verdict.check(count >= 4, f"ffmpeg heard {count} beeps of {person.name} in five seconds")
    # One person alone, and when.
    for part in parts:
        alone(part.sound, ann, bob, 2, verdict)
        wanted = beeps(recording, ann.pitch, 0, recording.duration)
        found = [part.start + moment for moment in beeps(part.sound, ann.pitch, 0.3, part.length - 0.3)]
        far = [min(abs(beep - moment) for beep in wanted) for moment in found]
        verdict.check(len(found) >= 2 and max(far) < 0.02, f"beeps in the file at {wanted}, in the sink at {found}")
    verdict.check(parts[1].start > parts[0].start + 4, f"the second reader began at {parts[1].start:.2f} s")
    eight = sound(piped.finish(), np.int16, 8_000)
    verdict.check(abs(len(eight.audio) / AUDIO_RATE - recording.duration) < 0.1,
                  f"{len(eight.audio) / AUDIO_RATE:.2f} s in the pipe, {recording.duration:.2f} s in the file")
    alone(eight, bob, ann, 6, verdict)
    # Two seconds wait for who does not read, and what the kernel takes.
    ends = recorder.last_progress["sinks"]
    lost = [sink["lost_blocks"] for sink in ends]
    verdict.check(50 < lost[0] < 450 and lost[1:] == [0, 0] and not any(sink["failure"] for sink in ends), f"at the end: {ends}")
    verdict.figure(f"{lost[0]} blocks were not read")
    verdict.check(not mixed.exists() and not own.exists(), "a socket is left behind")
    refused(stage, verdict)


def watched(stage: Stage, verdict: Verdict) -> None:
    """ffmpeg sees the recording while it is made; one person's pictures alone are the file's of the same times, and another's are
    hidden from the first on, as in the file; who does not read holds up nobody."""
    stage.server()
    ann, bob = people = [stage.publisher(name, colour=colour).join() for name, colour in (("ann", "red"), ("bob", "green"))]
    mixed, own, hidden = (stage.folder / f"{name}.sock" for name in ("mixed", "ann", "bob"))
    recorder = stage.recorder(
        "talk", "--size", "640x360", "--processor", "bob=grayscale", "--sink", f"video:mixed=unix:{mixed},fps=10",
        "--sink", f"video:ann=unix:{own},size=320x180,fps=15,framing=timed",
        "--sink", f"video:bob=unix:{hidden},size=160x90,framing=raw")
    # The sockets are there before the room is joined: what is seen is seen from the first picture on.
    while recorder.child.poll() is None and not hidden.exists():
        stage.until(time.time() + 0.01)
    lazy = connect(mixed)
    readers = [Reader(connect(path).makefile("rb"), size) for path, size in ((own, 86_416), (hidden, 21_600))]
    began = recorder.recording()
    seen = stage.folder / "seen.mkv"
    viewer = stage.start(Process("ffmpeg", [
        "ffmpeg", "-v", "error", "-nostdin", "-f", "yuv4mpegpipe", "-i", f"unix:{mixed}", "-t", "4", "-c:v", "ffv1", str(seen)],
        stage.folder))
    stage.until(began + 9)
    viewer.exit(5)
    recorder.stop()
    lazy.close()
    timed, raw = (reader.finish() for reader in readers)

    recording = load(recorder, verdict)
    frames = np.frombuffer(subprocess.run(
        ["ffmpeg", "-v", "error", "-i", str(seen), "-vf", "scale=64:36", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
        capture_output=True, check=True, stdin=subprocess.DEVNULL).stdout, np.uint8).reshape(-1, 36 * 64, 3).astype(np.int16)
    shares = (np.abs(frames - rgb(ann.colour)).max(axis=2) < 60).mean(axis=1)
    verdict.check(38 <= len(frames) <= 41 and np.median(shares) > 0.2, f"ffmpeg saw {len(frames)} pictures, {shares[:9]} of them red")
    # Each picture of one person is that of the file at its time; beside a flash it may be the one next to it.
    tile = recording.tile(ann.colour, 2.6)
    if verdict.check(tile is not None, "ann is not shown"):
        left, top, right, bottom = tile
        across, down = (right - left) // 4, (bottom - top) // 4
        wanted = recording.pictures[:, top + down:bottom - down, left + across:right - across].mean(axis=(1, 2))
        places = []
        for at in range(0, len(timed) - 86_415, 86_416):
            place, count, lost = struct.unpack("<qII", timed[at:at + 16])
            verdict.check((count, lost) == (86_400, 0), f"a picture has {count} bytes, {lost} lost before it")
            places.append(place)
            if not 1.5 <= place / 15 < recording.duration - 0.1:
                continue
            index = int(np.argmin(np.abs(recording.times - place / 15)))
            found = colour(timed[at + 16:at + 86_416], 320, 180)
            far = min(np.abs(found - wanted[near]).max() for near in range(index - 1, min(index + 2, len(wanted))))
            verdict.check(far < 30, f"at {place / 15:.2f} s the sink shows {found}, the file {wanted[index]}")
        verdict.check(len(places) > 110 and places == list(range(places[0], places[0] + len(places))), f"pictures {places[:9]} …")
    grey = [colour(raw[at:at + 21_600], 160, 90) for at in range(0, len(raw) - 21_599, 21_600)]
    verdict.check(len(grey) > 240, f"{len(grey)} pictures of bob")
    coloured = [found for found in grey if np.ptp(found) > 24]
    verdict.check(not coloured, f"{len(coloured)} pictures show bob in colour: {coloured[:3]}")
    ends = recorder.last_progress["sinks"]
    lost = [sink["lost_blocks"] for sink in ends]
    verdict.check(10 < lost[0] < 90 and lost[1:] == [0, 0] and not any(sink["failure"] for sink in ends), f"at the end: {ends}")
    verdict.figure(f"{lost[0]} pictures were not read")
    in_step(recording, [ann], 1.5, recording.duration, verdict)


def unread(stage: Stage, verdict: Verdict) -> None:
    """Who reads nothing for a minute costs neither memory nor the recording anything, and gets on with what is new, told how much
    is gone."""
    stage.server()
    ann = stage.publisher("ann", colour="red").join()
    heard, seen = (stage.folder / f"{name}.sock" for name in ("heard", "seen"))
    recorder = stage.recorder("talk", "--size", "640x360", "--sink", f"audio:mixed=unix:{heard},framing=timed",
                              "--sink", f"video:ann=unix:{seen},size=640x360,fps=15,framing=timed")
    began = recorder.recording()
    links = [connect(heard), connect(seen)]
    stage.until(began + 10)
    before = recorder.memory()
    stage.until(began + UNREAD)
    grown = (recorder.memory() - before) // 1024
    verdict.check(grown < 24, f"{grown} MiB more in the minute")
    read = [Reader(link.makefile("rb"), 1 << 16) for link in links]
    stage.until(began + UNREAD + 5)
    recorder.stop()
    found = [blocks(reader.finish(), unit) for reader, unit in zip(read, (4, 1), strict=True)]

    recording = load(recorder, verdict)
    in_step(recording, [ann], 1.5, recording.duration, verdict)
    gone = [sink["lost_blocks"] for sink in recorder.last_progress["sinks"]]
    for name, rate, parts, count in zip(("sound", "pictures"), (48_000, 15), found, gone, strict=True):
        told = sum(lost for _, lost in parts)
        last = parts[-1][0] / rate if parts else 0
        verdict.check(told == count > 0, f"{name}: {count} blocks are lost, {told} are told")
        verdict.check(abs(last - recording.duration) < 0.5, f"{name} end at {last:.1f} s of {recording.duration:.1f}")
        places = [place for place, _ in parts]
        verdict.check(places == sorted(set(places)), f"{name}: places go back")
    verdict.figure(f"{grown} MiB more, {gone[0]} blocks of sound and {gone[1]} pictures not read")


def blocks(data: bytes, unit: int) -> list[tuple[int, int]]:
    """Where each timed block begins, and how many were lost before it; `unit`: bytes of what is counted."""
    found, at = [], 0
    while at + 16 <= len(data):
        place, count, lost = struct.unpack("<qII", data[at:at + 16])
        found.append((place, lost))
        at += 16 + unit * count
    return found


def colour(planes: bytes, width: int, height: int) -> np.ndarray:
    """The mean colour of the middle of a picture in I420 (BT.601, limited range), as red, green and blue."""
    y, chroma = np.frombuffer(planes, np.uint8, width * height), np.frombuffer(planes, np.uint8, offset=width * height)
    y = y.reshape(height, width)
    u, v = chroma.reshape(2, height // 2, width // 2)
    y, u, v = (float(plane[len(plane) // 4:-len(plane) // 4, plane.shape[1] // 4:-plane.shape[1] // 4].mean())
               for plane in (y, u, v))
    y, u, v = 1.164 * (y - 16), u - 128, v - 128
    return np.clip([y + 1.596 * v, y - 0.392 * u - 0.813 * v, y + 2.017 * u], 0, 255)


def refused(stage: Stage, verdict: Verdict) -> None:
    """What cannot be had is told in one line, before the room is joined."""
    taken = stage.folder / "taken"
    taken.write_text("mine")
    for sink, status, words in (
            (f"audio:mixed=unix:{taken}", 41, "cannot make"), ("audio:mixed=fd:77", 41, "not open"),
            ("audio:mixed=http://x", 64, "write audio:mixed"), ("audio:mixed=wss://u:p@x", 64, "a user name or password"), ("video:mixed=fd:3,fps=7", 64, "fps is one of 30, 15"),
            (f"video:ann=unix:{stage.folder}/no/a", 41, "cannot make")):
        done = subprocess.run([stage.recbot, "join", "test", "--url", stage.url, "--token", "x", "--output", str(stage.folder / "no.webm"),
                               "--progress", "none", "--sink", sink], capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
        verdict.check(done.returncode == status and words in done.stderr and done.stderr.count("\n") == 1,
                      f"--sink {sink}: {done.returncode} {done.stderr}")
    verdict.check(taken.read_text() == "mine" and not (stage.folder / "no.webm").exists(), "something was overwritten, or is left")
    # A join that is refused ends its sinks.
    vain = stage.folder / "vain.sock"
    done = subprocess.run([stage.recbot, "join", "test", "--url", stage.url, "--token", "x", "--output", str(stage.folder / "no.webm"),
                           "--progress", "none", "--sink", f"audio:mixed=unix:{vain}"], capture_output=True, text=True, timeout=20,
                          stdin=subprocess.DEVNULL)
    verdict.check(done.returncode not in (0, 41, 64) and not vain.exists(), f"a join in vain: {done.returncode} {done.stderr}")


def alone(heard: types.SimpleNamespace, who: Process, other: Process, least: int, verdict: Verdict) -> None:
    """There are so many beeps of one person at least, and nothing of the other but what the beginning of a beep has of all pitches."""
    count = len(beeps(heard, who.pitch, 0, 3600))
    own, foreign = (float(np.percentile(levels(heard, person.pitch), 99.5)) for person in (who, other))
    verdict.check(count >= least and foreign < own / 8, f"{who.name}: {count} beeps, {own:.1f}; of {other.name} {foreign:.2f}")


def connect(path: pathlib.Path) -> socket.socket:
    """A reader of a socket, which reads nothing by itself."""
    link = socket.socket(socket.AF_UNIX)
    link.connect(str(path))
    return link


class Reader:
    """Reads all that comes, on a thread."""

    def __init__(self, stream, size: int = 656):
        self.stream = stream
        self.size = size
        self.data = bytearray()
        self.isClosed = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self) -> None:
        """The thread."""
        while not self.isClosed and (part := self.stream.read(self.size)):
            self.data += part
        self.stream.close()

    def close(self) -> None:
        """Goes away."""
        self.isClosed = True
        self.thread.join(5)

    def finish(self) -> bytes:
        """All that came, until the other side ended."""
        self.thread.join(5)
        return bytes(self.data)


class Blocks:
    """What a reader of timed blocks got, at 16 kHz."""

    def __init__(self, data: bytes, verdict: Verdict):
        places, samples = [], b""
        for at in range(0, len(data) - 655, 656):
            place, count, lost = struct.unpack("<qII", data[at:at + 16])
            places.append(place)
            samples += data[at + 16:at + 656]
            verdict.check((count, lost) == (320, 0), f"a block has {count} samples, {lost} lost before it")
        verdict.check(bool(places) and places == list(range(places[0], places[0] + 320 * len(places), 320)), f"blocks at {places[:9]} …")
        self.start = places[0] / 16_000 if places else 0
        self.length = len(places) / 50
        self.sound = sound(samples, np.int16, 16_000)


def sound(data: bytes, kind: type, rate: int) -> types.SimpleNamespace:
    """Samples, as the judge hears them: at 48 kHz."""
    samples = np.frombuffer(data[:len(data) // np.dtype(kind).itemsize * np.dtype(kind).itemsize], kind).astype(np.float32)
    samples /= 1 if kind is np.float32 else 32_768
    places = np.arange(len(samples) * AUDIO_RATE // rate) * rate / AUDIO_RATE
    return types.SimpleNamespace(audio=np.interp(places, np.arange(len(samples)), samples).astype(np.float32))
