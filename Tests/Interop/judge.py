"""Judges a recording as a viewer would: decodes the whole file with ffmpeg and measures what is seen and heard.

Participants are told apart by the colour of their pictures and the pitch of their beeps. Nothing here knows how the
recording was made. Times of a recording are seconds from its beginning; `zero` is the wall-clock time of that.
"""

import dataclasses
import datetime
import functools
import json
import subprocess

import numpy as np

AUDIO_RATE = 48_000
PACKET = 0.020
HOP = 240  # 5 ms
JUDGED_WIDTH = 320  # pictures are made smaller to about this width


# What takes all the processors that there are gives way to those who keep to the clock: other scenarios' clients.
BATCH = ("nice", "-n", "10")


class Unplayable(Exception):
    """A file that a player would complain about."""


def run(command: list[str]) -> bytes:
    """Runs ffmpeg or ffprobe; any complaint counts as a failure."""
    done = subprocess.run([*BATCH, *command], capture_output=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0 or done.stderr:
        complaint = done.stderr.decode(errors="replace").strip() or f"exit code {done.returncode}"
        raise Unplayable(f"{command[0]}: {complaint[:500]}")
    return done.stdout


def probe(path: str) -> dict:
    """Streams, container and packets as ffprobe sees them."""
    return json.loads(run(["ffprobe", "-v", "warning", "-show_streams", "-show_format", "-show_entries",
                           "packet=stream_index,pts_time,duration_time,flags", "-of", "json", path]))


def began(info: dict) -> float:
    """When a recording began, by the wall clock: the date in its head, which is exact to the microsecond."""
    return datetime.datetime.fromisoformat(info["format"]["tags"]["creation_time"]).timestamp()


def decodes(path: str) -> str:
    """What ffmpeg has to say against a file; empty when nothing.

    Times stay as they are in the file: in whole frames, as ffmpeg would count them, two pictures of a joined file, whose
    parts begin at any time, could have the same one.
    """
    done = subprocess.run([*BATCH, "ffmpeg", "-v", "error", "-xerror", "-i", path, "-fps_mode", "passthrough", "-enc_time_base",
                           "-1", "-f", "null", "-"], capture_output=True, stdin=subprocess.DEVNULL)
    return done.stderr.decode(errors="replace").strip() or ("" if done.returncode == 0 else f"exit {done.returncode}")


def accepted(path: str) -> str:
    """What mkvinfo, mkvmerge, libwebm's webm_info (of WebM) and ffmpeg have to say against a whole file; empty when nothing."""
    said = []
    tools = [["mkvinfo", "--continue", path], ["mkvmerge", "--identify", "--identification-format", "json", path]]
    for command in [*tools, *([["webm_info", "-i", path, "-all"]] if path.endswith(".webm") else [])]:
        done = subprocess.run([*BATCH, *command], capture_output=True, stdin=subprocess.DEVNULL, text=True, errors="replace")
        if done.returncode != 0 or done.stderr:
            said.append(f"{command[0]} ends with {done.returncode}: {done.stderr.strip()[:200]}")
        elif command[0] == "mkvmerge":
            found = json.loads(done.stdout)
            if found["errors"] or found["warnings"] or not found["container"]["supported"]:
                said.append(f"mkvmerge: {found['errors']} {found['warnings']} {found['container']}")
    if complaint := decodes(path):
        said.append(f"ffmpeg: {complaint[:200]}")
    return "; ".join(said)


def pictures_differ(path: str) -> str:
    """Where FFmpeg's decoder of VP8 shows another picture than libvpx' (so Firefox another one than Chromium); empty when nowhere."""
    seen = [run(["ffmpeg", "-v", "error", "-c:v", decoder, "-i", path, "-map", "0:v", "-fps_mode", "passthrough",
                 "-f", "framemd5", "-"]).splitlines() for decoder in ("vp8", "libvpx")]
    return next((f"{a!r} {b!r}" for a, b in zip(*seen) if a != b), "" if len(seen[0]) == len(seen[1]) else "more pictures")


@dataclasses.dataclass
class Recording:
    """A decoded file: small pictures as RGB, sound as mono."""

    path: str
    full_size: tuple[int, int]
    scale: int
    times: np.ndarray  # one per picture
    pictures: np.ndarray  # (n, height, width, 3) uint8
    packets: np.ndarray  # the sound packets' times
    audio: np.ndarray  # float32, -1...1
    duration: float  # as the container says
    zero: float

    @classmethod
    def load(cls, path: str, codec: str = "vp8") -> "Recording":
        """Decodes a file whose pictures are in a codec; raises `Unplayable` when ffmpeg has anything to say against it."""
        info = probe(path)
        video = next(s for s in info["streams"] if s["codec_type"] == "video")
        audio = next(s for s in info["streams"] if s["codec_type"] == "audio")
        if (video["codec_name"], audio["codec_name"]) != (codec, "opus"):
            raise Unplayable(f"codecs {video['codec_name']}, {audio['codec_name']}")
        if (int(audio["channels"]), int(audio["sample_rate"])) != (2, AUDIO_RATE):
            raise Unplayable("the sound is not 48 kHz stereo")
        times, packets = (np.array([float(p["pts_time"]) for p in info["packets"] if p["stream_index"] == s["index"]])
                          for s in (video, audio))
        scale = max(1, round(video["width"] / JUDGED_WIDTH))
        width, height = video["width"] // scale, video["height"] // scale
        raw = run(["ffmpeg", "-v", "warning", "-xerror", "-i", path, "-map", "0:v", "-fps_mode", "passthrough",
                   "-enc_time_base", "-1", "-vf",
                   f"scale={width}:{height}:flags=area", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"])
        pictures = np.frombuffer(raw, np.uint8).reshape(-1, height, width, 3)
        if len(pictures) != len(times):
            raise Unplayable(f"{len(pictures)} pictures decoded of {len(times)}")
        sound = run(["ffmpeg", "-v", "warning", "-xerror", "-i", path, "-map", "0:a", "-ac", "1", "-f", "f32le", "-"])
        return cls(path, (video["width"], video["height"]), scale, times, pictures, packets,
                   np.frombuffer(sound, np.float32), float(info["format"]["duration"]), began(info))

    def index(self, seconds: float) -> int:
        """Which picture is on show at a moment."""
        return max(0, int(np.searchsorted(self.times, seconds + 1e-6)) - 1)

    def calm(self, seconds: float) -> float:
        """A moment at most 0.3 s away in which nobody flashes: a flash hides the colour of who flashes."""
        phase = (self.zero + seconds) % 1
        if phase > 0.9:
            return seconds - 0.1
        later = seconds + 0.2
        return seconds if phase >= 0.2 else later if later < self.duration else seconds - phase - 0.1

    @functools.cache
    def _areas(self, colour: str) -> np.ndarray:
        """The share of a colour in each picture."""
        return np.array([mask(picture, colour).mean() for picture in self.pictures])

    __hash__ = object.__hash__

    def areas(self, colour: str, start: float = 0.0, end: float = float("inf")) -> np.ndarray:
        """The share (0 to 1) of each picture from `start` to `end` that has a participant's colour."""
        return self._areas(colour)[(self.times >= start) & (self.times <= end)]

    def area(self, colour: str, seconds: float) -> float:
        """The share (0 to 1) that a participant's colour has of the picture on show at a calm moment."""
        return float(self._areas(colour)[self.index(self.calm(seconds))])

    def tile(self, colour: str, seconds: float) -> tuple[int, int, int, int] | None:
        """The box (left, top, right, bottom; small pixels) that a participant's colour fills at a calm moment, if any."""
        return box(mask(self.pictures[self.index(self.calm(seconds))], colour))

    def gone(self, colour: str, after: float) -> float:
        """When the colour has disappeared for good (at least 0.3 s: a flash is shorter); infinite if never."""
        return self.turns(self._areas(colour) < 0.002, after)

    def shown(self, colour: str, after: float) -> float:
        """When the colour is there (again), from `after` on; infinite if never."""
        return self.turns(self._areas(colour) > 0.01, after, lasting=0.0)

    def turns(self, true: np.ndarray, after: float, lasting: float = 0.3) -> float:
        """The first moment from `after` on from which something is true for so long; infinite if there is none."""
        for i in range(int(np.searchsorted(self.times, after)), len(self.times)):
            until = int(np.searchsorted(self.times, self.times[i] + lasting))
            if true[i] and true[i:until + 1].all():
                return float(self.times[i])
        return float("inf")

    def stills(self, moments: list[float]) -> list[np.ndarray]:
        """Pictures in full size, as RGB."""
        wanted = [self.index(moment) for moment in moments]
        chosen = "+".join(f"eq(n,{i})" for i in sorted(set(wanted)))
        raw = run(["ffmpeg", "-v", "warning", "-i", self.path, "-map", "0:v", "-fps_mode", "passthrough",
                   "-enc_time_base", "-1", "-vf",
                   f"select='{chosen}'", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"])
        pictures = np.frombuffer(raw, np.uint8).reshape(-1, self.full_size[1], self.full_size[0], 3)
        order = {index: place for place, index in enumerate(sorted(set(wanted)))}
        return [pictures[order[index]] for index in wanted]

    def full(self, tile: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
        """A box in pixels of the full size."""
        return tuple(side * self.scale for side in tile)

    @property
    def picture_gap(self) -> float:
        """The longest distance between pictures."""
        return float(np.diff(self.times).max()) if len(self.times) > 1 else float("inf")

    @property
    def lacks_pictures(self) -> bool:
        """Whether some were left out, as the machine was too slow."""
        return len(self.times) > 1 and self.picture_gap > 1.5 * float(np.median(np.diff(self.times)))

    @property
    def sound_gap(self) -> float:
        """By how much the distance of two sound packets differs from their length at most."""
        return float(np.abs(np.diff(self.packets) - PACKET).max()) if len(self.packets) > 1 else float("inf")

    @property
    def sound_end(self) -> float:
        """Where the last sound packet ends."""
        return float(self.packets[-1]) + PACKET


def rgb(colour: str) -> np.ndarray:
    """Red, green, blue of a colour written RRGGBB."""
    return np.array([int(colour[i:i + 2], 16) for i in (0, 2, 4)], np.int16)


def mask(picture: np.ndarray, colour: str, tolerance: int = 40) -> np.ndarray:
    """Where a picture has a colour."""
    return np.abs(picture.astype(np.int16) - rgb(colour)).max(axis=2) <= tolerance


def box(found: np.ndarray) -> tuple[int, int, int, int] | None:
    """The rectangle in which rows and columns are mostly of the colour (labels and outlines are no part of it)."""
    rows = np.flatnonzero(found.sum(axis=1) >= 8)
    columns = np.flatnonzero(found.sum(axis=0) >= 8)
    if rows.size < 8 or columns.size < 8:
        return None
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def same(a: tuple[int, ...] | None, b: tuple[int, ...] | None, tolerance: int = 2) -> bool:
    """True for boxes that differ by the blur of the codec at most."""
    return a is not None and b is not None and max(abs(x - y) for x, y in zip(a, b)) <= tolerance


def flashes(recording: Recording, tile: tuple[int, int, int, int], start: float, end: float) -> list[float]:
    """The moments at which the middle of a tile turns white."""
    left, top, right, bottom = tile
    width, height = right - left, bottom - top
    middle = recording.pictures[:, top + height // 3: bottom - height // 3, left + width // 3: right - width // 3]
    white = middle.reshape(len(middle), -1, 3).min(axis=2).mean(axis=1) > 190
    onsets = np.flatnonzero(white[1:] & ~white[:-1]) + 1
    return [float(recording.times[i]) for i in onsets if start <= recording.times[i] <= end]


def levels(recording: Recording, frequency: float) -> np.ndarray:
    """How loud a tone is, in windows of two hops, one each hop."""
    window = 2 * HOP
    blocks = np.lib.stride_tricks.sliding_window_view(recording.audio, window)[::HOP]
    at = np.arange(window) / AUDIO_RATE
    wave = np.exp(-2j * np.pi * frequency * at) * np.hanning(window)
    return np.abs(blocks @ wave.astype(np.complex64))


def beeps(recording: Recording, frequency: float, start: float, end: float) -> list[float]:
    """The moments at which a tone begins, to about 3 ms; other tones may sound at the same time."""
    window = 2 * HOP
    level = levels(recording, frequency)
    on = np.flatnonzero(level > max(0.25 * np.percentile(level, 99.5), 1e-2))
    found: list[float] = []
    # Beeps are those loud stretches before which 200 ms were without the tone.
    for beep in np.split(on, np.flatnonzero(np.diff(on) > 40) + 1):
        if not beep.size:
            continue
        # The window is centred on the onset when half of the level is reached; that is between two hops.
        half = np.median(level[beep]) / 2
        after = beep[0] + int(np.argmax(level[beep[0]:beep[-1] + 1] >= half))
        before = max(after - 1, 0)
        rise = level[after] - level[before]
        place = before + (half - level[before]) / rise if rise > 0 else after
        found.append(float((place * HOP + window / 2) / AUDIO_RATE))
    return [t for t in found if start <= t <= end]


def skews(flash_times: list[float], beep_times: list[float]) -> list[float]:
    """For each flash, how much later (seconds) its beep is heard; flashes without a beep within 0.4 s are left out."""
    result = []
    for flash in flash_times:
        near = min(beep_times, key=lambda b: abs(b - flash), default=None)
        if near is not None and abs(near - flash) < 0.4:
            result.append(near - flash)
    return result
