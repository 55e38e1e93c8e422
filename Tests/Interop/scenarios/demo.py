"""`recbot demo` and `recbot probe`."""

import json
import struct

from judge import Recording, pictures_differ, probe
from scenarios.common import continuous
from stage import Stage
from verdict import Verdict


def demo(stage: Stage, verdict: Verdict) -> None:
    """`recbot demo` leaves a recording and a poster; `recbot probe` and ffprobe agree about the file."""
    path = stage.folder / "demo.webm"
    process = stage.run("demo", "demo", "--duration", "6s", "--participants", "3", "--output", str(path))
    status = process.exit(30)
    verdict.check(status == 0, f"exit code {status}: {process.tail()}")
    verdict.check(process.output[-1:] == [str(path)], "standard output does not end with the file's path")
    recording = Recording.load(str(path))
    continuous(recording, verdict)
    verdict.check(abs(recording.duration - 6) <= 0.05, f"the duration is {recording.duration:.3f} s, not 6")
    verdict.check(not pictures_differ(str(path)), f"players disagree: {pictures_differ(str(path))}")
    loud = abs(recording.audio).max()
    verdict.check(loud > 0.05, f"hardly anything is heard ({loud:.3f})")
    # Moving pictures: in the second half of the recording, pictures differ from those half a second before.
    still = [i for i in range(len(recording.times) // 2, len(recording.times) - 15, 15)
             if abs(recording.pictures[i + 15].astype(int) - recording.pictures[i]).mean() < 0.5]
    verdict.check(not still, f"nothing moves at {[round(float(recording.times[i]), 1) for i in still]} s")

    poster = path.with_suffix(".png").read_bytes()
    size = struct.unpack(">II", poster[16:24]) if poster[:8] == b"\x89PNG\r\n\x1a\n" else None
    verdict.check(size == recording.full_size, f"the poster is {size}, the recording {recording.full_size}")

    report = stage.run("probe", "probe", "--json", str(path))
    verdict.check(report.exit(10) == 0, f"probe: {report.tail()}")
    ours, theirs = json.loads("\n".join(report.output)), probe(str(path))
    verdict.check(ours["endedCleanly"] is True, "probe says that the file was not ended cleanly")
    verdict.check(not ours["problems"] and not ours["gaps"], f"probe finds {ours['problems']} {ours['gaps']}")
    verdict.check(abs(ours["durationMs"] / 1000 - float(theirs["format"]["duration"])) <= 0.002,
                  f"duration: probe {ours['durationMs']} ms, ffprobe {theirs['format']['duration']} s")
    verdict.check(ours["cues"] > 0 and ours["seekEntries"] > 0, "no cues, or no seek head")
    for own, other in zip(ours["tracks"], theirs["streams"]):
        packets = [packet for packet in theirs["packets"] if packet["stream_index"] == other["index"]]
        keyframes = sum("K" in packet["flags"] for packet in packets)
        verdict.check(own["kind"] == other["codec_type"], f"kinds {own['kind']} and {other['codec_type']}")
        verdict.check(own["codec"].lower().endswith(other["codec_name"]),
                      f"codecs {own['codec']} and {other['codec_name']}")
        verdict.check(own["frames"] == len(packets), f"{own['kind']}: {own['frames']} and {len(packets)} frames")
        if own["kind"] == "video":
            verdict.check((own["width"], own["height"]) == (other["width"], other["height"]), "sizes differ")
            verdict.check(own["keyframes"] == keyframes, f"keyframes: {own['keyframes']} and {keyframes}")
            verdict.check(own["longestKeyframeIntervalMs"] <= 5_050, "keyframes are too far apart to seek well")
    verdict.figure(f"duration {recording.duration:.3f} s, {len(recording.times)} pictures, "
                   f"{path.stat().st_size // 1000} kB, poster {size}")
