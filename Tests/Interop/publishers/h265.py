"""H.265 for aiortc, which has none: an encoder (libx265), and packets as RFC 7798 wants them."""

import fractions
import re

import aiortc.codecs
import aiortc.rtcrtpsender
import av
from aiortc import RTCRtpCodecParameters
from aiortc.codecs.base import Encoder
from aiortc.mediastreams import VIDEO_TIME_BASE, convert_timebase
from aiortc.rtcrtpparameters import RTCRtcpFeedback

# What a packet holds of a unit.
ROOM = 1100


def packets(unit: bytes) -> list[bytes]:
    """A unit as one packet, or as fragments (section 4.4.3)."""
    if len(unit) <= ROOM:
        return [unit]
    header, kind, body = bytes([unit[0] & 0x81 | 49 << 1, unit[1]]), unit[0] >> 1 & 0x3f, unit[2:]
    pieces = [body[at:at + ROOM] for at in range(0, len(body), ROOM)]
    begin, end = [0x80] + [0] * (len(pieces) - 1), [0] * (len(pieces) - 1) + [0x40]
    return [header + bytes([first | last | kind]) + piece for piece, first, last in zip(pieces, begin, end)]


def aggregate(units: list[bytes]) -> bytes:
    """Several units in one packet (section 4.4.2)."""
    return b"\x60\x01" + b"".join(len(unit).to_bytes(2, "big") + unit for unit in units)


class H265Encoder(Encoder):
    """One stream; parameter sets stand before each keyframe."""

    def __init__(self, pixels: str):
        self.pixels, self.codec = pixels, None

    def encode(self, frame, force_keyframe=False):
        if self.codec is None:
            self.codec = av.CodecContext.create("libx265", "w")
            self.codec.width, self.codec.height, self.codec.pix_fmt = frame.width, frame.height, self.pixels
            self.codec.framerate, self.codec.time_base = fractions.Fraction(30), frame.time_base
            self.codec.options = {"preset": "ultrafast", "tune": "zerolatency", "x265-params":
                                  "log-level=none:info=0:repeat-headers=1:bframes=0:keyint=300:pools=none:frame-threads=1"}
        picture = frame.reformat(format=self.pixels)
        picture.pts, picture.time_base = frame.pts, frame.time_base
        picture.pict_type = av.video.frame.PictureType.I if force_keyframe else av.video.frame.PictureType.NONE
        stream = b"".join(bytes(packet) for packet in self.codec.encode(picture))
        units = [unit for unit in re.split(rb"\x00*\x00\x00\x01", stream) if unit]
        small = [unit for unit in units if unit[0] >> 1 & 0x3f >= 32]
        rest = [unit for unit in units if unit not in small]
        payloads = ([aggregate(small)] if small else []) + [packet for unit in rest for packet in packets(unit)]
        return payloads, convert_timebase(frame.pts, frame.time_base, VIDEO_TIME_BASE)

    def pack(self, packet):
        raise NotImplementedError


def install(pixels: str) -> None:
    """Makes H.265 one of aiortc's codecs; it sends pictures of this form."""
    feedback = [RTCRtcpFeedback(type="nack"), RTCRtcpFeedback(type="nack", parameter="pli")]
    aiortc.codecs.CODECS["video"].append(RTCRtpCodecParameters(
        mimeType="video/H265", clockRate=90_000, payloadType=116, rtcpFeedback=feedback, parameters={
            "level-id": "93", "profile-id": "1", "tier-flag": "0", "tx-mode": "SRST"}))
    known = aiortc.rtcrtpsender.get_encoder
    aiortc.rtcrtpsender.get_encoder = (
        lambda codec: H265Encoder(pixels) if codec.mimeType == "video/H265" else known(codec))
