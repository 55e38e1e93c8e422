"""Judges a recording as a viewer would: decodes the whole file with ffmpeg and measures what is seen and heard.

Participants are told apart by the colour of their pictures and the pitch of their beeps. Nothing here knows how the
recording was made.
"""

import dataclasses
import json
import subprocess

import numpy as np

AUDIO_RATE = 48_000
HOP = 240  # 5 ms


def run(command: list[str]) -> bytes:
    done = subprocess.run(command, capture_output=True)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


@dataclasses.dataclass
class Recording:
    """A decoded file: pictures as RGB at half size, sound as mono."""

    width: int
    height: int
    times: np.ndarray  # seconds, one per picture
    pictures: np.ndarray  # (n, height, width, 3) uint8
    audio: np.ndarray  # float32, -1...1
    audio_start: float
    duration: float

    SCALE = 2

    @classmethod
    def load(cls, path: str) -> "Recording":
        # A file that ended cleanly decodes without a single complaint.
        complaint = subprocess.run(
            ["ffmpeg", "-v", "warning", "-xerror", "-i", path, "-f", "null", "-"], capture_output=True)
        assert complaint.returncode == 0 and not complaint.stderr, complaint.stderr.decode(errors="replace")
        info = json.loads(run(["ffprobe", "-v", "error", "-show_streams", "-show_format", "-of", "json", path]))
        video = next(s for s in info["streams"] if s["codec_type"] == "video")
        audio = next(s for s in info["streams"] if s["codec_type"] == "audio")
        assert video["codec_name"] == "vp8" and audio["codec_name"] == "opus", "codecs"
        assert int(audio["channels"]) == 2 and int(audio["sample_rate"]) == AUDIO_RATE, "sound format"
        width, height = video["width"] // cls.SCALE, video["height"] // cls.SCALE
        packets = json.loads(run(["ffprobe", "-v", "error", "-select_streams", "v", "-show_entries",
                                  "packet=pts_time", "-of", "json", path]))["packets"]
        times = np.array([float(p["pts_time"]) for p in packets])
        raw = run(["ffmpeg", "-v", "error", "-i", path, "-map", "0:v", "-fps_mode", "passthrough", "-vf",
                   f"scale={width}:{height}:flags=area", "-f", "rawvideo", "-pix_fmt", "rgb24", "-"])
        pictures = np.frombuffer(raw, np.uint8).reshape(-1, height, width, 3)
        assert len(pictures) == len(times), f"{len(pictures)} pictures decoded of {len(times)}"
        sound = run(["ffmpeg", "-v", "error", "-i", path, "-map", "0:a", "-ac", "1", "-f", "f32le", "-"])
        return cls(width, height, times, pictures, np.frombuffer(sound, np.float32),
                   float(audio.get("start_time", 0)), float(info["format"]["duration"]))

    def at(self, seconds: float) -> np.ndarray:
        """The picture on show at a moment."""
        index = max(0, int(np.searchsorted(self.times, seconds + 1e-6)) - 1)
        return self.pictures[index]

    def area(self, colour: str, seconds: float, tolerance: int = 40) -> float:
        """The share of the picture, 0 to 1, that has a participant's colour at a moment."""
        return float(mask(self.at(seconds), colour, tolerance).mean())

    def tile(self, colour: str, seconds: float) -> tuple[int, int, int, int] | None:
        """The box (left, top, right, bottom; half-size pixels) filled by a participant's colour, if there is one."""
        return box(mask(self.at(seconds), colour))

    def shows(self, colour: str, seconds: float) -> bool:
        return self.area(colour, seconds) > 0.01


def rgb(colour: str) -> np.ndarray:
    return np.array([int(colour[i:i + 2], 16) for i in (0, 2, 4)], np.int16)


def mask(picture: np.ndarray, colour: str, tolerance: int = 40) -> np.ndarray:
    return (np.abs(picture.astype(np.int16) - rgb(colour)).max(axis=2) <= tolerance)


def box(found: np.ndarray) -> tuple[int, int, int, int] | None:
    """The rectangle in which rows and columns are mostly of the colour (labels and outlines are no part of it)."""
    rows = np.flatnonzero(found.sum(axis=1) >= 8)
    columns = np.flatnonzero(found.sum(axis=0) >= 8)
    if rows.size < 8 or columns.size < 8:
        return None
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1


def flashes(recording: Recording, tile: tuple[int, int, int, int], start: float, end: float) -> list[float]:
    """The moments at which the middle of a tile turns white."""
    left, top, right, bottom = tile
    width, height = right - left, bottom - top
    middle = recording.pictures[:, top + height // 3: bottom - height // 3, left + width // 3: right - width // 3]
    white = middle.reshape(len(middle), -1, 3).min(axis=2).mean(axis=1) > 190
    onsets = np.flatnonzero(white[1:] & ~white[:-1]) + 1
    return [float(recording.times[i]) for i in onsets if start <= recording.times[i] <= end]


def beeps(recording: Recording, frequency: float, start: float, end: float) -> list[float]:
    """The moments at which a tone begins, to about 3 ms."""
    n = len(recording.audio) // HOP
    window = 2 * HOP
    blocks = np.lib.stride_tricks.sliding_window_view(recording.audio, window)[: n * HOP: HOP]
    at = np.arange(window) / AUDIO_RATE
    wave = np.exp(-2j * np.pi * frequency * at) * np.hanning(window)
    level = np.abs(blocks @ wave.astype(np.complex64))
    total = np.sqrt((blocks ** 2 * np.hanning(window)).sum(axis=1)) + 1e-6
    # The tone must be there and be the greater part of what is heard; the threshold follows the file's own loudness.
    loud = level > max(0.25 * np.percentile(level, 99.5), 1e-3)
    pure = level / (total * np.sqrt(window / 2)) > 0.35
    on = loud & pure
    found: list[float] = []
    silent_since = -1
    for i in range(len(on)):
        if not on[i]:
            continue
        if i - silent_since > 40:  # 200 ms of other sound before it
            # The window is centred on its onset when half of it is tone.
            found.append((i * HOP + window / 2) / AUDIO_RATE + recording.audio_start)
        silent_since = i
    return [t for t in found if start <= t <= end]


def skews(flash_times: list[float], beep_times: list[float]) -> list[float]:
    """For each flash, how much later (seconds) its beep is heard; flashes without a beep within 0.4 s are left out."""
    result = []
    for flash in flash_times:
        near = min(beep_times, key=lambda b: abs(b - flash), default=None)
        if near is not None and abs(near - flash) < 0.4:
            result.append(near - flash)
    return result


def longest_gap(recording: Recording) -> float:
    """The longest distance between pictures, in seconds."""
    return float(np.diff(recording.times).max()) if len(recording.times) > 1 else float("inf")
