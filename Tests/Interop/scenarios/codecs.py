"""People who send pictures in different codecs into one room."""

import statistics

from scenarios.common import in_step, load
from stage import Stage
from verdict import Verdict

# What each sends: the codec, and the layers in its one stream.
PEOPLE = {"ann": ("red", "VP8", ""), "bob": ("green", "VP9", ""), "cleo": ("blue", "H264", ""),
          "dora": ("yellow", "AV1", ""), "eve": ("cyan", "VP9", "L3T3_KEY")}
# Those whose sound comes twice (RFC 2198).
REDUNDANT = {"ann", "dora"}


def codecs(stage: Stage, verdict: Verdict) -> None:
    """VP8, VP9, VP9 in nine layers, H.264 and AV1 in one room, two with redundant sound: every colour, every flash and its beep."""
    stage.server()
    people = []
    for name, (colour, codec, scalability) in PEOPLE.items():
        options = ["--codec", codec, "--stats"] + (["--scalability", scalability] if scalability else [])
        options += ["--red"] if name in REDUNDANT else []
        people.append(stage.publisher(name, *options, colour=colour).join())
    recorder = stage.recorder("codecs", "--size", "1280x720")
    began = recorder.recording()
    stage.until(began + 12)
    recorder.stop()

    recording = load(recorder, verdict)
    # They really sent what was asked of them: the SDK takes another codec when the room has none of that name.
    sent = {person.name: {text["codec"] for text in person.events("outbound") if text["kind"] == "video"}
            for person in people}
    # The statistics name the codec inside of redundant sound; that it is redundant shows in its bytes, told each second.
    rates = {}
    for person in people:
        heard = [text["bytes"] for text in person.events("outbound") if text["kind"] == "audio"]
        rates[person.name] = (heard[-1] - heard[0]) / (len(heard) - 1)
    # Of those who send plain sound one may be a half above the others.
    plain = statistics.median(rate for name, rate in rates.items() if name not in REDUNDANT)
    verdict.check(all(rates[name] > 1.4 * plain for name in REDUNDANT), f"bytes of sound a second: {rates}")
    for name, (_, codec, _) in PEOPLE.items():
        verdict.check(sent[name] == {f"video/{codec}"}, f"{name} was to send {codec} and sent {sent[name]}")
    tiles = {person.name: recording.tile(person.colour, 6) for person in people}
    verdict.check(None not in tiles.values(), f"tiles by colour: {tiles}")
    in_step(recording, people, 3, recording.duration, verdict)
    verdict.figure(recorder.cost)
