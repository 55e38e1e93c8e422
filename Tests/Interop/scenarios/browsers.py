"""People whose clients are browsers."""

from scenarios.common import in_step, load
from stage import Stage
from verdict import Verdict
from web_people import WebPage, WebPerson

# What each sends: the codec, the layers in its one stream (without, three streams: simulcast), and the size, which libwebrtc
# wants larger for three streams. What a page draws Chromium codes by BT.709 in full range, and of the three only H.264 says
# so in its stream: green, which that changes most, is for who sends H.264.
PEOPLE = {"ann": ("red", "VP9", "L2T3_KEY", 640), "bob": ("blue", "AV1", "L2T2_KEY", 640), "cleo": ("green", "H264", "", 960)}
SHAPES = ((16, 9), (12, 9), (9, 16), (16, 9))
SPAN = 4.0  # seconds of each shape
SKEW = 0.12  # a page draws and sounds by timers of its own


def browsers(stage: Stage, verdict: Verdict) -> None:
    """Chromium sends VP9 and AV1 in layers of one stream and H.264 in three, while its window is made narrower and wide again."""
    stage.server()
    page = stage.start(WebPage(stage.folder))
    people = [WebPerson(stage, page, name, colour, codec, mode, (width, width * 9 // 16)).join()
              for name, (colour, codec, mode, width) in PEOPLE.items()]
    recorder = stage.recorder("browsers", "--size", "1280x720")
    stage.until(recorder.recording() + SPAN)
    moments = []
    for shape in SHAPES[1:]:
        moments.append(max(person.resize(*(side * person.size[0] // 16 for side in shape)) for person in people))
        stage.until(moments[-1] + SPAN)
    sent = {person.name: person.sent for person in people}
    recorder.stop()

    recording = load(recorder, verdict)
    for person in people:
        layers = [layer for layer in sent[person.name] if layer["frames"] > 0]
        codecs, modes = {layer["codec"] for layer in layers}, {layer["mode"] for layer in layers}
        verdict.check(codecs == {f"video/{person.codec}"}, f"{person.name} sends {codecs}")
        if person.mode:
            verdict.check(modes == {person.mode}, f"{person.name} sends {modes}: {layers}")
        else:
            verdict.check(len(layers) == 3, f"{person.name} sends {len(layers)} layers: {layers}")
    for shape, at in zip(SHAPES[1:], moments):
        for person in people:
            tile = recording.tile(person.colour, at - recording.zero + SPAN - 1)
            if not verdict.check(tile is not None, f"{person.name} is not seen at {shape}"):
                continue
            # An upright picture has bars at its sides; the others fill the tile.
            left, top, right, bottom = tile
            aspect = shape[0] / shape[1] if shape[0] < shape[1] else 16 / 9
            verdict.check(abs((right - left) / (bottom - top) - aspect) < 0.08 * aspect,
                          f"{person.name} at {shape} is shown {right - left} x {bottom - top}")
    # Where a layer is dropped, another one begins within a second.
    changes = [recording.zero + 1.3, *moments, recording.zero + recording.duration]
    for start, end in zip(changes, changes[1:]):
        in_step(recording, people, start + 1.2 - recording.zero, end - recording.zero, verdict, SKEW)
    verdict.figure(recorder.cost)
