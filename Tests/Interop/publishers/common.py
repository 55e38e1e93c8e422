"""Helpers shared by the synthetic room clients: tokens, JSON lines, colours, the script language."""

import json
import re
import sys
import time

import jwt


def emit(event: str, **fields) -> None:
    """Writes one JSON line: what happened, and when by the wall clock that all clients of a test share."""
    line = {"event": event, "wall": round(time.time(), 6), **fields}
    sys.stdout.write(json.dumps(line, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def make_token(key: str, secret: str, room: str, identity: str, name: str = "", ttl: int = 3600, **grants) -> str:
    """A LiveKit access token (HS256); `grants` are added to the `video` claim."""
    now = int(time.time())
    video = {"roomJoin": True, "room": room, "canPublish": True, "canSubscribe": True, "canPublishData": True,
             "canUpdateOwnMetadata": True, **grants}
    claims = {"iss": key, "sub": identity, "nbf": now - 10, "exp": now + ttl, "video": video}
    if name:
        claims["name"] = name
    return jwt.encode(claims, secret, algorithm="HS256")


def yuv(rgb: str) -> tuple[int, int, int]:
    """BT.601 limited range, as WebRTC uses it, of a colour written RRGGBB."""
    r, g, b = (int(rgb[i:i + 2], 16) for i in (0, 2, 4))
    y = 16 + (65.738 * r + 129.057 * g + 25.064 * b) / 256
    u = 128 + (-37.945 * r - 74.494 * g + 112.439 * b) / 256
    v = 128 + (112.439 * r - 94.154 * g - 18.285 * b) / 256
    return round(y), round(u), round(v)


def parse_size(text: str) -> tuple[int, int]:
    """`640x360` as (640, 360); both even, since I420 halves them."""
    match = re.fullmatch(r"(\d+)x(\d+)", text)
    if not match:
        raise ValueError(f"size must look like 640x360, not {text!r}")
    width, height = int(match.group(1)), int(match.group(2))
    if width < 16 or height < 16 or width % 2 or height % 2:
        raise ValueError(f"width and height must be even and at least 16: {text!r}")
    return width, height


def parse_script(text: str) -> tuple[list[tuple[float, str, str]], list[tuple[float, float]]]:
    """Reads `t=3:mute-camera;t=2-5:talk;t=4:name=New name` into (steps, talk spans), times in seconds.

    A step is (time, action, argument), sorted by time; the argument is what follows `=` in the action.
    """
    steps: list[tuple[float, str, str]] = []
    talks: list[tuple[float, float]] = []
    for part in filter(None, (piece.strip() for piece in text.split(";"))):
        match = re.fullmatch(r"t=([0-9.]+)(?:-([0-9.]+))?:([a-z-]+)(?:=(.*))?", part)
        if not match:
            raise ValueError(f"not a script step: {part!r}")
        start, end, action, argument = match.groups()
        if action == "talk":
            talks.append((float(start), float(end) if end else float("inf")))
        elif end:
            raise ValueError(f"only talk takes a span: {part!r}")
        else:
            steps.append((float(start), action, argument or ""))
    steps.sort(key=lambda step: step[0])
    return steps, talks
