"""A room in which some encrypt end to end: with the key, with another one, and without."""

import json

from judge import levels
from reading import card, read
from scenarios.common import calm, in_step, load
from scenarios.tracks import REASONS
from stage import Recorder, Stage
from verdict import Verdict

PASSPHRASE, SECOND = "correct horse battery", "staple"


def encrypted(stage: Stage, verdict: Verdict) -> None:
    """Two of three people encrypt; one ratchets, one changes the key: all is recorded, and without the key told, not heard."""
    stage.server()
    # Ann's key goes a step on, Bob takes another: both are in the file.
    ann = stage.publisher("ann", "--e2ee", PASSPHRASE, colour="green", display="Sophie")
    bob = stage.publisher("bob", "--e2ee", PASSPHRASE, colour="blue", display="Matthew")
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


def locked(recorder: Recorder, sealed: list, other, reason: str, verdict: Verdict) -> None:
    """Those who encrypt are a card and silence, and the log says why, once for each track; the other is there."""
    recording = load(recorder, verdict)
    in_step(recording, [other], 2.5, recording.duration, verdict)
    [still] = recording.stills([calm(recording, recording.duration - 1)])
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
