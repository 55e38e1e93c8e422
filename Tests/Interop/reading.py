"""Reads the short texts in a recording's pictures: names on labels, reasons on cards.

Not a general reader: it is given the texts that could stand there, draws each with ffmpeg, and says which fits best.
"""

import functools
import subprocess

import numpy as np

SIZES = range(11, 20)
FONTS = "Inter:medium,DejaVu Sans"  # in the order in which a recording's texts take them


@functools.cache
def font() -> str:
    """The font's file on this machine."""
    for name in FONTS.split(","):
        done = subprocess.run(["fc-match", "-f", "%{file}\n%{family}", name], capture_output=True, text=True,
                              check=True)
        file, family = done.stdout.split("\n")
        if name.split(":")[0] in family:
            break
    return file


@functools.cache
def drawn(text: str) -> list[np.ndarray]:
    """A text in all sizes, white (1) on black (0), cut to its ink."""
    width, height = 20 * (len(text) + 2), 40
    lines = [f"drawtext=fontfile={font()}:text='{text}':fontsize={size}:fontcolor=white:x=8:y={height * place + 8}"
             for place, size in enumerate(SIZES)]
    done = subprocess.run(
        ["ffmpeg", "-v", "error", "-f", "lavfi", "-i", f"color=black:s={width}x{height * len(lines)}", "-frames:v", "1",
         "-vf", ",".join(lines), "-f", "rawvideo", "-pix_fmt", "gray", "-"], capture_output=True, check=True,
        stdin=subprocess.DEVNULL)
    result = []
    for ink in np.frombuffer(done.stdout, np.uint8).reshape(len(lines), height, width).astype(np.float32) / 255:
        rows, columns = np.flatnonzero(ink.max(axis=1) > 0.3), np.flatnonzero(ink.max(axis=0) > 0.3)
        result.append(ink[rows[0]:rows[-1] + 1, columns[0]:columns[-1] + 1])
    return result


def likeness(picture: np.ndarray, text: str) -> float:
    """How much of a text is somewhere in a grey picture, 0 to 1 (normalised correlation; above 0.6 is legible)."""
    best = 0.0
    for template in drawn(text):
        if template.shape[0] > picture.shape[0] or template.shape[1] > picture.shape[1]:
            break
        windows = np.lib.stride_tricks.sliding_window_view(picture, template.shape)
        cross = np.einsum("ijkl,kl->ij", windows, template - template.mean())
        spread = np.maximum(windows.std(axis=(2, 3)), 0.02) * template.std() * template.size
        best = max(best, float((cross / spread).max()))
    return best


def read(picture: np.ndarray, box: tuple[int, int, int, int], texts: list[str]) -> tuple[str, float]:
    """Which of the texts stands in a part (left, top, right, bottom) of a picture (RGB), and how well it fits."""
    left, top, right, bottom = box
    grey = picture[top:bottom, left:right].astype(np.float32).min(axis=2) / 255
    return max(((text, likeness(grey, text)) for text in texts), key=lambda pair: pair[1])


def label(tile: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """Where a tile has its label: at the lower left."""
    left, top, right, bottom = tile
    return left, max(top, bottom - 64), min(right, left + 240), bottom


def card(tile: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """Where a card, or a dimmed picture, gives its reason: in the middle or under it."""
    left, top, right, bottom = tile
    middle, height = (left + right) // 2, bottom - top
    return max(left, middle - 110), top + height * 2 // 5, min(right, middle + 110), top + height * 4 // 5
