"""Pictures that change their shape."""

from judge import same
from scenarios.common import in_step, load
from stage import Stage
from verdict import Verdict


def shapes(stage: Stage, verdict: Verdict) -> None:
    """A camera turns from 16:9 upright and to 4:3 while it is recorded: nothing is stretched, the tile stays."""
    stage.server()
    turns = stage.publisher("turns", "--whole-flash", colour="green").join()
    other = stage.publisher("other", colour="blue").join()
    recorder = stage.recorder("shapes", "--size", "1280x720")
    stage.until(recorder.recording() + 1)
    moments = {}
    for size in ("360x640", "480x360", "640x360"):
        moments[size] = turns.tell(f"size={size}", "size")
        stage.until(moments[size] + 2.5)
    recorder.stop()

    recording = load(recorder, verdict)
    tiles = {size: recording.tile(turns.colour, at - recording.zero + 1.8)
             for size, at in moments.items()}
    if not verdict.check(None not in tiles.values(), f"tiles: {tiles}"):
        return
    before = recording.tile(turns.colour, moments["360x640"] - recording.zero - 0.5)
    verdict.check(same(tiles["640x360"], before), f"the tile was at {before} and is at {tiles['640x360']}")
    left, top, right, bottom = tiles["360x640"]
    shape = (right - left) / (bottom - top)
    # Upright, more than a third would be cut off: the whole picture is shown, with bars at its sides.
    verdict.check(abs(shape - 9 / 16) < 0.06, f"the upright picture is shown {right - left} x {bottom - top}")
    verdict.check(abs((left + right) - (before[0] + before[2])) <= 4, "the upright picture is not in the middle")
    # 4:3 fills the tile; a little is cut off.
    verdict.check(same(tiles["480x360"], before), f"the 4:3 picture is at {tiles['480x360']}, the tile at {before}")
    changes = recording.areas(turns.colour, moments["360x640"] - recording.zero, recording.duration)
    flashing = sum(1 for area in changes if area < 0.002)
    verdict.check(flashing <= 3 * (len(changes) // 30 + 1), f"the picture is gone in {flashing} of {len(changes)}")
    verdict.figure(f"upright {right - left}x{bottom - top}")
    in_step(recording, [other, turns], 1.5, recording.duration, verdict)
