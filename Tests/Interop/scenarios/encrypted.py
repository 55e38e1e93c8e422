"""A room in which some encrypt end to end: with the key, with another one, and without."""

import json

from judge import Recording, levels
from reading import card, read
from scenarios.common import in_step, load
from scenarios.tracks import REASONS
from stage import Recorder, Stage
from verdict import Verdict

PASSPHRASE, SECOND = "correct horse battery", "staple"
# Who encrypts what: the codec, and the layers in its one stream.
CODECS = {"bob": ("green", "VP9", ""), "cleo": ("blue", "H264", ""), "dora": ("yellow", "AV1", ""),
          "eve": ("cyan", "VP9", "L3T3_KEY")}


def encrypted(stage: Stage, verdict: Verdict) -> None:
    """Two of three people encrypt; one ratchets, one changes the key: all is recorded, and without the key told, not heard."""
    stage.server()
    # Ann's key goes a step on, Bob takes another: both are in the file.
    ann = stage.publisher("ann", "--e2ee", PASSPHRASE, colour="green", display="Sophie")
    bob = stage.publisher("bob", "--e2ee", PASSPHRASE, "--codec", "H264", colour="blue", display="Matthew")
    cleo = stage.publisher("cleo", colour="red", display="Cleopatra")
    for person in (ann, bob, cleo):
        person.join()
    keys = {name: stage.folder / f"{name}.yaml" for name in ("right", "wrong")}
    keys["right"].write_text(json.dumps({"shared": [PASSPHRASE, SECOND]}))
    keys["wrong"].write_text(json.dumps({"shared": "something else"}))
    for file in keys.values():
        file.chmod(0o600)
    talk = stage.folder / "talk.jsonl"
    right = stage.recorder("right", "--e2ee-key-file", str(keys["right"]), "--transcript", str(talk))
    wrong = stage.recorder("wrong", "--e2ee-key-file", str(keys["wrong"]), "--timeline", str(stage.folder / "wrong.jsonl"))
    none = stage.recorder("none")
    began = max(recorder.recording() for recorder in (right, wrong, none))
    for person in (ann, bob, cleo):
        person.tell("talk", "talking")
    stage.until(began + 4)
    ann.tell("chat=sealed words", "sent")
    ratcheted = ann.tell("ratchet", "ratcheted")
    stage.until(ratcheted + 4)
    changed = bob.tell(f"key=1:{SECOND}", "key")
    stage.until(changed + 4)
    for recorder in (right, wrong, none):
        recorder.stop()

    recording = load(right, verdict)
    start, step, change = 1.5 - recording.zero % 1 + 1, ratcheted - recording.zero, changed - recording.zero
    in_step(recording, [ann, bob, cleo], start, step, verdict)
    # A new key costs what its derivation takes.
    in_step(recording, [ann, bob, cleo], step + 1.5, change, verdict)
    in_step(recording, [ann, bob, cleo], change + 1, recording.duration, verdict)
    said = [json.loads(line) for line in talk.read_text().splitlines()]
    verdict.check(any(line.get("text") == "sealed words" for line in said), f"the message was not read: {said}")
    for secret in (PASSPHRASE, SECOND):
        verdict.check(secret not in right.errors, "the log shows a key")

    for recorder, reason in ((wrong, "does not open it"), (none, "--e2ee-key-file")):
        locked(recorder, [ann, bob], cleo, reason, verdict)
    events = [json.loads(line) for line in (stage.folder / "wrong.jsonl").read_text().splitlines()]
    told = sorted((event["participant"], event["source"]) for event in events if event["event"] == "obstacle")
    verdict.check(told == [(name, source) for name in ("ann", "bob") for source in ("camera", "microphone")],
                  f"obstacles in the timeline: {told}")


def encrypted_codecs(stage: Stage, verdict: Verdict) -> None:
    """VP9, VP9 in nine layers and H.264, each encrypted: seen and heard with the key, not with another; AV1 is a card."""
    stage.server()
    people = {}
    for name, (colour, codec, scalability) in CODECS.items():
        options = ["--e2ee", PASSPHRASE, "--codec", codec, "--stats"] + (["--scalability", scalability] if scalability else [])
        people[name] = stage.publisher(name, *options, colour=colour).join()
    recorders = {}
    for name, phrase in (("right", PASSPHRASE), ("wrong", SECOND)):
        file = stage.folder / f"{name}.key"
        file.write_text(phrase)
        file.chmod(0o600)
        recorders[name] = stage.recorder(name, "--size", "1280x720", "--e2ee-key-file", str(file))
    began = max(recorder.recording() for recorder in recorders.values())
    for person in people.values():
        person.tell("talk", "talking")
    stage.until(began + 10)
    for recorder in recorders.values():
        recorder.stop()

    right = load(recorders["right"], verdict)
    # They really sent what was asked of them: the SDK takes another codec when the room has none of that name.
    for name, (_, codec, _) in CODECS.items():
        sent = {text["codec"] for text in people[name].events("outbound") if text["kind"] == "video"}
        verdict.check(sent == {f"video/{codec}"}, f"{name} was to send {codec} and sent {sent}")
    in_step(right, [people[name] for name in CODECS if name != "dora"], 3, right.duration, verdict)
    cards_of(recorders["right"], right, people, ["dora"], verdict)
    told = [line for line in recorders["right"].errors.splitlines() if "encrypted end to end" in line]
    verdict.check(len(told) == 1 and "encrypted end to end in AV1" in told[0], f"the log says {told}")

    wrong = load(recorders["wrong"], verdict)
    cards_of(recorders["wrong"], wrong, people, list(CODECS), verdict)
    for person in people.values():
        heard = levels(wrong, person.pitch).max() / levels(right, person.pitch).max()
        verdict.check(heard < 0.1, f"{person.name} is heard without the key, {heard:.2f} as loud as with it")
    told = [line for line in recorders["wrong"].errors.splitlines() if "is not received: it is encrypted end to end" in line]
    unopened = [line for line in told if "does not open it" in line]
    verdict.check((len(told), len(unopened)) == (8, 7), f"the log says {told}")


def cards_of(recorder: Recorder, recording: Recording, people: dict, sealed: list[str], verdict: Verdict) -> None:
    """In a grid of four, in the order of joining and of the names, these are cards that say "Encrypted", without a picture."""
    [still] = recording.stills([recording.calm(recording.duration - 1)])
    height, width = still.shape[:2]
    for number, person in enumerate(people.values()):
        if person.name not in sealed:
            continue
        left, top = number % 2 * width // 2, number // 2 * height // 2
        text, likeness = read(still, card((left, top, left + width // 2, top + height // 2)), REASONS)
        verdict.check(text == "Encrypted" and likeness > 0.6, f"{recorder.name}: {person.name}'s card says {text} "
                      f"({likeness:.2f})")
        verdict.check(recording.tile(person.colour, recording.duration - 1) is None, f"{person.name} is seen")


def locked(recorder: Recorder, sealed: list, other, reason: str, verdict: Verdict) -> None:
    """Those who encrypt are a card and silence, and the log says why, once for each track; the other is there."""
    recording = load(recorder, verdict)
    in_step(recording, [other], 2.5, recording.duration, verdict)
    [still] = recording.stills([recording.calm(recording.duration - 1)])
    height, width = still.shape[:2]
    # A grid of three in the order of joining: two above, the third below in the middle.
    for person, tile in zip(sealed, ((0, 0, width // 2, height // 2), (width // 2, 0, width, height // 2))):
        text, likeness = read(still, card(tile), REASONS)
        verdict.check(text == "Encrypted" and likeness > 0.6, f"{recorder.name}: {person.name}'s card says {text} "
                      f"({likeness:.2f})")
        verdict.check(recording.tile(person.colour, recording.duration - 1) is None, f"{person.name} is seen")
        heard = levels(recording, person.pitch).max() / levels(recording, other.pitch).max()
        verdict.check(heard < 0.1, f"{recorder.name}: {person.name} is heard, {heard:.2f} as loud as {other.name}")
    told = [line for line in recorder.errors.splitlines() if "is not received: it is encrypted end to end" in line]
    verdict.check(len(told) == 4 and all(reason in line for line in told), f"{recorder.name}: the log says {told}")
