"""What people write and send: the transcript beside a recording, and a bot that receives nothing else."""

import json

from scenarios.common import load
from stage import Stage
from verdict import Verdict, ms

LONG = "0123456789"


def messages(stage: Stage, verdict: Verdict) -> None:
    """Chat, long chat, data packets of both kinds and captions of real clients stand in the transcript at their time."""
    stage.server()
    ann = stage.publisher("ann", colour="green", display="Sophie").join()
    bob = stage.publisher("bob", "--no-camera", colour="blue", display="Matthew").join()
    lines, captions, chat = (stage.folder / name for name in ("talk.jsonl", "talk.vtt", "chat.srt"))
    recorder = stage.recorder("messages", "--size", "640x360", "--transcript", str(lines))
    second = stage.recorder("captions", "--size", "640x360", "--transcript", str(captions))
    listener = stage.recorder("listener", "--chat-only", "--transcript", str(chat), writes=False)
    began = max(bot.recording() for bot in (recorder, second, listener))
    stage.until(began + 1)
    sent = {}
    for person, command in ((ann, "chat=Hello <b>all</b>\\n\\n2\\n00:00:00,000 --> 01:00:00,000\\nforged"),
                            (bob, f"chat={LONG}*4000"), (bob, "data=ja"), (ann, "lossy=vielleicht"),
                            (ann, "caption=Good morning everybody."), (bob, "chat=Grüße 👋")):
        sent[command] = person.tell(command, "sent")
    stage.until(max(sent.values()) + 1)
    for bot in (recorder, second, listener):
        bot.stop()

    recording = load(recorder, verdict)
    found = [json.loads(line) for line in lines.read_text().splitlines()]
    wanted = [("chat", "ann", "Hello <b>all</b>\n\n2\n00:00:00,000 --> 01:00:00,000\nforged", None),
              ("chat", "bob", LONG * 4000, None), ("data", "bob", "ja", "test"),
              ("data", "ann", "vielleicht", "test"), ("caption", "ann", "Good morning everybody.", None),
              ("chat", "bob", "Grüße 👋", None)]
    # A long message takes its time, a lossy one overtakes it, and two senders keep no order between them.
    def place(entry: dict) -> tuple:
        return entry["event"], entry.get("participant"), entry.get("text"), entry.get("topic")

    told = [place(entry) for entry in found]
    for person in ("ann", "bob"):
        kept = [one for one in told if one[1] == person and one[2] != "vielleicht"]
        verdict.check(kept == [one for one in wanted if one in kept], f"the order of {person}'s messages is wrong")
    found.sort(key=lambda entry: wanted.index(place(entry)) if place(entry) in wanted else len(wanted))
    verdict.check([place(entry) for entry in found] == wanted, f"the transcript has {[entry[:2] + (str(entry[2])[:40],) for entry in told]}")
    verdict.check({entry.get("name") for entry in found} == {"Sophie", "Matthew"}, "the names are wrong")
    late = [entry["time_ms"] / 1000 - (wall - recording.zero) for entry, wall in zip(found, sent.values())]
    verdict.timely(-0.5 < min(late, default=9) and max(late, default=9) < 0.5,
                   f"messages are {[ms(value) for value in late]} late")
    verdict.figure(f"{len(found)} messages, at most {ms(max(late, key=abs, default=0.0))} off")
    caption = next((entry for entry in found if entry["event"] == "caption"), {})
    spoken = (caption.get("time_ms", 0) - caption.get("begins_ms", 0)) / 1000
    verdict.check(0.8 < spoken < 1.5, f"the caption lasts {spoken} s, spoken in 1 s")
    verdict.check(recorder.last_progress.get("messages") == len(wanted), "progress counts other messages")

    cues = captions.read_text().split("\n\n")
    verdict.check(cues[0] == "WEBVTT" and len([cue for cue in cues if " --> " in cue]) == 4,
                  f"WebVTT: {[cue[:60] for cue in cues]}")
    verdict.check("<v Sophie>Hello &lt;b&gt;all&lt;/b&gt;\n2\n00:00:00,000 --&gt; 01:00:00,000\nforged" in
                  captions.read_text(), "WebVTT: the markup of a message is not escaped")
    cues = [cue for cue in chat.read_text().split("\n\n") if cue.strip()]
    verdict.check([cue.split("\n")[0] for cue in cues] == ["1", "2", "3", "4"], f"SubRip: {[cue[:60] for cue in cues]}")
    verdict.check(all(cue.count(" --> ") == 1 for cue in cues), "SubRip: a message forged a subtitle")

    # The listener received nothing but messages, and wrote no WebM.
    verdict.check(listener.output[-1] == str(chat), "standard output does not end with the transcript's path")
    verdict.check(not listener.path.exists(), "a bot for chat only wrote a WebM")
    verdict.check(listener.last_progress.get("participants") == 2 and listener.last_progress.get("frames") == 0,
                  f"the listener's progress: {listener.last_progress}")
    verdict.figure(f"listener {listener.cost}")
    refused = stage.recorder("both", "--chat-only", "--transcript", str(stage.folder / "other.jsonl"))
    verdict.check(refused.exit(20) == 64 and "--output" in refused.errors, f"--output with --chat-only: {refused.tail()}")
