"""Pictures that say which they are: a number in cells along the upper edge, and waves below that move with it.

Whoever sees a picture can read its number, make the same picture and compare: what is torn, or was made of pictures that
are not there, fits no number.
"""

import numpy as np

BITS = 16
STRIP = 8  # the strip of cells is so many parts of the height, less one
DARK, LIGHT = 40, 210


def luma(index: int, width: int, height: int) -> np.ndarray:
    """The brightness of a picture of any size, as (height, width) uint8."""
    # In small integers: a publisher makes thirty of these a second, and its encoder needs the time.
    across = np.rint(127 * np.sin(2 * np.pi * (3 * np.arange(width) / width + index / 17))).astype(np.int16)
    down = np.rint(75 * np.cos(2 * np.pi * (2 * np.arange(height) / height + index / 29))).astype(np.int16)[:, None]
    picture = (125 + (across * down >> 7)).astype(np.uint8)
    cells = (np.arange(width) * BITS // width)
    bits = (index >> cells) & 1
    # A bit is a light cell above a dark one, or the other way round: both are needed to read it.
    half = height // STRIP // 2
    picture[:half] = np.where(bits, LIGHT, DARK)
    picture[half:2 * half] = np.where(bits, DARK, LIGHT)
    return picture


def read(picture: np.ndarray) -> int | None:
    """The number of a picture; None when there is none to be read."""
    height, width = picture.shape
    half = height / STRIP / 2
    rows = [slice(int(half * (part + 0.3)), max(int(half * (part + 0.7)), int(half * (part + 0.3)) + 1)) for part in (0, 1)]
    index = 0
    for bit in range(BITS):
        columns = slice(int(width * (bit + 0.3) / BITS), max(int(width * (bit + 0.7) / BITS), int(width * (bit + 0.3) / BITS) + 1))
        difference = float(picture[rows[0], columns].mean()) - float(picture[rows[1], columns].mean())
        if abs(difference) < 50:
            return None
        index |= (difference > 0) << bit
    return index


def psnr(seen: np.ndarray, index: int) -> float:
    """How near a picture is to the one of its number, below its strip, in dB."""
    height, width = seen.shape
    wanted = luma(index, width, height)
    # Below the strip, and where no label lies.
    part = np.s_[height // STRIP + 2: height * 4 // 5, 2: width - 2]
    error = np.mean((seen[part].astype(np.float32) - wanted[part]) ** 2)
    return float(10 * np.log10(255 ** 2 / max(error, 0.01)))
